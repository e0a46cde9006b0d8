"""Bought orders and a clerk who gives money back, for tests."""

from typing import Any
from uuid import uuid4

from django.contrib.auth import get_user_model

from academy.tests.factories import checkout_body, make_subject, whole
from academy.tests.shop import SUCCESS, Api, Standin
from apps.orders import refunds
from apps.orders.models import Order, Refund
from apps.orders.refunds import Wanted
from apps.payments.refunds import give_back


def make_clerk(name: str = "carla") -> Any:
    return get_user_model().objects.create_superuser(name, password="clave-de-carla")


def buy(
    api: Api,
    standin: Standin,
    *subjects: Any,
    total: str = "182.40",
    number: str = SUCCESS,
    **more: Any,
) -> Order:
    """Bruno's paid order: one subject of 192 € at 182.40 €, unless told otherwise."""
    items = [whole(subject) for subject in subjects or (make_subject(),)]
    placed = api.checkout(checkout_body(*items, total=total, **more))
    assert standin.confirm(placed["client_secret"], number) == ""
    status, answer = api.post(
        "complete-payment", {"payment_intent_id": placed["payment_intent_id"]}
    )
    assert status == 200, answer
    return Order.objects.get(pk=placed["order_id"])


def refund(order: Order, clerk: Any, cents: int | None = None, **wanted: Any) -> list[Refund]:
    """What the page's last click does: everything that is left, unless told how much."""
    most = refunds.refundable_cents(order)
    made = give_back(
        order_id=order.pk,
        wanted=Wanted(most if cents is None else cents, wanted.pop("reason", "Error"), **wanted),
        batch=uuid4().hex,
        user=clerk,
        seen_cents=most,
    )
    order.refresh_from_db()
    return made
