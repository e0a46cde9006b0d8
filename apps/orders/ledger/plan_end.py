"""Refunds that end an order or its plan of instalments (docs/rules.md, "Refunds and disputes").

Such a refund counts from the moment it is recorded: no instalment is charged while the provider's
answer is outstanding. If the provider rejects the refund, the plan goes on as before.
"""

from uuid import uuid4

from django.db.models import OuterRef, QuerySet
from django.db.models.functions import Coalesce

from apps.core.money import to_cents, to_euros
from apps.orders.ledger.balance import count_refunded, refund_cents
from apps.orders.models import Dispute, Order, Payment, Refund
from apps.orders.models.statuses import CHANGED_BY_REFUND, DISPUTE_HELD, PLAN_RUNNING


def unanswered_ends() -> QuerySet[Refund]:
    """Refunds that end the plan of an instalment's order and that the provider has not answered.

    A subquery for `Exists` in a query of instalments.
    """
    return Refund.objects.ending_plan().unanswered().filter(payment__order=OuterRef("order"))


def plan_is_ending(order: Order) -> bool:
    """Whether a refund that ends the order's plan waits for the provider's answer."""
    return Refund.objects.ending_plan().unanswered().filter(payment__order=order).exists()


def takes_instalments(order: Order) -> bool:
    """Whether instalments of the order may be charged or paid."""
    return order.status in PLAN_RUNNING and not plan_is_ending(order)


def takes_no_payments(order: Order) -> bool:
    """Whether an open payment must be canceled: a refund or a lost dispute has ended the order."""
    return (
        order.status in CHANGED_BY_REFUND
        or plan_is_ending(order)
        or Dispute.objects.filter(payment__order=order, status=Dispute.Status.LOST).exists()
    )


def refund_that_ended(order: Order) -> Refund | None:
    """The refund that ended the order's plan: the first of its parts that the provider made."""
    carried_out = Refund.objects.ending_plan().exclude(reference="").filter(payment__order=order)
    return carried_out.order_by("created_at", "pk").first()


def refund_late_payment(payment: Payment, *, end: Refund) -> Refund:
    """Record the refund of a payment that arrived after the refund `end` had ended the plan.

    It has the clerk and the reason of `end`, because it follows from what they confirmed. It does
    not count towards their daily limit. The caller holds the order's lock.
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
    """Record refunds of the payments that arrived between the confirmation of `end` and its effect.

    If `end` refunds the whole order, that is every such payment. If it only cancels the plan, that
    is every such payment of instalments.
    """
    # A payment that had succeeded before, and was recorded after the confirmation, is not a part of
    # what the clerk saw and confirmed.
    late = (
        order.payments.alias(known_at=Coalesce("recorded_at", "succeeded_at"))
        .filter(
            status=Payment.Status.SUCCEEDED,
            currency="eur",
            amount__gt=0,
            known_at__gt=end.created_at,
            refunds=None,
        )
        .exclude(disputes__status__in=DISPUTE_HELD)
    )
    if not end.ends_order:
        late = late.exclude(instalments=None)
    for payment in late.distinct().order_by("pk"):
        refund_late_payment(payment, end=end)
