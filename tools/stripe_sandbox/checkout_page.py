"""The hosted page of a Checkout Session: its items, a card form, and the result."""

import json
import re
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from .cards import TEST_CARDS
from .context import Context
from .errors import ApiError
from .http import Request, Response
from .resources import checkout_payment
from .resources.checkout_sessions import with_current_status
from .store import Store

STATIC = Path(__file__).parent / "static"


def template(name: str) -> Template:
    return Template((STATIC / name).read_text())


def spanish_money(amount: int, currency: str) -> str:
    whole, cents = divmod(amount, 100)
    text = f"{whole:,}".replace(",", ".") if whole >= 10_000 else str(whole)
    return f"{text},{cents:02d}\N{NO-BREAK SPACE}{'€' if currency == 'eur' else currency.upper()}"


PATH = re.compile(r"/c/pay/([^/]+)")


class CheckoutPage:
    def __init__(self, store: Store, publishable_key: str) -> None:
        self.store = store
        self.publishable_key = publishable_key

    def answer(self, request: Request, id: str) -> Response:
        if request.method == "POST":
            return self._pay(request, id)
        with self.store.reading() as tx:
            ctx = Context(tx, base_url=request.base_url)
            session = ctx.tx.get("checkout.session", id)
            if session is None:
                return Response.html(template("not_found.html").substitute(), 404)
            session = with_current_status(ctx, session)
            lines = [(line, _description(ctx, line)) for line in tx.private(id)["lines"]]
            discount = _discount_name(ctx, session)
            saves_card = "setup_future_usage" in tx.private(id)["intent_data"]
            secret = checkout_payment.client_secret(ctx, session)
        if request.query == "state":
            return Response.json(_state(session, secret))
        if session["status"] == "open":
            page = self._open_page(session, lines, discount=discount, saves_card=saves_card)
            return Response.html(page)
        return Response.html(_closed_page(session))

    def _pay(self, request: Request, id: str) -> Response:
        """Pay with the JSON {"payment_method", "name"}. Answers the state or an error."""
        if request.headers["content-type"].partition(";")[0].strip() != "application/json":
            return Response.json({"error": {"message": "Expected JSON."}}, status=400)
        try:
            content = json.loads(request.body)
        except ValueError:
            content = None
        if not isinstance(content, dict) or not all(
            value is None or isinstance(value, str) for value in content.values()
        ):
            return Response.json({"error": {"message": "Expected an object of texts."}}, status=400)
        refused: ApiError | None = None
        with self.store.writing() as tx:
            ctx = Context(tx, base_url=request.base_url, request_id=request.id)
            try:
                with tx.rollback_on_error():
                    session = checkout_payment.pay(
                        ctx,
                        id,
                        payment_method=content.get("payment_method"),
                        name=content.get("name"),
                    )
                    state = _state(session, checkout_payment.client_secret(ctx, session))
            except ApiError as error:
                refused = error
        if refused is not None:
            shown = ("type", "code", "decline_code", "message", "param")
            details = {name: refused.error[name] for name in shown if name in refused.error}
            return Response.json({"error": details}, status=refused.status)
        return Response.json(state)

    def _open_page(
        self,
        session: dict[str, Any],
        lines: list[tuple[dict[str, Any], str]],
        *,
        discount: str,
        saves_card: bool,
    ) -> str:
        cancel = session["cancel_url"]
        text = session["custom_text"]["submit"]
        return template("checkout.html").substitute(
            key=escape(self.publishable_key),
            order=_order(session, lines, discount),
            text=escape(text["message"]) if text else "",
            email=escape(session["customer_details"]["email"] or ""),
            action=escape(f"Pagar {spanish_money(session['amount_total'], session['currency'])}"),
            note="Tu tarjeta quedará guardada para los próximos pagos." if saves_card else "",
            back=_link(cancel, "← Volver a la tienda") if cancel else "",
            cards="\n".join(
                f"<li><code>{escape(card['number'])}</code> {escape(card['label'])}</li>"
                for card in TEST_CARDS
            ),
        )


def _state(session: dict[str, Any], secret: str | None) -> dict[str, Any]:
    done = session["status"] == "complete"
    return {
        "status": session["status"],
        "url": checkout_payment.success_url_of(session) if done else None,
        "client_secret": secret,
    }


def _description(ctx: Context, line: dict[str, Any]) -> str:
    product = ctx.tx.get("product", line["price"]["product"])
    return (product and product["description"]) or ""


def _discount_name(ctx: Context, session: dict[str, Any]) -> str:
    coupons = [ctx.tx.get("coupon", discount["coupon"]) for discount in session["discounts"]]
    return next((coupon["name"] for coupon in coupons if coupon and coupon["name"]), "Descuento")


def _order(session: dict[str, Any], lines: list[tuple[dict[str, Any], str]], discount: str) -> str:
    return template("checkout_order.html").substitute(
        total=escape(spanish_money(session["amount_total"], session["currency"])),
        lines="\n".join(_line(line, description) for line, description in lines),
        totals=_totals(session, discount),
    )


def _line(line: dict[str, Any], description: str) -> str:
    quantity = (
        f' <span class="quantity">× {line["quantity"]}</span>' if line["quantity"] > 1 else ""
    )
    amount = escape(spanish_money(line["amount_subtotal"], line["currency"]))
    small = f"<small>{escape(description)}</small>" if description else ""
    name = f"{escape(line['description'])}{quantity}{small}"
    return f"<li><span>{name}</span><span>{amount}</span></li>"


def _totals(session: dict[str, Any], discount_name: str) -> str:
    rows = []
    discount = session["total_details"]["amount_discount"]
    if discount:
        rows.append(("Subtotal", spanish_money(session["amount_subtotal"], session["currency"])))
        rows.append((discount_name, "−" + spanish_money(discount, session["currency"])))
    rows.append(("Total", spanish_money(session["amount_total"], session["currency"])))
    return "\n".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(amount)}</dd></div>" for name, amount in rows
    )


def _closed_page(session: dict[str, Any]) -> str:
    if session["status"] == "complete":
        title, text = "Pago completado", "Ya has completado este pago. Puedes cerrar esta página."
        link = _link(checkout_payment.success_url_of(session), "Volver a la tienda")
    else:
        title = "Esta página de pago ha caducado"
        text = "No se ha cobrado nada. Vuelve a la tienda para empezar de nuevo."
        link = _link(session["cancel_url"], "Volver a la tienda") if session["cancel_url"] else ""
    return template("checkout_closed.html").substitute(title=title, text=text, link=link)


def _link(address: str, text: str) -> str:
    return f'<a class="back" href="{escape(address)}">{text}</a>'
