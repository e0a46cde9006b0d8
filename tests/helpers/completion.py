"""What Stripe, its page and the buyer do after a checkout, and an order that was paid once."""

import hashlib
import hmac
import json
import re
import sqlite3
import time
from contextlib import closing
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.test import Client

from apps.classroom.models import Provisioning
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.orders.models import Order
from tests.helpers.shop import Api, Sandbox


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


def confirm_correction() -> int:
    """Press the button behind the newest link of a correction; return the page's status."""
    mail = Mail.objects.filter(template="email_correction").latest("pk")
    text = render_mail(mail.template, mail.context, reveal=True, to=mail.to).text
    path = re.search(r"/correo/confirmar\?enlace=\S+", text)[0]
    assert Client().get(path).status_code in (200, 410)
    return Client().post(path).status_code


def again(placed: dict[str, Any], body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The body of a further checkout of the order that an earlier checkout created."""
    return {**body, "recovery_order_id": placed["order_id"], "token": placed["token"], **changes}


def reference_of(placed: dict[str, Any]) -> dict[str, str]:
    """The reference with which the browser returns from Stripe, in either mode."""
    names = ("session_id", "payment_intent_id")
    return {name: placed[name] for name in names if name in placed}


def expire_at_provider(sandbox: Sandbox, session: str, at: int = 1) -> None:
    """Set the session's expiry at Stripe to `at`. The default has passed on any test clock."""
    with closing(sqlite3.connect(sandbox.process.state, timeout=60)) as database, database:
        database.execute(
            "UPDATE objects SET body = json_set(body, '$.expires_at', ?) WHERE id = ?",
            (at, session),
        )


def open_at_provider(sandbox: Sandbox, mode: str) -> list[str]:
    """The references of the only order's payments, or sessions, that can still be paid."""
    if mode == "hosted":
        return open_sessions(sandbox)
    payments = sandbox.payments(Order.objects.get().customer_reference)
    return [payment["id"] for payment in payments if payment["status"] != "canceled"]


def open_sessions(sandbox: Sandbox) -> list[str]:
    """The ids of the only order's open sessions."""
    customer = Order.objects.get().customer_reference
    return [s["id"] for s in sandbox.sessions(customer) if s["status"] == "open"]
