"""The audit's checks within one order. Each yields one Spanish sentence per difference.

The order's rows must be loaded (`WITH_ROWS`): the checks make no queries.
"""

from collections.abc import Iterator
from datetime import timedelta

from django.utils import timezone

from apps.core.money import format_euros, to_cents
from apps.orders.models import (
    Dispute,
    Instalment,
    Order,
    Payment,
    PromoUse,
    ReferralReward,
    Refund,
)
from apps.orders.models.statuses import (
    INSTALMENT_SETTLED,
    PLAN_RUNNING,
    REFUND_COUNTED,
    UNPAID,
    EventKind,
)
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import PROMO_NAME

WITH_ROWS = (
    "lines",
    "discounts",
    "events",
    "instalments__payments",
    "payments__refunds__lines",
    "payments__disputes",
    "promo_uses",
    "referral_reward",
    "transfer_receipts",
)
# Younger differences are not reported: scheduled jobs settle them within minutes.
MIN_AGE = timedelta(hours=1)


def differences_of(order: Order) -> Iterator[str]:
    """All differences within one order, as Spanish sentences without a final full stop."""
    yield from _total(order)
    yield from _plan(order)
    yield from _payments(order)
    yield from _transfers(order)
    yield from _refunds(order)
    yield from _status_after_refunds(order)
    yield from _disputes(order)
    yield from _code(order)
    yield from _reward(order)


def succeeded(order: Order) -> list[Payment]:
    return [row for row in order.payments.all() if row.status == Payment.Status.SUCCEEDED]


def _total(order: Order) -> Iterator[str]:
    lines = sum(to_cents(line.list_price) for line in order.lines.all())
    discounts = sum(to_cents(row.amount) for row in order.discounts.all())
    if lines - discounts != order.total_cents:
        yield (
            f"las líneas ({format_euros(lines)}) menos los descuentos ({format_euros(discounts)}) "
            f"no dan el total ({format_euros(order.total_cents)})"
        )


def _plan(order: Order) -> Iterator[str]:
    rows = list(order.instalments.all())
    expected = order.status not in UNPAID and order.payment_type == PaymentType.INSTALMENTS
    if bool(rows) != expected:
        yield "tiene plazos que no le tocan" if rows else "se paga a plazos y no tiene ninguno"
    if not rows:
        return
    amount = sum(row.amount_cents for row in rows)
    numbers = list(range(1, order.instalment_count + 1))
    if amount != order.total_cents or [row.number for row in rows] != numbers:
        yield (
            f"{len(rows)} plazos suman {format_euros(amount)}, y el total es "
            f"{format_euros(order.total_cents)}"
        )
    for row in rows:
        yield from _instalment(row)
    waiting = [row for row in rows if row.status not in INSTALMENT_SETTLED]
    if waiting and order.status not in PLAN_RUNNING:
        yield f"está {_status(order)} y le quedan plazos por cobrar ({len(waiting)})"
    if not waiting and order.status in PLAN_RUNNING and order.disputed_at is None:
        yield f"está {_status(order)} y no queda ningún plazo por cobrar"


def _instalment(row: Instalment) -> Iterator[str]:
    paid = [one for one in row.payments.all() if one.status == Payment.Status.SUCCEEDED]
    if row.status == Instalment.Status.PAID and len(paid) != 1:
        yield f"el plazo {row.number} está pagado y tiene {len(paid)} cobros"
    if row.status != Instalment.Status.PAID and paid:
        yield f"el plazo {row.number} tiene un cobro ({paid[0]}) y no está pagado"


def _payments(order: Order) -> Iterator[str]:
    # Flagged payments are left out: they did not fit their order, and staff know about them.
    counted = [row for row in succeeded(order) if not row.flag]
    amount = sum(to_cents(row.amount) for row in counted)
    if order.status in UNPAID:
        if counted:
            yield f"está {_status(order)} y tiene cobros por {format_euros(amount)}"
        return
    rows = order.instalments.all()
    due = (
        sum(row.amount_cents for row in rows if row.status == Instalment.Status.PAID)
        if rows
        else order.total_cents
    )
    # A total below the provider's minimum is not charged (`models.order.CARD_MINIMUM_CENTS`).
    is_free = any(row.is_free for row in counted)
    if not counted:
        yield f"está {_status(order)} y no tiene ningún cobro"
    elif amount != due and not is_free:
        yield f"los cobros suman {format_euros(amount)} en lugar de {format_euros(due)}"


def _transfers(order: Order) -> Iterator[str]:
    received = sum(receipt.amount_cents for receipt in order.transfer_receipts.all())
    recorded = sum(to_cents(row.amount) for row in succeeded(order) if row.is_transfer)
    if received != recorded:
        yield (
            f"se recibieron transferencias por {format_euros(received)} y constan cobros por "
            f"{format_euros(recorded)}"
        )


def _refunds(order: Order) -> Iterator[str]:
    now = timezone.now()
    for payment in order.payments.all():
        rows = list(payment.refunds.all())
        counted = sum(row.amount_cents for row in rows if row.status in REFUND_COUNTED)
        if counted != to_cents(payment.refunded):
            yield (
                f"las devoluciones del pago {payment} suman {format_euros(counted)} y en el pago "
                f"constan {format_euros(to_cents(payment.refunded))}"
            )
        for row in rows:
            amount = format_euros(row.amount_cents)
            if row.status == Refund.Status.REQUESTED and row.created_at < now - MIN_AGE:
                yield f"Stripe no ha contestado todavía a la devolución de {amount}"
            if _was_sent_back(row, rows):
                yield f"la devolución de {amount} no llegó al alumno y sigue sin hacerse"


def _was_sent_back(refund: Refund, others: list[Refund]) -> bool:
    if refund.status != Refund.Status.FAILED or not refund.reference:
        return False
    good = (*REFUND_COUNTED, Refund.Status.OUTSIDE)
    lines = {line.pk for line in refund.lines.all()}
    return not any(
        row.pk > refund.pk
        and (
            row.status in good
            # An exchange of its line took the money for another order.
            or (
                row.status == Refund.Status.CREDITED
                and any(line.pk in lines for line in row.lines.all())
            )
        )
        for row in others
    )


def _status_after_refunds(order: Order) -> Iterator[str]:
    payments = succeeded(order)
    paid = sum(to_cents(row.amount) for row in payments)
    refunds = [row for payment in payments for row in payment.refunds.all()]
    # Refunds that the bank sent back count: `_refunds` reports them.
    refunded = sum(row.amount_cents for row in refunds if row.reference)
    text = (
        f"está {_status(order)} y se han devuelto {format_euros(refunded)} de {format_euros(paid)}"
    )
    if order.status == Order.Status.REFUNDED and refunded + _not_refundable(payments) < paid:
        yield text
    if order.status == Order.Status.PARTIALLY_REFUNDED and not refunded:
        yield text
    if order.status in (*PLAN_RUNNING, Order.Status.PAID) and refunded and refunded >= paid:
        yield text
    if order.status == Order.Status.PAID and 0 < paid - refunded < order.total_cents and refunded:
        yield text
    if order.status in PLAN_RUNNING and any(_has_ended_plan(row) for row in refunds):
        yield "se confirmó una devolución que anula sus plazos, y siguen por cobrar"


def _not_refundable(payments: list[Payment]) -> int:
    """The cents that staff can't refund: refunds of late payments, and disputed payments."""
    return sum(
        to_cents(payment.amount)
        for payment in payments
        if any(row.status != Dispute.Status.WON for row in payment.disputes.all())
        or any(row.status == Refund.Status.REQUESTED for row in payment.refunds.all())
    )


def _has_ended_plan(refund: Refund) -> bool:
    """Whether this refund ended the plan, so that no instalment may be due any more."""
    carried_out = refund.reference and refund.created_at < timezone.now() - MIN_AGE
    return bool(carried_out and (refund.ends_order or refund.cancels_plan))


def _disputes(order: Order) -> Iterator[str]:
    held = [
        row
        for payment in order.payments.all()
        for row in payment.disputes.all()
        if row.status != Dispute.Status.WON
    ]
    if held and order.disputed_at is None:
        yield f"la disputa {held[0]} está {held[0].get_status_display().lower()} y no consta en él"
    if order.disputed_at is not None and not held:
        yield "figura en disputa y no hay ninguna abierta ni perdida"


def _code(order: Order) -> Iterator[str]:
    released = PromoUse.Status.RELEASED
    held = [row for row in order.promo_uses.all() if row.status != released]
    if order.promo_code is None and any(row.name == PROMO_NAME for row in order.discounts.all()):
        yield "tiene el descuento de un código y ningún código"
    for row in held:
        if row.promo_code_id != order.promo_code_id:
            yield "gasta un uso de un código que no es el suyo"
        if row.status == PromoUse.Status.USED and order.status in UNPAID:
            yield f"está {_status(order)} y ha gastado el uso de su código"
        if row.status == PromoUse.Status.RESERVED and order.status not in UNPAID:
            yield f"está {_status(order)} y el uso de su código sigue reservado"
    sold_with_code = order.promo_code_id is not None and order.status not in UNPAID
    if sold_with_code and not held and not _has_kind(order, EventKind.CODE_USE_RELEASED):
        yield "se pagó con un código y el uso no consta"


def _reward(order: Order) -> Iterator[str]:
    reward = getattr(order, "referral_reward", None)
    promo = order.promo_code
    if reward is None:
        earns = promo is not None and promo.is_referral_code and promo.student_id is not None
        noted = _has_kind(order, EventKind.REWARD_WITHHELD, EventKind.CODE_USE_RELEASED)
        if earns and order.status not in UNPAID and not noted:
            yield "se pagó con el código de un amigo y no hay recompensa"
        return
    status = ReferralReward.Status
    if order.status in UNPAID:
        yield f"está {_status(order)} y tiene una recompensa"
    if order.status == Order.Status.REFUNDED and reward.status in (status.HELD, status.OWED):
        yield f"está devuelto y la recompensa sigue {reward.get_status_display().lower()}"
    if reward.amount != order.promised_reward:
        yield (
            f"la recompensa es de {format_euros(to_cents(reward.amount))} en lugar de "
            f"{format_euros(to_cents(order.promised_reward))}"
        )


def _has_kind(order: Order, *kinds: EventKind) -> bool:
    return any(event.kind in kinds for event in order.events.all())


def _status(order: Order) -> str:
    return f"«{order.get_status_display().lower()}»"
