"""Records refunds as the provider reports them (docs/rules.md, "Refunds and disputes")."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from apps.core.money import format_euros, to_cents, to_euros
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.balance import count_refunded, refund_cents
from apps.orders.ledger.history import flag
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Order, Payment, Refund
from apps.orders.models.statuses import EventKind, RefundStatus
from apps.orders.offer.lesson_credit import credited_lines
from apps.orders.refunds.effects import apply_refund_effects


@dataclass(frozen=True)
class ReportedRefund:
    """A refund as the provider reports it now.

    `key_id` is `Refund.key_id`, if the shop requested the refund. `reason` is a text for staff, if
    the refund was made in the provider's dashboard. `problem` is the reason of a failure.
    """

    reference: str
    amount_cents: int
    status: RefundStatus
    key_id: UUID | None = None
    reason: str = ""
    problem: str = ""


@transaction.atomic
def record_refunds(*, payment_id: int, reports: Sequence[ReportedRefund], provider: str) -> bool:
    """Record all refunds of a payment as the provider reports them. False if nothing changed.

    Safe to call from the admin, the webhook and reconciliation, repeatedly and in any order. A
    refund that the shop did not request was made in the provider's dashboard. Its actor is
    `provider`, the provider's name for staff. A refund that the bank sends back keeps its effects:
    the order keeps its status, and staff are mailed to refund it by other means.
    """
    order_id = Payment.objects.values_list("order_id", flat=True).get(pk=payment_id)
    if order_id is None:
        return False
    order = locked_order(order_id)
    payment = Payment.objects.select_for_update(no_key=True).get(pk=payment_id)
    answered, sent_back, is_changed, is_outside = [], [], False, False
    for report in reports:
        refund = _row_of(payment, report) or _made_in_dashboard(payment, report, provider)
        if not _is_newer_state(refund, report):
            continue
        is_changed = True
        is_outside = is_outside or refund.pk is None
        if not refund.reference:
            answered.append(refund)
        if report.status == Refund.Status.FAILED:
            sent_back.append(refund)
        _write(refund, report)
    if not is_changed:
        return False
    answered += _reject_excess(payment, provider)
    count_refunded(payment)
    for batch in dict.fromkeys(refund.batch for refund in answered):
        apply_refund_effects(order, batch)
    _flag_if_credited(order, payment, provider)
    if is_outside:
        _flag_if_lessons_count(order, payment, provider)
    for refund in sent_back:
        _alert_sent_back(order, refund, provider)
    return True


def _flag_if_credited(order: Order, payment: Payment, provider: str) -> None:
    """Flag the order and mail staff if money was refunded that pays another order.

    The provider allows that in its dashboard: it never hears of an exchange.
    """
    credits = Refund.objects.filter(payment=payment, status=Refund.Status.CREDITED)
    credited = sum(row.amount_cents for row in credits)
    if not credited or refund_cents(payment) + credited <= to_cents(payment.amount):
        return
    numbers = ", ".join(str(row.credited_to_id) for row in credits)
    reason = f"En {provider} se ha devuelto dinero con el que se pagó otro pedido ({numbers})"
    flag(order, kind=EventKind.REFUND_EXCEEDS, actor=provider, reason=reason)
    alert_staff(order, occasion=f"refund-exceeds-{payment.pk}", reason=reason)


def _flag_if_lessons_count(order: Order, payment: Payment, provider: str) -> None:
    """Flag the order and mail staff if its lessons still make another order cheaper.

    The shop refuses such a refund, and the provider's dashboard allows it.
    """
    wholes = sorted({whole.pk for whole in credited_lines(order).values()})
    if not wholes:
        return
    numbers = ", ".join(map(str, wholes))
    reason = (
        f"En {provider} se ha devuelto dinero de unas lecciones que se descontaron en otro pedido "
        f"({numbers})"
    )
    flag(order, kind=EventKind.REFUND_EXCEEDS, actor=provider, reason=reason)
    alert_staff(order, occasion=f"refund-of-lessons-{payment.pk}", reason=reason)


def _made_in_dashboard(payment: Payment, report: ReportedRefund, provider: str) -> Refund:
    # Not the provider's id as the batch: it may be too long for the keys of mails.
    return Refund(payment=payment, batch=uuid4().hex, reason=report.reason, actor=provider)


def _write(refund: Refund, report: ReportedRefund) -> None:
    refund.reference = report.reference
    refund.amount = to_euros(report.amount_cents)
    refund.status = report.status
    refund.problem = report.problem[:200]
    refund.settled_at = None if report.status == Refund.Status.PENDING else timezone.now()
    refund.sent_back_at = timezone.now() if report.status == Refund.Status.FAILED else None
    refund.save()


def _row_of(payment: Payment, report: ReportedRefund) -> Refund | None:
    rows = Refund.objects.select_for_update(no_key=True).filter(payment=payment)
    row = rows.filter(reference=report.reference).first()
    if row is None and report.key_id is not None:
        row = rows.filter(key_id=report.key_id, reference="").first()
    return row


# Reports may be recorded in another order than they were read. A status with a lower rank is old.
RANK = {
    Refund.Status.PENDING: 1,
    Refund.Status.SUCCEEDED: 2,
    Refund.Status.FAILED: 3,
    Refund.Status.OUTSIDE: 4,
}


def _is_newer_state(refund: Refund, report: ReportedRefund) -> bool:
    if not refund.reference:
        return True
    return RANK[report.status] > RANK[Refund.Status(refund.status)]


def is_unrecorded(report: ReportedRefund) -> bool:
    """Whether the shop has not recorded this state of the refund yet."""
    refund = Refund.objects.filter(reference=report.reference).first()
    return refund is None or _is_newer_state(refund, report)


def _reject_excess(payment: Payment, provider: str) -> list[Refund]:
    """Reject requested refunds that exceed the payment, after a refund in the dashboard."""
    rejected = []
    requested = Refund.objects.select_for_update(no_key=True).unanswered().filter(payment=payment)
    for refund in requested.order_by("-pk"):
        if refund_cents(payment) > to_cents(payment.amount):
            fail_refund(refund, f"Ya se había devuelto en {provider}")
            rejected.append(refund)
    return rejected


def fail_refund(refund: Refund, problem: str) -> None:
    refund.status = Refund.Status.FAILED
    refund.problem = problem[:200]
    refund.settled_at = timezone.now()
    refund.save()


def _alert_sent_back(order: Order, refund: Refund, provider: str) -> None:
    reason = (
        f"El banco no ha aceptado la devolución de {format_euros(refund.amount_cents)}, y el "
        f"dinero vuelve a estar en {provider}: hay que devolverlo otra vez o por otra vía"
    )
    flag(order, kind=EventKind.REFUND_SENT_BACK, actor=provider, reason=reason)
    alert_staff(order, occasion=f"refund-failed-{refund.pk}", reason=reason)


def record_by_hand(refund: Refund) -> None:
    """Record a confirmed refund of a transfer, which staff make at their bank. Safe to repeat.

    The rule is in docs/rules.md, "Orders made by staff".
    """
    report = ReportedRefund(
        reference=f"a_mano_{refund.key_id.hex}",
        amount_cents=refund.amount_cents,
        status=Refund.Status.SUCCEEDED,
        key_id=refund.key_id,
    )
    record_refunds(payment_id=refund.payment_id, reports=[report], provider=refund.actor)
