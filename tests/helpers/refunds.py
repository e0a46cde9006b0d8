"""Paid orders, and a clerk who refunds them, for tests."""

from typing import Any
from uuid import uuid4

from django.contrib.auth import get_user_model

from apps.orders.models import Order, Refund
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.effects import RefundRequest
from apps.payments.refunds.at_stripe import make_refund
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.shop import SUCCESS, Api, Sandbox


def make_clerk(name: str = "carla") -> Any:
    return get_user_model().objects.create_superuser(name, password="clave-de-carla")


def buy(
    api: Api,
    sandbox: Sandbox,
    *subjects: Any,
    total: str = "182.40",
    number: str = SUCCESS,
    **more: Any,
) -> Order:
    """Bruno's paid order: one subject of 192 € at 182.40 €, unless told otherwise."""
    items = [whole(subject) for subject in subjects or (make_subject(),)]
    placed = api.checkout(checkout_body(*items, total=total, **more))
    assert sandbox.confirm(placed["client_secret"], number) == ""
    status, answer = api.post(
        "complete-payment", {"payment_intent_id": placed["payment_intent_id"]}
    )
    assert status == 200, answer
    return Order.objects.get(pk=placed["order_id"])


def refund(order: Order, clerk: Any, cents: int | None = None, **request: Any) -> list[Refund]:
    """Refund `cents`, or everything that is left, as the refund page does on confirmation."""
    most = refundable_cents(order)
    refunds = make_refund(
        order_id=order.pk,
        request=RefundRequest(
            most if cents is None else cents, request.pop("reason", "Error"), **request
        ),
        batch=uuid4().hex,
        user=clerk,
        seen_cents=most,
    )
    order.refresh_from_db()
    return refunds


def refunded_at_provider(sandbox: Sandbox, order: Order) -> list[int]:
    """The refunds of the order's payments at Stripe, in cents, oldest first."""
    page = sandbox.process.client().v1.refunds.list({"limit": 100})
    references = set(order.payments.values_list("reference", flat=True))
    return [row.amount for row in reversed(page.data) if row.payment_intent in references]
