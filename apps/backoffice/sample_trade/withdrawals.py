"""Two sample cases of withdrawal: one waits for staff, one was refunded."""

from datetime import datetime, timedelta

from apps.backoffice.sample_trade.shop import Sale, Shop
from apps.leads.models import Withdrawal
from apps.orders.models import Order

DETAILS = "He cambiado de universidad y no voy a cursar estas asignaturas."


def write_withdrawals(shop: Shop) -> None:
    """Add the cases of a recent paid order and of the latest order that was refunded whole."""
    moment = shop.now - timedelta(days=5, hours=2)
    paid = [
        sale
        for sale in shop.sales
        if sale.order.status == Order.Status.PAID
        and sale.order.paid_at is not None
        and sale.order.paid_at < moment
    ]
    _write(shop, paid[-1], moment)
    refunded = [sale for sale in shop.sales if sale.order.status == Order.Status.REFUNDED]
    if refunded:
        latest = refunded[-1]
        refunded_at = latest.refunds[-1].created_at
        case = _write(shop, latest, refunded_at - timedelta(days=2))
        case.status, case.resolved_at = Withdrawal.Status.REFUNDED, refunded_at
    shop.rows.insert(Withdrawal)


def _write(shop: Shop, sale: Sale, at: datetime) -> Withdrawal:
    order = sale.order
    number = str(order.pk)
    return shop.rows.add(
        Withdrawal(
            name=f"{order.first_name} {order.last_name}".strip() or "Sin nombre",
            email=order.email,
            email_identity=order.email_identity,
            order_number=number,
            contract_key=number,
            details=DETAILS,
            order=order,
            from_buyer=True,
            acknowledged=True,
            received_at=at,
        )
    )
