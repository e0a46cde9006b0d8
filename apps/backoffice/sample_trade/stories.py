"""The fate of each sample order: paid, left, refused, refunded or disputed."""

from datetime import timedelta

from apps.backoffice.sample_trade.money_back import dispute, refund_all, refund_line, refund_payment
from apps.backoffice.sample_trade.paying import attend, earn_reward, pay_first, pay_twice
from apps.backoffice.sample_trade.plans import pay_plan
from apps.backoffice.sample_trade.shop import Case, Sale, Shop
from apps.orders.models import CART_LIFE, Dispute, Order
from apps.orders.models.statuses import EventKind

# One in so many orders has this story.
LEFT_EVERY, DECLINED_EVERY = 7, 9
REFUNDED_EVERY, PARTLY_EVERY, TWICE_EVERY = 19, 23, 131
# Staff have attended to older flags.
UNATTENDED_FOR = timedelta(days=75)


DISPUTED_AFTER = timedelta(days=3)
DISPUTES = {
    Case.LOST_DISPUTE: Dispute.Status.LOST,
    Case.WON_DISPUTE: Dispute.Status.WON,
    Case.OPEN_DISPUTE: Dispute.Status.OPEN,
}


def play(shop: Shop, sale: Sale, *, case: Case | None) -> None:
    """Play the story of the order's case, or else of its place in the year."""
    number = len(shop.sales) + 1
    is_declined = number % DECLINED_EVERY == 0
    if is_declined:
        reason = "Tarjeta rechazada: sin saldo suficiente"
        moment = shop.later(sale.at, most=timedelta(seconds=90))
        shop.note(sale, moment, EventKind.CARD_REFUSED, reason)
    if case is None and number % LEFT_EVERY == 0:
        _leave(shop, sale)
        return
    order = sale.order
    paid_at = shop.later(sale.at + timedelta(minutes=1), most=timedelta(minutes=8))
    if order.in_instalments:
        pay_plan(shop, sale, paid_at, number)
    else:
        pay_first(shop, sale, paid_at, order.total_cents)
        if case in DISPUTES:
            dispute(shop, sale, paid_at + DISPUTED_AFTER, DISPUTES[case])
        elif case is None and order.total_cents:
            _after_sale(shop, sale, number)
    earn_reward(shop, sale)


def _leave(shop: Shop, sale: Sale) -> None:
    """A cart that nobody paid. After 30 days it has expired."""
    ended_at = sale.at + CART_LIFE
    if ended_at < shop.now:
        reason = "Carrito sin pagar durante 30 días"
        shop.note(
            sale, ended_at, EventKind.EXPIRED, reason, actor="sistema", to=Order.Status.EXPIRED
        )


def _after_sale(shop: Shop, sale: Sale, number: int) -> None:
    paid_at = sale.order.paid_at or sale.at
    days = 2 + number % 12
    moment = paid_at + timedelta(days=days, hours=number % 5)
    if moment > shop.now:
        return
    if number % TWICE_EVERY == 0:
        extra = pay_twice(shop, sale, paid_at + timedelta(minutes=3))
        if moment < shop.now - UNATTENDED_FOR:
            refund_payment(shop, sale, extra, moment, "Pago repetido")
            attend(shop, sale, moment)
    elif number % REFUNDED_EVERY == 0:
        refund_all(shop, sale, moment)
    elif number % PARTLY_EVERY == 0 and len(sale.lines) > 1:
        refund_line(shop, sale, moment)
