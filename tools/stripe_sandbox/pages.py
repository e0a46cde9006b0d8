"""Pages and scripts for browsers: Stripe.js, its frames, 3-D Secure, Bizum and PayPal."""

import json
import re
from html import escape
from typing import Any
from urllib.parse import unquote

from . import checkout_page
from .cards import TEST_CARDS
from .checkout_page import STATIC, spanish_money, template
from .context import Context
from .errors import ApiError
from .http import Request, Response
from .resources import checkout_completion, payment_confirmation, setup_confirmation, three_d_secure
from .store import Store

# These files are modules for the linter and the editor. The browser gets them as one script inside
# a function: `Stripe` is its only global, and exists as soon as the script has run.
STRIPE_JS_PARTS = (
    "messages.js",
    "frames.js",
    "look.js",
    "emitter.js",
    "express_checkout.js",
    "elements.js",
    "stripe.js",
)
MODULE_SYNTAX = re.compile(r"^import [^;]+;\n|^export ", re.MULTILINE)
ASSETS = {
    "payment.js": "text/javascript; charset=utf-8",
    "payment.css": "text/css; charset=utf-8",
    "challenge.js": "text/javascript; charset=utf-8",
    "challenge.css": "text/css; charset=utf-8",
    "authorize.js": "text/javascript; charset=utf-8",
    "express.js": "text/javascript; charset=utf-8",
    "express.css": "text/css; charset=utf-8",
    "wallet.js": "text/javascript; charset=utf-8",
    "wallet.css": "text/css; charset=utf-8",
    "checkout.js": "text/javascript; charset=utf-8",
    "checkout.css": "text/css; charset=utf-8",
}
NO_CACHE = (("Cache-Control", "no-cache"), ("Access-Control-Allow-Origin", "*"))
CHALLENGE = re.compile(r"/v3/challenge/([^/]+)/([A-Za-z0-9]+)")
AUTHORIZE = re.compile(r"/v3/authorize/([^/]+)/([A-Za-z0-9]+)")
PROVIDERS = {"bizum": "Bizum", "paypal": "PayPal"}
DECISIONS = ("approve", "later", "decline", "expire")
STATUS_SENTENCES = {
    "succeeded": "El pago se ha autorizado.",
    "processing": "El pago se está procesando.",
    "canceled": "El pago se ha cancelado.",
    "requires_payment_method": "El pago no se ha autorizado.",
}
SETUP_SENTENCES = {
    "succeeded": "La tarjeta se ha verificado.",
    "canceled": "La verificación se ha cancelado.",
    "requires_payment_method": "La tarjeta no se ha verificado.",
}
ANSWER_CHALLENGE = {
    "payment_intent": payment_confirmation.answer_challenge,
    "setup_intent": setup_confirmation.answer_challenge,
}


class Pages:
    def __init__(self, store: Store, publishable_key: str) -> None:
        self.store = store
        self.checkout = checkout_page.CheckoutPage(store, publishable_key)

    def answer(self, request: Request) -> Response:
        challenge = CHALLENGE.fullmatch(request.path)
        if challenge:
            return self._challenge(request, unquote(challenge[1]), challenge[2])
        authorize = AUTHORIZE.fullmatch(request.path)
        if authorize:
            return self._authorize(request, unquote(authorize[1]), authorize[2])
        checkout = checkout_page.PATH.fullmatch(request.path)
        if checkout:
            return self.checkout.answer(request, unquote(checkout[1]))
        match f"{request.method} {request.path}":
            case "GET /":
                return Response.html(template("home.html").substitute())
            case "GET /healthz":
                return Response.json({"status": "ok"})
            case "GET /v3/stripe.js" | "GET /v3/" | "GET /v3":
                return Response(stripe_js(), 200, "text/javascript; charset=utf-8", NO_CACHE)
            case "GET /v3/frame/payment":
                return Response.html(template("payment.html").substitute())
            case "GET /v3/frame/express":
                return Response.html(self._express_page())
            case "GET /v3/frame/wallet":
                return Response.html(template("wallet.html").substitute(cards=_card_options()))
        name = request.path.removeprefix("/v3/frame/")
        if request.method == "GET" and name in ASSETS:
            return Response((STATIC / name).read_bytes(), 200, ASSETS[name], NO_CACHE)
        return _not_found()

    def _express_page(self) -> str:
        with self.store.reading() as tx:
            available = tx.setting("wallet_available", "1") == "1"
        return template("express.html").substitute(available="true" if available else "false")

    def _challenge(self, request: Request, id: str, token: str) -> Response:
        if request.method == "POST":
            return self._answer_challenge(request, id, token)
        with self.store.reading() as tx:
            try:
                intent = three_d_secure.challenged_intent(Context(tx, base_url=""), id, token)
            except ApiError:
                return _not_found()
        return Response.html(_challenge_page(intent))

    def _answer_challenge(self, request: Request, id: str, token: str) -> Response:
        """Take the JSON {"accept": true or false}. Answers {"status", "return_url"}."""
        try:
            content = json.loads(request.body)
        except ValueError:
            content = None
        accept = content.get("accept") if isinstance(content, dict) else None
        if not isinstance(accept, bool):
            return Response.json({"error": 'Expected {"accept": true or false}.'}, status=400)
        try:
            with self.store.writing() as tx:
                ctx = Context(tx, base_url=request.base_url, request_id=request.id)
                checkout_completion.expire_if_due(ctx, id)
                intent = three_d_secure.challenged_intent(ctx, id, token)
                answer = ANSWER_CHALLENGE[intent["object"]]
                answer(ctx, intent, accepted=accept)
                return_url = three_d_secure.return_url_with_outcome(ctx, intent)
        except ApiError as error:
            return Response.json({"error": error.error}, status=error.status)
        return Response.json({"status": intent["status"], "return_url": return_url})

    def _authorize(self, request: Request, id: str, token: str) -> Response:
        """The page of Bizum or PayPal. A POST takes {"decision": …} and answers {"return_url"}."""
        if request.method == "POST":
            return self._answer_provider(request, id, token)
        with self.store.reading() as tx:
            ctx = Context(tx, base_url="")
            try:
                intent = three_d_secure.challenged_intent(ctx, id, token)
            except ApiError:
                return _not_found()
            if intent["status"] != "requires_action":
                return _not_found()
            kind = ctx.require("payment_method", intent["payment_method"])["type"]
        return Response.html(_authorize_page(intent, PROVIDERS[kind]))

    def _answer_provider(self, request: Request, id: str, token: str) -> Response:
        try:
            decision = json.loads(request.body)["decision"]
        except (ValueError, KeyError, TypeError):
            decision = None
        if decision not in DECISIONS:
            return Response.json({"error": f"Expected a decision of {DECISIONS}."}, status=400)
        try:
            with self.store.writing() as tx:
                ctx = Context(tx, base_url=request.base_url, request_id=request.id)
                intent = three_d_secure.challenged_intent(ctx, id, token)
                payment_confirmation.answer_provider(ctx, intent, decision=decision)
                return_url = three_d_secure.return_url_with_outcome(ctx, intent)
        except ApiError as error:
            return Response.json({"error": error.error}, status=error.status)
        return Response.json({"status": intent["status"], "return_url": return_url})


def _card_options() -> str:
    return "".join(
        f'<option value="{card["number"]}">{escape(card["label"])}</option>' for card in TEST_CARDS
    )


def _challenge_page(intent: dict[str, Any]) -> str:
    if intent["object"] == "setup_intent":
        sentences, action = SETUP_SENTENCES, "Autorizar"
        question = "que confirmes que quieres guardar esta tarjeta."
    else:
        amount = escape(spanish_money(intent["amount"], intent["currency"]))
        sentences, action = STATUS_SENTENCES, "Autorizar pago"
        question = f"que confirmes este pago de <strong>{amount}</strong>."
    return template("challenge.html").substitute(
        question=question,
        action=action,
        accepted=sentences["succeeded"],
        refused=sentences["requires_payment_method"],
        state="open" if intent["status"] == "requires_action" else "closed",
        outcome=sentences.get(intent["status"], ""),
    )


def _authorize_page(intent: dict[str, Any], provider: str) -> str:
    where = "en la app de tu banco" if provider == "Bizum" else "con tu cuenta de PayPal"
    return template("authorize.html").substitute(
        provider=provider,
        amount=escape(spanish_money(intent["amount"], intent["currency"])),
        where=where,
    )


def stripe_js() -> bytes:
    parts = "\n".join(
        MODULE_SYNTAX.sub("", (STATIC / name).read_text()) for name in STRIPE_JS_PARTS
    )
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'.encode()


def _not_found() -> Response:
    return Response.html(template("not_found.html").substitute(), 404)
