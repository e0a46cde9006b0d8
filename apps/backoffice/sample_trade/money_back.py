"""Refunds and disputes of sample orders."""

from datetime import datetime, timedelta
from uuid import UUID

from apps.backoffice.sample_trade.names import REFUND_REASONS
from apps.backoffice.sample_trade.shop import Sale, Shop
from apps.classroom.access import Cause
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders.models import Dispute, Order, Payment, Refund
from apps.orders.models.statuses import DisputeStatus, EventKind

# The bank takes weeks to decide.
DECIDED_AFTER = timedelta(days=40)


def refund_all(shop: Shop, sale: Sale, moment: datetime) -> None:
    cents = sum(to_cents(payment.amount) for payment in sale.payments)
    reason = _announce(shop, sale, moment, cents)
    batch = _batch(shop)
    for payment in sale.payments:
        _refund(shop, sale, payment, to_cents(payment.amount), moment, reason, batch, ends=True)
    sale.withdrawn = list(sale.items)
    text = f"Devueltos {format_euros(cents)}: {reason}"
    shop.note(sale, moment, EventKind.REFUNDED, text, actor=_clerk(shop), to=Order.Status.REFUNDED)


def refund_line(shop: Shop, sale: Sale, moment: datetime) -> None:
    """Refund the last line of a paid order, with its share of the discounts."""
    line, payment = sale.lines[-1], sale.payments[0]
    listed = sum(to_cents(row.list_price) for row in sale.lines)
    cents = to_cents(payment.amount) * to_cents(line.list_price) // listed
    reason = _announce(shop, sale, moment, cents)
    refund = _refund(shop, sale, payment, cents, moment, reason, _batch(shop))
    shop.rows.add(Refund.lines.through(refund=refund, orderline=line))
    sale.withdrawn = sale.items[-1:]
    text = f"Devueltos {format_euros(cents)}: {reason}"
    status = Order.Status.PARTIALLY_REFUNDED
    shop.note(sale, moment, EventKind.REFUNDED, text, actor=_clerk(shop), to=status)


def refund_payment(shop: Shop, sale: Sale, payment: Payment, moment: datetime, reason: str) -> None:
    """Refund one payment whole, without any effect on the order."""
    cents = to_cents(payment.amount)
    _refund(shop, sale, payment, cents, moment, reason, _batch(shop))
    text = f"Devueltos {format_euros(cents)}: {reason}"
    shop.note(sale, moment, EventKind.REFUNDED, text, actor=_clerk(shop))


def dispute(shop: Shop, sale: Sale, moment: datetime, status: DisputeStatus) -> None:
    payment, order = sale.payments[0], sale.order
    closed_at = moment + DECIDED_AFTER
    row = shop.rows.add(
        Dispute(
            payment=payment,
            reference=shop.reference("dp"),
            amount=payment.amount,
            reason="El titular no reconoce el cargo",
            status=status,
            opened_at=moment,
            withdrawn_at=moment,
            closed_at=None if status == Dispute.Status.OPEN else closed_at,
        )
    )
    name = f"{format_euros(to_cents(payment.amount))} del pago {payment.reference}"
    text = f"{name} en disputa ({row.reason}): el acceso queda en pausa y no se cobran plazos"
    shop.note(sale, moment, EventKind.DISPUTE_OPENED, f"{text} ({row.reference})")
    if status == Dispute.Status.WON:
        text = f"Disputa ganada: {name}. El acceso vuelve ({row.reference})"
        shop.note(sale, closed_at, EventKind.DISPUTE_WON, text)
        return
    order.disputed_at = moment
    sale.paused_for = [Cause.DISPUTE]
    if status == Dispute.Status.LOST:
        text = f"Disputa perdida: {name}. El acceso se retira y no se cobra nada más"
        shop.note(sale, closed_at, EventKind.DISPUTE_LOST, f"{text} ({row.reference})")
        sale.withdrawn = list(sale.items)


def _refund(
    shop: Shop,
    sale: Sale,
    payment: Payment,
    cents: int,
    moment: datetime,
    reason: str,
    batch: str,
    *,
    ends: bool = False,
) -> Refund:
    payment.refunded = to_euros(cents)
    refund = Refund(
        payment=payment,
        key_id=UUID(int=shop.rng.getrandbits(128), version=4),
        batch=batch,
        amount=to_euros(cents),
        reason=reason,
        ends_order=ends,
        user=shop.user,
        actor=_clerk(shop),
        status=Refund.Status.SUCCEEDED,
        reference=shop.reference("re"),
        created_at=moment,
        settled_at=moment + timedelta(seconds=5),
    )
    sale.refunds.append(refund)
    return shop.rows.add(refund)


def _announce(shop: Shop, sale: Sale, moment: datetime, cents: int) -> str:
    reason = shop.rng.choice(REFUND_REASONS)
    text = f"Devolución de {format_euros(cents)} pedida: {reason}"
    shop.note(sale, moment, EventKind.REFUND_REQUESTED, text, actor=_clerk(shop))
    return reason


def _batch(shop: Shop) -> str:
    return f"{shop.rng.getrandbits(128):032x}"


def _clerk(shop: Shop) -> str:
    return str(shop.user.get_username())
