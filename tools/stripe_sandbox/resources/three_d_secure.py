"""3-D Secure for payment and setup intents, and the pages of Bizum and PayPal.

The page that the buyer is sent to, and the return URL.
"""

import hmac
from typing import Any
from urllib.parse import quote, urlencode

from ..context import Context
from ..errors import DOC_URL, NAMES, ApiError, missing
from ..ids import random_text
from . import events


def check_return_url(intent: dict[str, Any], params: dict[str, Any]) -> None:
    """Raise ApiError 400 if a redirect is possible and the return URL is missing or invalid."""
    return_url = params.get("return_url")
    if return_url and not return_url.startswith(("https://", "http://")):
        raise ApiError("Not a valid URL", code="url_invalid", param="return_url")
    automatic = intent["automatic_payment_methods"]
    redirecting = automatic is not None and automatic["allow_redirects"] == "always"
    # stripe.confirmCardPayment() accepts cards only, which never redirect.
    card_only = params.get("expected_payment_method_type") == "card"
    if redirecting and not (card_only or return_url):
        raise ApiError(
            f"This {NAMES[intent['object']]} is configured to accept payment methods enabled in "
            "your Dashboard. Because some of these payment methods might redirect your customer "
            "off of your page, you must provide a `return_url`. If you don't want to accept "
            "redirect-based payment methods, set `automatic_payment_methods[enabled]` to `true` "
            "and `automatic_payment_methods[allow_redirects]` to `never` when creating Setup "
            "Intents and Payment Intents.",
            param="return_url",
        )


def challenge(ctx: Context, intent: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Set the intent to `requires_action`, with the URL of its challenge page."""
    return _ask_buyer(ctx, intent, params, "challenge", leaves=not params.get("use_stripe_sdk"))


def send_to_provider(
    ctx: Context, intent: dict[str, Any], params: dict[str, Any]
) -> dict[str, Any]:
    """Set the intent to `requires_action`, with the URL of the page of Bizum or PayPal."""
    return _ask_buyer(ctx, intent, params, "authorize", leaves=True)


def _ask_buyer(
    ctx: Context, intent: dict[str, Any], params: dict[str, Any], page: str, *, leaves: bool
) -> dict[str, Any]:
    """`leaves`: the browser leaves the shop's page, and comes back to the return URL."""
    token = random_text(32)
    return_url = params.get("return_url")
    url = f"{ctx.base_url}/v3/{page}/{quote(intent['id'], safe='')}/{token}"
    if return_url and leaves:
        action = {
            "type": "redirect_to_url",
            "redirect_to_url": {"return_url": return_url, "url": url},
        }
    else:
        action = {
            "type": "use_stripe_sdk",
            "use_stripe_sdk": {"type": "three_d_secure_redirect", "stripe_js": url},
        }
    intent |= {"status": "requires_action", "next_action": action}
    ctx.tx.save(intent)
    private = ctx.tx.private(intent["id"])
    ctx.tx.save_private(intent["id"], private | {"challenge": token, "return_url": return_url})
    events.record(ctx, f"{intent['object']}.requires_action", intent)
    return intent


def challenged_intent(ctx: Context, id: str, token: str) -> dict[str, Any]:
    """The intent of a challenge page. Raises ApiError 404 if a later attempt has another token."""
    kind = "setup_intent" if id.startswith("seti_") else "payment_intent"
    intent = ctx.tx.get(kind, id)
    expected = ctx.tx.private(id).get("challenge", "")
    if intent is None or not hmac.compare_digest(token.encode(), expected.encode()):
        raise missing("challenge", id)
    return intent


def authentication_failure(intent: dict[str, Any], method: dict[str, Any]) -> dict[str, Any]:
    """The error on an intent after a rejected challenge."""
    kind = intent["object"]
    code = f"{kind}_authentication_failure"
    return {
        "type": "invalid_request_error",
        "code": code,
        "message": "The provided PaymentMethod has failed authentication. You can provide "
        "payment_method_data or a new PaymentMethod to attempt to fulfill this "
        f"{NAMES[kind]} again.",
        "doc_url": DOC_URL + code.replace("_", "-"),
        "payment_method": method,
    }


def return_url_with_outcome(ctx: Context, intent: dict[str, Any]) -> str | None:
    """The return URL with the outcome in its query. None without a return URL."""
    return_url = ctx.tx.private(intent["id"]).get("return_url")
    if not return_url:
        return None
    kind = intent["object"]
    done = intent["status"] in ("succeeded", "processing")
    query = urlencode(
        {
            kind: intent["id"],
            f"{kind}_client_secret": intent["client_secret"],
            "redirect_status": "succeeded" if done else "failed",
        }
    )
    return f"{return_url}{'&' if '?' in return_url else '?'}{query}"
