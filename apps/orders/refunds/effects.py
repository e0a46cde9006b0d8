"""The effects of a refund on access, plan, reward and the order's status.

The rules are in docs/rules.md, "Refunds and disputes". The use of a promo code does not change: see
`preview.keeps_promo_use`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings

from apps.classroom.access import open_without, withdraw_access
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_cents
from apps.orders.gifts.change import cancel_gift
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.balance import Balance, balance_of
from apps.orders.ledger.history import flag, note
from apps.orders.ledger.lines import lines_left, shares_of
from apps.orders.ledger.locks import lock_orders
from apps.orders.ledger.plan_end import refund_late_payments
from apps.orders.ledger.states import change_status
from apps.orders.models import Gift, Order, OrderLine, Refund
from apps.orders.models.statuses import (
    INSTALMENT_SETTLED,
    PLAN_RUNNING,
    SOLD,
    EventKind,
    OrderStatus,
)
from apps.orders.offer.lesson_credit import unpaid_wholes
from apps.orders.plan.schedule import cancel_plan
from apps.orders.rewards.service import cancel_reward, move_reward


@dataclass(frozen=True)
class RefundRequest:
    """A refund that a clerk confirms.

    `line_ids` are the order lines whose access is withdrawn. `cancels_plan` means that the
    remaining instalments are canceled. `ends_order` means that the amount was everything that had
    been charged.
    """

    amount_cents: int
    reason: str
    line_ids: frozenset[int] = frozenset()
    cancels_plan: bool = False
    ends_order: bool = False


def ends_order(order: Order, after: Balance) -> bool:
    """Whether a refund with this balance afterwards refunds the whole order."""
    return order.status in SOLD and after.is_whole


def ends_plan(order: Order, request: RefundRequest, after: Balance) -> bool:
    """Whether the refund cancels the remaining instalments. `after` is the balance afterwards."""
    confirmed = request.cancels_plan or request.ends_order
    return order.status in SOLD and (after.is_whole or confirmed)


def forgiven_cents(order: Order, request: RefundRequest, after: Balance) -> int:
    """What the refund forgives: the unpaid instalments of the lines whose access stays.

    Other lines lose their access, and with it nothing is given away.
    """
    if after.is_whole or not ends_plan(order, request, after):
        return 0
    unpaid = order.instalments.exclude(status__in=INSTALMENT_SETTLED)
    cents = sum(row.amount_cents for row in unpaid)
    lines = list(order.lines.all())
    kept = {line.pk for line in lines_left(order)} - request.line_ids
    shares = zip(lines, shares_of(lines, cents), strict=True)
    return sum(share for line, share in shares if line.pk in kept)


def loses_reward(order: Order, after: Balance, line_ids: frozenset[int]) -> bool:
    """Whether the refund cancels the friend's reward.

    No complete subject of the order is left, or less than the reward of what it costs.
    """
    if order.status not in SOLD:
        return False
    to_come = max(order.total_cents, after.paid) if order.status in PLAN_RUNNING else after.paid
    if after.is_whole or to_come - after.returned < to_cents(order.promised_reward):
        return True
    kept = lines_left(order).filter(lesson=None).exclude(pk__in=line_ids)
    return bool(line_ids) and not kept.exists()


def apply_refund_effects(order: Order, batch: str) -> None:
    """Apply the effects of a confirmed refund once the provider has answered for all its parts.

    A refund has one part for each payment. All parts share the id `batch`.
    """
    rows = list(Refund.objects.filter(batch=batch, payment__order=order).order_by("pk"))
    carried_out = [row for row in rows if row.reference]
    if carried_out and all(row.status != Refund.Status.REQUESTED for row in rows):
        _take_effect(order, carried_out)


def _take_effect(order: Order, refunds: list[Refund]) -> None:
    request, to = _confirmed(refunds), refunds[0].credited_to
    amount = format_euros(request.amount_cents)
    paid = f"{amount} pagan el pedido {to.pk}" if to else f"Devueltos {amount}"
    reason = f"{paid}: {request.reason}"
    actor = refunds[0].actor
    if request.ends_order or request.cancels_plan:
        refund_late_payments(order, end=refunds[0])
    if order.status in SOLD:
        after = _balance_after(order, refunds)
        _change_what_was_bought(order, request, after, actor, reason, exchanged_for=to)
        if request.ends_order and not after.is_whole:
            _flag_incomplete(order, after, refunds[0])
    else:
        note(order, kind=EventKind.REFUNDED, actor=actor, reason=reason)
    if to is None:
        _queue_mails(order, refunds)


def _confirmed(refunds: list[Refund]) -> RefundRequest:
    """The confirmed refund, with the amount that the provider has actually refunded."""
    first = refunds[0]
    return RefundRequest(
        amount_cents=sum(row.amount_cents for row in refunds),
        reason=first.reason,
        line_ids=frozenset(first.lines.values_list("pk", flat=True)),
        cancels_plan=first.cancels_plan,
        ends_order=first.ends_order,
    )


def _balance_after(order: Order, refunds: list[Refund]) -> Balance:
    """The order's balance after the refund. A part that the bank sent back counts as returned.

    Staff pay the buyer such a part by other means, so the refund has its full effects.
    """
    failed = (row for row in refunds if row.status == Refund.Status.FAILED)
    return balance_of(order).less(sum(row.amount_cents for row in failed))


def _queue_mails(order: Order, refunds: list[Refund]) -> None:
    """Queue a mail to the buyer and one to staff, once for each batch of an order."""
    ids = [row.pk for row in refunds]
    queue_mail(
        key=f"refund-made:{order.pk}:{refunds[0].batch}",
        template="refund_made",
        to=order.email,
        context={"refund_ids": ids, "order_id": order.pk},
    )
    queue_mail(
        key=f"refund-owner:{order.pk}:{refunds[0].batch}",
        template="refund_owner",
        to=settings.STAFF_EMAIL,
        context={"refund_ids": ids, "order_id": order.pk},
    )


def _change_what_was_bought(
    order: Order,
    request: RefundRequest,
    after: Balance,
    actor: str,
    reason: str,
    *,
    exchanged_for: Order | None,
) -> None:
    if not loses_reward(order, after, request.line_ids):
        pass
    elif exchanged_for is not None and exchanged_for.lines.filter(lesson=None).exists():
        move_reward(order, to=exchanged_for, actor=actor)
    else:
        cancel_reward(order, "pedido devuelto", actor=actor)
    _end_unpaid_wholes(order, request, after, actor=actor)
    plan_ends = ends_plan(order, request, after)
    plan_goes_on = order.status in PLAN_RUNNING and not plan_ends
    if plan_ends:
        cancel_plan(order, actor=actor)
    if after.is_whole:
        withdraw_order_access(order, actor=actor)
        _change_to(order, OrderStatus.REFUNDED, actor=actor, reason=reason)
        return
    lines = list(OrderLine.objects.filter(order=order, pk__in=request.line_ids))
    if lines:
        withdraw_order_access(order, lines, actor=actor)
    if (after.is_partial or plan_ends) and not plan_goes_on:
        _change_to(order, OrderStatus.PARTIALLY_REFUNDED, actor=actor, reason=reason)
    else:
        note(order, kind=EventKind.REFUNDED, actor=actor, reason=reason)


def wholes_that_end(order: Order, request: RefundRequest, after: Balance) -> dict[int, Order]:
    """The orders whose whole subject ends with the refund, by the subject's id.

    Lessons of this order have paid it alone.
    """
    if order.status not in SOLD:
        return {}
    lines = {line.pk: line.subject_id for line in order.lines.all()}
    ending = unpaid_wholes(order, lines if after.is_whole else request.line_ids)
    return {lines[line_id]: whole for line_id, whole in ending.items()}


def _end_unpaid_wholes(order: Order, request: RefundRequest, after: Balance, *, actor: str) -> None:
    reason = f"Se devuelven las lecciones del pedido {order.pk}, con las que se pagó este pedido"
    wholes = wholes_that_end(order, request, after)
    ids = [row.pk for row in wholes.values()]
    locked = {row.pk: row for row in lock_orders(Order.objects.filter(pk__in=ids))}
    for subject_id, row in wholes.items():
        whole = locked[row.pk]
        lines = list(whole.lines.all())
        ending = [line for line in lines if line.subject_id == subject_id]
        withdraw_order_access(whole, ending, actor=actor)
        if len(ending) < len(lines) or whole.status not in SOLD:
            flag(whole, kind=EventKind.REFUNDED, actor=actor, reason=reason)
        else:
            change_status(
                whole, OrderStatus.REFUNDED, kind=EventKind.REFUNDED, actor=actor, reason=reason
            )


def _change_to(order: Order, status: OrderStatus, *, actor: str, reason: str) -> None:
    if order.status == status:
        note(order, kind=EventKind.REFUNDED, actor=actor, reason=reason)
    else:
        change_status(order, status, kind=EventKind.REFUNDED, actor=actor, reason=reason)


def _flag_incomplete(order: Order, after: Balance, refund: Refund) -> None:
    """Flag the order and mail staff: the provider made only a part of a refund of all the money.

    The plan has ended all the same, because a confirmed refund stops all charges.
    """
    missing = format_euros(after.paid - after.returned)
    reason = f"Se confirmó devolver todo lo cobrado y faltan {missing} por devolver"
    flag(order, kind=EventKind.REFUND_INCOMPLETE, actor=refund.actor, reason=reason)
    alert_staff(order, occasion=f"refund-incomplete-{refund.batch}", reason=reason)


def lines_kept_open(order: Order, lines: Iterable[OrderLine]) -> list[OrderLine]:
    """The lines that another order of the student opens as well, so that a refund closes nothing.

    None of a gift's: its buyer has no access by it.
    """
    if Gift.objects.filter(order=order).exists():
        return []
    kept = open_without(student=order.student, order_id=order.pk)
    return [
        line
        for line in lines
        if {(line.subject_id, line.lesson_id), (line.subject_id, None)} & kept
    ]


def withdraw_order_access(
    order: Order, lines: Sequence[OrderLine] | None = None, *, actor: str
) -> None:
    """Withdraw the classroom access that these lines opened. None means the whole order.

    A gift that waits for its day is then never delivered.
    """
    if lines is None:
        cancel_gift(order, actor=actor, reason="el pedido se ha devuelto")
    items = None if lines is None else [(line.subject_id, line.lesson_id) for line in lines]
    withdraw_access(order_id=order.pk, items=items)
