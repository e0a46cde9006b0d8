"""Refunds that the buyer's bank sent back (docs/rules.md, "Refunds and disputes")."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from apps.core.money import format_euros
from apps.orders.ledger.history import note
from apps.orders.ledger.lines import order_money
from apps.orders.ledger.locks import lock_orders, locked_order
from apps.orders.models import Order, Refund
from apps.orders.models.statuses import REFUND_COUNTED, EventKind
from apps.orders.refunds.available import refundable_payments
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.request import RefundRefused, refuse_credited


def refunds_sent_back_by_bank(
    *,
    replaced_by: Iterable[str] = (*REFUND_COUNTED, Refund.Status.OUTSIDE),
    is_covered: bool = False,
) -> QuerySet[Refund]:
    """Refunds that the bank sent back and that no later refund of the same payment replaces.

    `replaced_by` are the states in which a later refund replaces an earlier one. With `is_covered`
    only a later one that is not smaller does: a smaller one may give back another part. An exchange
    of one of its lines replaces a refund, too: it took the money for another order.
    """
    later = Refund.objects.filter(
        payment=OuterRef("payment"),
        pk__gt=OuterRef("pk"),
        status__in=replaced_by,
    )
    if is_covered:
        later = later.filter(amount__gte=OuterRef("amount"))
    failed = Refund.objects.filter(status=Refund.Status.FAILED).exclude(reference="")
    exchanged = Refund.objects.filter(
        pk__gt=OuterRef("pk"), status=Refund.Status.CREDITED, lines__refunds=OuterRef("pk")
    )
    return failed.filter(~Exists(later), ~Exists(exchanged))


@transaction.atomic
def record_paid_by_other_means(refund_ids: Iterable[int], *, actor: str) -> int:
    """Record that staff paid the buyer these refunds by other means, such as a transfer.

    Only refunds that the bank sent back, and that no later refund replaces, are changed, and only
    while their money is still the buyer's (`_is_still_owed`). Returns how many changed.
    """
    done = 0
    # Whoever ticks a whole list ticks many that were never sent back.
    chosen = refunds_sent_back_by_bank(is_covered=True).filter(pk__in=list(refund_ids))
    chosen = chosen.select_related("payment")
    lock_orders(Order.objects.filter(pk__in={refund.payment.order_id for refund in chosen}))
    # The oldest first: a later one, once it is recorded, would replace it.
    for refund in chosen.order_by("pk"):
        order = locked_order(refund.payment.order_id or 0)
        waiting = refunds_sent_back_by_bank(is_covered=True).filter(pk=refund.pk)
        if not waiting.exists() or not _is_still_owed(order, refund):
            continue
        changed = waiting.update(status=Refund.Status.OUTSIDE, settled_at=timezone.now())
        if changed:
            amount = format_euros(refund.amount_cents)
            note(
                order,
                kind=EventKind.REFUND_OUTSIDE,
                actor=actor,
                reason=f"{amount} devueltos por otra vía ({refund})",
            )
        done += changed
    return done


def _is_still_owed(order: Order, refund: Refund) -> bool:
    """Whether the payment, and the lines of the refund, have so much left to be given back.

    Other refunds, a dispute, an exchange, or a whole subject that lessons have paid may have taken
    it meanwhile.
    """
    lines = frozenset(refund.lines.values_list("pk", flat=True))
    money = order_money(order)
    left = sum(row.left for row in money.lines if not lines or row.line.pk in lines)
    if len(lines) in (0, len(money.lines)):
        left += money.excess_left
    of_payment = {payment.pk: cents for payment, cents in refundable_payments(order)}
    if refund.amount_cents > min(left, of_payment.get(refund.payment_id, 0)):
        return False
    try:
        refuse_credited(order, RefundRequest(refund.amount_cents, refund.reason, line_ids=lines))
    except RefundRefused:
        return False
    return True
