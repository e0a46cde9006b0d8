"""The exchange of a bought course for another, as staff ask for it.

The rules are in docs/rules.md, "Exchanges".
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction

from apps.core.money import format_euros
from apps.orders.by_staff.create import (
    USED_FORM,
    OrderRefused,
    OrderRequest,
    PricedRequest,
    create_order,
    price_request,
)
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Order, OrderLine, StaffOrder
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.offer.cart import CheckoutItem
from apps.orders.refunds.exchanges import exchangeable_cents, gives_away_credit
from apps.orders.refunds.request import check_daily_limit
from apps.pricing.payment_type import PaymentType


@dataclass(frozen=True)
class ExchangeRequest:
    """An exchange as staff have typed it. `form_key` names one submitted form."""

    line: OrderLine
    item: CheckoutItem
    paid_by: str
    discount_cents: int
    reason: str
    form_key: UUID


@dataclass(frozen=True)
class PricedExchange:
    """What an exchange costs now, in cents.

    `left` was paid for the line, `price` is that of the new order, `credit` the part of `left` that
    pays it. The buyer pays `due`, or gets `back` what the new order does not need. `gives_credit`
    means that the credit counts as a discount.
    """

    left: int
    price: int
    priced: PricedRequest
    gives_credit: bool

    @property
    def credit(self) -> int:
        return min(self.left, self.price)

    @property
    def due(self) -> int:
        return self.price - self.credit

    @property
    def back(self) -> int:
        return self.left - self.credit


def price_exchange(request: ExchangeRequest) -> PricedExchange:
    """Price and check an exchange; nothing is written. Raises OrderRefused and Unavailable."""
    return _priced(request)[1]


def _priced(request: ExchangeRequest) -> tuple[OrderRequest, PricedExchange]:
    """The new order, with what was paid for the line taken off, and its price."""
    line = request.line
    left = exchangeable_cents(line)
    waiting = StaffOrder.objects.waiting_exchanges(line.order).first()
    if waiting is not None:
        raise OrderRefused(f"Este pedido ya espera un cambio: el pedido {waiting.order_id}.")
    whole = _order_request(request)
    priced = price_request(whole)
    price = priced.agreed.total_cents
    if (line.key,) == tuple(new.key for new in priced.today.lines):
        raise OrderRefused("Es lo mismo que ya tiene. Elige otra cosa.")
    if not price:
        raise OrderRefused("Eso no cuesta nada: devuelve el dinero en lugar de cambiarlo.")
    if request.discount_cents and price < left:
        most = max(0, priced.today.total_cents - left)
        raise OrderRefused(
            f"Se puede rebajar, como mucho, la diferencia que hay que pagar: {format_euros(most)}."
        )
    exchange = PricedExchange(left, price, priced, gives_away_credit(line))
    if request.paid_by == StaffOrder.PaidBy.LINK and 0 < exchange.due < CARD_MINIMUM_CENTS:
        raise OrderRefused(
            f"Quedan por pagar {format_euros(exchange.due)}, y menos de "
            f"{format_euros(CARD_MINIMUM_CENTS)} no se cobran con tarjeta: rebaja la diferencia o "
            "pide una transferencia."
        )
    wanted = replace(
        whole,
        credit_cents=exchange.credit,
        exchanged_line=line,
        gives_credit=exchange.gives_credit,
    )
    return wanted, exchange


def _order_request(request: ExchangeRequest) -> OrderRequest:
    order = request.line.order
    if order.student.erased_at is not None:
        raise OrderRefused("Los datos de este alumno están borrados.")
    return OrderRequest(
        email=order.email,
        phone=order.phone,
        first_name=order.first_name,
        last_name=order.last_name,
        items=(request.item,),
        payment_type=PaymentType.FULL,
        paid_by=request.paid_by,
        discount_cents=request.discount_cents,
        reason=request.reason,
        form_key=request.form_key,
    )


@transaction.atomic
def exchange_line(
    request: ExchangeRequest,
    *,
    seen: tuple[int, int],
    user: Any,
    check: Callable[[PricedExchange], None] = lambda _: None,
) -> Order:
    """Exchange a line for a new order. A repeated form returns the same order.

    If nothing is left to pay, this carries the exchange out; otherwise its buyer is mailed how to
    pay, and the payment does. If it gives away more than the clerk may, it waits for approval.
    `seen` has the two amounts that the clerk has confirmed: what was paid for the line, and the new
    price. The clerk's row is locked first, then the order of the line, as for a refund. `check`
    gets the exchange as it is priced under these locks, and raises an error of its own. Raises
    OrderRefused, RefundRefused, also above the clerk's daily limit, and Unavailable.
    """
    made = _made_by(request)
    if made is not None:
        return made
    user = get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    request.line.order = locked_order(request.line.order_id)
    # A concurrent request with the same form may have made it while this one waited.
    made = _made_by(request)
    if made is not None:
        return made
    wanted, exchange = _priced(request)
    check(exchange)
    if (exchange.left, exchange.price) != seen:
        raise OrderRefused(
            f"Ha cambiado mientras tanto: se pagaron {format_euros(exchange.left)} y ahora cuesta "
            f"{format_euros(exchange.price)}. Revísalo."
        )
    if exchange.back:
        check_daily_limit(user, exchange.back)
    return create_order(wanted, seen_cents=exchange.due, user=user)


def _made_by(request: ExchangeRequest) -> Order | None:
    """The order that this form has made. Raises OrderRefused if its key is another order's."""
    of_form = Order.objects.with_key(request.form_key)
    made = of_form.filter(by_staff__exchanged_line=request.line).first()
    if made is None and of_form.exists():
        raise OrderRefused(USED_FORM)
    return made
