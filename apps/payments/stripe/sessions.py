"""Stripe's own page (STRIPE_CHECKOUT=hosted): Checkout Sessions, made from the lines of an order.

A part of `stripe_gateway`, under the same rules. How a session stands is read there, beside the
payments: whoever asks after a payment need not know where its card is typed.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from apps.payments.stripe.client import DELAYED_METHODS, client
from apps.payments.stripe.intents import ProviderPayment, find_opened, payment_of_session
from apps.payments.stripe.keys import IdempotencyKeys, KeysOfPart, once

# How long the hosted page takes a payment (decisions.md, "Promo and referral codes"). Stripe wants
# at least 30 minutes from when it gets the call, by its own clock.
SESSION_LIFE = timedelta(minutes=31)
# Presses within this time ask for the same session, down to the second it expires in.
SESSION_GRAIN_S = 10


@dataclass(frozen=True)
class HostedLine:
    name: str
    amount_cents: int
    description: str


@dataclass(frozen=True)
class HostedCart:
    """Lines, less one discount, are what is paid now; `note` is shown beside the pay button.

    Stripe takes one discount, with a name of at most 40 characters: where there are several, the
    note names each with its amount.
    """

    lines: tuple[HostedLine, ...]
    discount_name: str = ""
    discount_cents: int = 0
    note: str = ""

    @property
    def total_cents(self) -> int:
        return sum(line.amount_cents for line in self.lines) - self.discount_cents


def create_session(
    *,
    order_id: int,
    revision: int,
    amount_cents: int,
    customer: str,
    email: str,
    keep_card: bool,
    cart: HostedCart,
    keys: IdempotencyKeys,
) -> ProviderPayment:
    """Open a payment on Stripe's own page, for 31 minutes; `url` leads there.

    Otherwise as `create_payment`. Raises ValueError where the cart does not add up to the amount.
    """
    if cart.total_cents != amount_cents:
        raise ValueError(f"order {order_id}: lines of {cart.total_cents}, to pay {amount_cents}")
    now = int((timezone.now() + SESSION_LIFE).timestamp())
    expires_at = now - now % SESSION_GRAIN_S
    # The time is among the parameters, and a key belongs to one set of them.
    keys = KeysOfPart(keys, str(expires_at))
    metadata = {"order_id": str(order_id), "revision": str(revision)}
    params: Any = {
        "mode": "payment",
        "customer": customer,
        "client_reference_id": str(order_id),
        "line_items": [
            {
                "quantity": 1,
                "price_data": {
                    "currency": "eur",
                    "unit_amount": line.amount_cents,
                    "product_data": {"name": line.name, "description": line.description},
                },
            }
            for line in cart.lines
        ],
        "metadata": metadata,
        "payment_intent_data": {
            "receipt_email": email,
            "description": f"{settings.BRAND_NAME}: pedido {order_id}",
            # So that what is told of the intent alone is known to have a session behind it.
            "metadata": {**metadata, "checkout": "hosted"},
        },
        # Euros, whatever currency the buyer's country has.
        "adaptive_pricing": {"enabled": False},
        "excluded_payment_method_types": DELAYED_METHODS,
        "expires_at": expires_at,
        "locale": "es",
        "submit_type": "pay",
        "success_url": f"{settings.SITE_URL}/success?session_id={{CHECKOUT_SESSION_ID}}",
        # Without the order's token: the page that sent the buyer away has it still.
        "cancel_url": f"{settings.SITE_URL}/cancel?order={order_id}",
    }
    if cart.note:
        params["custom_text"] = {"submit": {"message": cart.note}}
    if keep_card:
        params["payment_intent_data"]["setup_future_usage"] = "off_session"
    if cart.discount_cents:
        params["discounts"] = [
            {"coupon": _create_coupon(KeysOfPart(keys, "coupon"), cart, metadata)}
        ]
    return once(
        keys,
        lambda options: payment_of_session(client().v1.checkout.sessions.create(params, options)),
        find_done=lambda: find_opened(customer, revision, amount_cents, hosted=True),
    )


def _create_coupon(keys: IdempotencyKeys, cart: HostedCart, metadata: dict[str, str]) -> str:
    """A coupon for one session, which takes no other kind of discount; its id."""
    params: Any = {
        "amount_off": cart.discount_cents,
        "currency": "eur",
        "duration": "once",
        "max_redemptions": 1,
        "name": cart.discount_name,
        "metadata": metadata,
    }
    return once(
        keys,
        lambda options: client().v1.coupons.create(params, options).id,
        # A coupon that no session has takes nothing off.
        find_done=lambda: None,
    )
