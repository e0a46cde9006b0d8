"""Creates Checkout Sessions for Stripe's hosted page (STRIPE_CHECKOUT=hosted).

The state of a session is read in `intents`, together with other payments. Nothing here runs inside
a database transaction.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from apps.payments.stripe.client import client, excluded_methods, receipt_of
from apps.payments.stripe.intents import ProviderPayment, find_opened, payment_of_session
from apps.payments.stripe.keys import IdempotencyKeys, KeysOfPart, once
from apps.payments.stripe.paid_contents import PaidContents, contents_metadata

# How long the hosted page accepts a payment (docs/rules.md, "Promo codes"). Stripe requires
# at least 30 minutes after it receives the call, by its own clock: hence one minute more.
SESSION_LIFE = timedelta(minutes=31)
# Expiry times are rounded to this many seconds. Clicks within that time send the same parameters,
# so that they can share an idempotency key.
SESSION_GRAIN_S = 10


@dataclass(frozen=True)
class HostedLine:
    name: str
    amount_cents: int
    description: str


@dataclass(frozen=True)
class HostedCart:
    """The lines less the discount make the amount to pay now. Amounts in cents.

    Stripe accepts one discount per session, with a name of at most 40 characters. If the order has
    several, `note`, which is shown beside the pay button, lists each with its amount.
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
    contents: PaidContents,
    keys: IdempotencyKeys,
    offered: Collection[str] = (),
) -> ProviderPayment:
    """Open a payment on Stripe's hosted page, for 31 minutes. `url` is the page's address.

    Otherwise like `create_payment`. Raises ValueError if the cart does not add up to the amount.
    """
    if cart.total_cents != amount_cents:
        raise ValueError(f"order {order_id}: lines of {cart.total_cents}, to pay {amount_cents}")
    now = int((timezone.now() + SESSION_LIFE).timestamp())
    expires_at = now - now % SESSION_GRAIN_S
    # An idempotency key belongs to one set of parameters, and the expiry time is one of them.
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
            **receipt_of(email),
            "description": f"{settings.BRAND_NAME}: pedido {order_id}",
            # Marks the intent, so that an event about the intent shows that it has a session.
            "metadata": {**metadata, **contents_metadata(contents), "checkout": "hosted"},
        },
        # Charge euros in every country.
        "adaptive_pricing": {"enabled": False},
        "excluded_payment_method_types": excluded_methods(offered, keep_card=keep_card),
        "expires_at": expires_at,
        "locale": "es",
        "submit_type": "pay",
        "success_url": f"{settings.SITE_URL}/success?session_id={{CHECKOUT_SESSION_ID}}",
        # Without the order's token, which stays in the buyer's tab.
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
    """Create a coupon for one session. Stripe accepts no other kind of discount. Returns its id."""
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
        # An unused coupon from a lost answer is harmless, so it is not looked up.
        find_done=lambda: None,
    )
