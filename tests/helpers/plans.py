"""Instalment plans for tests: bought at the sandbox and charged on later days."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import time_machine
from django.db.models import QuerySet

from apps.core.models import Mail
from apps.orders.models import InstalmentAttempt, Order
from apps.orders.plan.plan_link import plan_token
from apps.payments.plan.charge_due import ChargeCounts, charge_instalments
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.shop import SUCCESS, Api, Sandbox

# Stripe's test cards that decline each charge, and that require authentication for each charge.
REFUSED_LATER = "pm_card_chargeCustomerFail"
ASKS_ALWAYS = "pm_card_authenticationRequired"
# The plans of these tests are bought at ten in the morning in Madrid.
BOUGHT_AT = datetime(2026, 11, 21, 10, tzinfo=ZoneInfo("Europe/Madrid"))


def day(number: int, *, hours: float = 0) -> datetime:
    """The moment that many days and hours after the purchase."""
    return BOUGHT_AT + timedelta(days=number, hours=hours)


def buy_in_instalments(
    api: Api, sandbox: Sandbox, *, number: str = SUCCESS, price: str = "100.00", **changes: Any
) -> Order:
    """Bruno's plan: 33.34 € paid on day 0, then 33.33 € on the days 20 and 40."""
    with time_machine.travel(BOUGHT_AT, tick=False):
        body = checkout_body(
            whole(make_subject(price=price)), total=price, payment_type="installment", **changes
        )
        placed = api.checkout(body)
        assert sandbox.confirm(placed["client_secret"], number) == ""
        status, _ = api.post("complete-payment", {"payment_intent_id": placed["payment_intent_id"]})
        assert status == 200
    return Order.objects.get(pk=placed["order_id"])


def charge_on(number: int, *, hours: float = 0) -> ChargeCounts:
    """One run of `charge_instalments`, that many days after the purchase."""
    with time_machine.travel(day(number, hours=hours), tick=False):
        return charge_instalments()


def give_card(order: Order, sandbox: Sandbox, name: str) -> str:
    """Let the order's instalments be charged to one of Stripe's named test cards."""
    method = sandbox.process.client().v1.payment_methods.attach(
        name, {"customer": order.customer_reference}
    )
    Order.objects.filter(pk=order.pk).update(card_reference=method.id, card_label="")
    return method.id


def charges(sandbox: Sandbox, order: Order) -> list[int]:
    """The succeeded charges of the order's customer at Stripe, in cents, oldest first."""
    page = sandbox.process.client().v1.charges.list(
        {"customer": order.customer_reference, "limit": 100}
    )
    return [charge.amount for charge in reversed(page.data) if charge.status == "succeeded"]


def link_of(order: Order) -> dict[str, Any]:
    """The parameters of the personal link of a plan."""
    return {"order": order.pk, "token": plan_token(order)}


def states(order: Order) -> list[str]:
    """The states of the order's instalments, in their order."""
    return list(order.instalments.order_by("number").values_list("status", flat=True))


def attempts(order: Order) -> list[tuple[int, int, str, str, str]]:
    """Instalment, number, kind, outcome and error code of each attempt to charge."""
    return list(
        InstalmentAttempt.objects.filter(instalment__order=order)
        .order_by("instalment", "number")
        .values_list("instalment__number", "number", "kind", "outcome", "error_code")
    )


def mails(template: str) -> QuerySet[Mail]:
    return Mail.objects.filter(template=template)


def pay_by_hand(
    api: Api,
    order: Order,
    sandbox: Sandbox,
    what: str = "next",
    number: str = SUCCESS,
    at: datetime | None = None,
) -> str:
    """Pay as the page of the plan does: prepare, confirm with Stripe.js, complete.

    Returns the code of the decline, or "" for success. `number` is that of the card.
    """
    unpaid = order.instalments.exclude(status="paid").order_by("number")
    with time_machine.travel(at or day(0), tick=False):
        wanted = {"number": unpaid[0].number, "what": what}
        status, started = api.post("instalments/pay", {**link_of(order), **wanted})
        assert status == 200, started
        decline = sandbox.confirm(started["client_secret"], number)
        if not decline:
            reference = started["payment_intent_id"]
            assert api.post("complete-payment", {"payment_intent_id": reference})[0] == 200
    order.refresh_from_db()
    return decline
