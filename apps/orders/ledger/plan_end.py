"""Refunds that staff confirmed to end an order, or its plan of instalments.

Such a refund counts from the moment it is written down (docs/rules.md, "Refunds and disputes"):
nothing of the plan is charged while the provider's answer is outstanding. If the provider rejects
the refund, the plan goes on as before.
"""

from uuid import uuid4

from django.db.models import OuterRef, QuerySet

from apps.core.money import to_cents, to_euros
from apps.orders.ledger.balance import count_refunded, refund_cents
from apps.orders.models import Order, Payment, Refund
from apps.orders.models.statuses import CHANGED_BY_REFUND, DISPUTE_HELD, PLAN_RUNNING


def unanswered_ends() -> QuerySet[Refund]:
    """For `Exists` in a query of instalments: refunds that end their order's plan, unanswered."""
    return Refund.objects.ending_plan().unanswered().filter(payment__order=OuterRef("order"))


def plan_is_ending(order: Order) -> bool:
    """Whether a refund that ends the order's plan waits for the provider's answer."""
    return Refund.objects.ending_plan().unanswered().filter(payment__order=order).exists()


def takes_instalments(order: Order) -> bool:
    """Whether instalments of the order may be charged or paid."""
    return order.status in PLAN_RUNNING and not plan_is_ending(order)


def takes_no_payments(order: Order) -> bool:
    """Whether an open payment of the order must be canceled, because a refund has ended it."""
    return order.status in CHANGED_BY_REFUND or plan_is_ending(order)


def refund_that_ended(order: Order) -> Refund | None:
    """The first part that was carried out of the refund that ended the order's plan."""
    carried_out = Refund.objects.ending_plan().exclude(reference="").filter(payment__order=order)
    return carried_out.order_by("created_at", "pk").first()


def refund_late_payment(payment: Payment, *, end: Refund) -> Refund:
    """Write down the refund of a payment that arrived although `end` had ended the plan.

    It carries out what the clerk of `end` confirmed, so it has their name and reason. It does not
    count towards their daily limit. The caller holds the order's lock.
    """
    refund = Refund.objects.create(
        payment=payment,
        follows=end,
        batch=uuid4().hex,
        amount=to_euros(to_cents(payment.amount) - refund_cents(payment)),
        reason=end.reason,
        actor=end.actor,
    )
    count_refunded(payment)
    return refund


def refund_late_payments(order: Order, *, end: Refund) -> None:
    """Write down refunds of what was paid between the confirmation of `end` and its effect.

    After the end of the whole order that is any payment, after the end of a plan any instalment.
    """
    late = order.payments.filter(
        status=Payment.Status.SUCCEEDED,
        currency="eur",
        amount__gt=0,
        succeeded_at__gt=end.created_at,
        refunds=None,
    ).exclude(disputes__status__in=DISPUTE_HELD)
    if not end.ends_order:
        late = late.exclude(instalments=None)
    for payment in late.distinct().order_by("pk"):
        refund_late_payment(payment, end=end)
