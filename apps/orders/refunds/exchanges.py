"""The exchange of a line of a paid order for another order: what is checked, and carrying it out.

The new order is an order by staff. Once it is paid, or costs no more than the line, what was paid
for the line pays it: the line is refunded without money, and the new order gets a payment of the
kind `credit`. The rules are in docs/rules.md, "Exchanges".
"""

from datetime import datetime, timedelta

from django.utils import timezone

from apps.core.money import format_euros, to_cents, to_euros
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.balance import balance_of, count_refunded
from apps.orders.ledger.history import flag, note
from apps.orders.ledger.lines import order_money
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.payments import ConfirmedPayment, record_payment
from apps.orders.models import Gift, Order, OrderDiscount, OrderLine, Refund, StaffOrder
from apps.orders.models.statuses import EventKind, PaymentKind, RefundStatus
from apps.orders.offer.lesson_credit import unpaid_wholes
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.effects import RefundRequest, apply_refund_effects, ends_order
from apps.orders.refunds.request import RefundRefused, split_over_payments
from apps.pricing.rules import AGREED_NAME

# Until then a course may be the wrong one. Later it has been used.
FREE_FOR = timedelta(days=14)
EXCHANGEABLE = (Order.Status.PAID, Order.Status.PARTIALLY_REFUNDED)


def exchangeable_cents(line: OrderLine) -> int:
    """The cents that were paid for a line and that an exchange may use. Raises RefundRefused.

    A plan has to be paid first: its instalments to come are for the line, too. The order's row is
    locked by a caller that goes on to change something.
    """
    order = line.order
    if order.status not in EXCHANGEABLE:
        raise RefundRefused(
            "Solo se cambia algo ya pagado del todo: con plazos por cobrar, primero se pagan o se "
            "anulan."
        )
    if Gift.objects.filter(order=order).exists():
        raise RefundRefused("Es un regalo: el acceso es de otra persona, y no se cambia aquí.")
    row = next(row for row in order_money(order).lines if row.line.pk == line.pk)
    if row.is_refunded:
        raise RefundRefused("Esta línea ya está devuelta o cambiada.")
    if unpaid_wholes(order, {line.pk}):
        raise RefundRefused(
            "Con esta lección se pagó la asignatura completa: devuélvela, y vende lo otro aparte."
        )
    if row.left:
        split_over_payments(order, _refund_of(line, row.left, "Cambio"))
    else:
        raise RefundRefused("Por esta línea no se pagó nada, o ya está devuelto.")
    return row.left


def gives_away_credit(line: OrderLine, *, at: datetime | None = None) -> bool:
    """Whether an exchange of the line counts as a discount, with all that was paid for it.

    It does if the course was bought more than 14 days ago, or is itself one that was exchanged:
    otherwise a student could study one course after another for the price of one. `at` is when it
    is exchanged: now, unless given.
    """
    order = line.order
    row: StaffOrder | None = getattr(order, "by_staff", None)
    is_second = row is not None and row.exchanged_line_id is not None
    return is_second or order.paid_at is None or (at or timezone.now()) - order.paid_at > FREE_FOR


def may_exchange(order: Order) -> bool:
    """Whether some line of the order can be exchanged now."""
    if order.status not in EXCHANGEABLE or Gift.objects.filter(order=order).exists():
        return False
    has_line = any(row.left and not row.is_refunded for row in order_money(order).lines)
    waits = StaffOrder.objects.waiting_exchanges(order).exists()
    return has_line and not waits and refundable_cents(order) > 0


def _refund_of(line: OrderLine, cents: int, reason: str) -> RefundRequest:
    return RefundRequest(cents, reason, frozenset({line.pk}))


def locked_exchange(order: Order) -> StaffOrder | None:
    """The exchange that a payment of this order carries out, with the order of its line locked.

    None if the order is none, or if it was carried out. The caller holds the lock of `order`, which
    is always locked before the order of its line.
    """
    row: StaffOrder | None = getattr(order, "by_staff", None)
    if row is None or row.exchanged_line is None or row.exchanged_at is not None:
        return None
    row.exchanged_line.order = locked_order(row.exchanged_line.order_id)
    return row


def problem_of(exchange: StaffOrder) -> str:
    """Why the line can't be exchanged any more, as a Spanish phrase. Empty if it can."""
    line = exchange.exchanged_line
    try:
        enough = line is not None and exchangeable_cents(line) >= to_cents(exchange.credit)
    except RefundRefused as refusal:
        return f"El cambio ya no se puede hacer: {refusal.message}"
    return "" if enough else "El cambio ya no se puede hacer: se ha devuelto una parte de la línea"


def rest_cents(exchange: StaffOrder) -> int:
    """Return the cents paid for the line less the credit used; 0 if the buyer pays extra.

    They go back to the buyer when the exchange is carried out. Raises RefundRefused.
    """
    if exchange.exchanged_line is None or exchange.agreed:
        return 0
    return exchangeable_cents(exchange.exchanged_line) - to_cents(exchange.credit)


def carry_out(exchange: StaffOrder, order: Order, *, actor: str) -> None:
    """Pay `order`, which has just become paid, with what was paid for the line.

    Its total becomes its whole price. What it does not need is requested as a refund, which the
    provider still has to make. The caller has locked both orders, and checked the exchange
    (`problem_of`).
    """
    line = exchange.exchanged_line
    if line is None:
        return
    credit, back = to_cents(exchange.credit), rest_cents(exchange)
    _pay_with_credit(exchange, order, credit)
    reason = f"Cambio por {_names(order)} (pedido {order.pk})"
    _write_refunds(exchange, line, order, back_cents=back, reason=reason)
    note(
        order,
        kind=EventKind.EXCHANGED,
        actor=actor,
        reason=f"Cambio de «{line}», del pedido {line.order_id}: {format_euros(credit)} de lo que "
        "se pagó por ello pagan este pedido",
    )
    if _came_late(exchange, line):
        reason = (
            f"El cambio se pidió en los {FREE_FOR.days} días y se ha hecho después: «{line}» puede "
            "haberse usado, y lo pagado no ha contado como descuento"
        )
        flag(order, kind=EventKind.EXCHANGED, actor=actor, reason=reason)
        alert_staff(order, occasion=f"late-exchange-{order.pk}", reason=reason)


def _came_late(exchange: StaffOrder, line: OrderLine) -> bool:
    """Whether the line's credit counts as a discount by now, and did not when it was asked for."""
    is_counted = gives_away_credit(line, at=exchange.created_at) or bool(exchange.approved_by)
    return not is_counted and gives_away_credit(line)


def _names(order: Order) -> str:
    return ", ".join(f"«{line}»" for line in order.lines.all())


def _pay_with_credit(exchange: StaffOrder, order: Order, credit: int) -> None:
    """Record the payment, and give the order the price that it has without the credit."""
    reference = credit_reference(order)
    if not order.payments.filter(reference=reference).exists():
        payment = ConfirmedPayment(reference, credit, kind=PaymentKind.CREDIT)
        record_payment(order, None, payment, flag_reason="")
    discount = OrderDiscount.objects.get(order=order, name=AGREED_NAME)
    discount.amount -= exchange.credit
    if discount.amount:
        discount.save(update_fields=["amount"])
    else:
        discount.delete()
    order.total_amount += exchange.credit
    order.save(update_fields=["total_amount", "updated_at"])
    exchange.agreed += exchange.credit
    exchange.exchanged_at = timezone.now()
    exchange.save(update_fields=["agreed", "exchanged_at"])


def credit_reference(order: Order) -> str:
    """The id of the payment of this order with what was paid for a line of another one."""
    return f"cambio_{order.idempotency_id.hex}"


def rest_batch(order: Order) -> str:
    """The batch of the refund of what this order did not need of the credit."""
    return f"{order.idempotency_id.hex}-resto"


def _write_refunds(
    exchange: StaffOrder, line: OrderLine, order: Order, *, back_cents: int, reason: str
) -> None:
    """Refund the line: what goes back to the buyer, as requested, and what pays the new order."""
    source = line.order
    credit = to_cents(exchange.credit)
    parts = split_over_payments(source, _refund_of(line, credit + back_cents, reason))
    ends = ends_order(source, balance_of(source).less(credit + back_cents))
    batch = order.idempotency_id.hex
    for payment, cents in parts:
        back = min(back_cents, cents)
        back_cents -= back
        common = {
            "payment": payment, "reason": reason[:300], "ends_order": ends,
            "actor": exchange.actor,
        }  # fmt: skip
        if back:
            rest = Refund.objects.create(
                **common, batch=rest_batch(order), amount=to_euros(back), user=exchange.user
            )
            rest.lines.set([line])
        if cents > back:
            # Without the clerk's account: it is no money that they give back.
            refund = Refund.objects.create(
                **common, batch=batch, amount=to_euros(cents - back), credited_to=order,
                status=RefundStatus.CREDITED, settled_at=timezone.now(),
            )  # fmt: skip
            refund.reference = f"cambio_{refund.key_id.hex}"
            refund.save(update_fields=["reference"])
            refund.lines.set([line])
        count_refunded(payment)
    apply_refund_effects(source, batch)
