"""Signed Stripe events as tests send them, and the state of an order that was paid once."""

import hashlib
import hmac
import json
import time
from typing import Any

from django.conf import settings
from django.http import HttpResponse

from apps.classroom.models import Provisioning
from apps.core.models import Mail
from apps.orders.models import Order
from tests.helpers.shop import Api


def event_body(
    kind: str, reference: str, *, event_id: str = "evt_1", livemode: bool = False, **fields: Any
) -> str:
    """The JSON of an event. `fields` are those of its PaymentIntent or session."""
    return json.dumps(
        {
            "id": event_id,
            "object": "event",
            "type": kind,
            "livemode": livemode,
            "created": int(time.time()),
            "data": {"object": {"id": reference, "object": "payment_intent", **fields}},
        }
    )


def deliver(api: Api, body: str, *, secret: str | None = None) -> HttpResponse:
    """Post an event to the webhook, signed as Stripe signs it."""
    moment = int(time.time())
    key = (secret or settings.STRIPE_WEBHOOK_SECRET).encode()
    signature = hmac.new(key, f"{moment}.{body}".encode(), hashlib.sha256).hexdigest()
    return api.client.post(
        "/api/stripe/webhook",
        body,
        content_type="application/json",
        headers={"Stripe-Signature": f"t={moment},v1={signature}"},
    )


def assert_paid_once(order_id: int) -> None:
    """The order is paid with one payment, one provisioning and one confirmation mail."""
    order = Order.objects.get(pk=order_id)
    assert order.status == "paid"
    assert order.payments.filter(status="succeeded").count() == 1
    assert Provisioning.objects.filter(order_id=order.pk).count() == 1
    assert Mail.objects.filter(template="order_confirmation").count() == 1
    assert order.events.filter(to_status="paid").count() == 1
