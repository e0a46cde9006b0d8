"""Orders that staff make for a buyer, at prices that the server computes."""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import transaction

from apps.core.errors import Invalid
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_euros
from apps.orders.checkout.already_bought import LineToBuy, lines_bought_before
from apps.orders.checkout.cart import CartLine, CheckoutItem, resolve
from apps.orders.checkout.place import INSTALMENT_REFUSALS
from apps.orders.checkout.request import Checkout
from apps.orders.checkout.write import OrderMadeMeanwhile, PricedCheckout, write_order
from apps.orders.ledger.history import note
from apps.orders.models import Order, StaffOrder
from apps.orders.models.statuses import EventKind
from apps.pricing.payment_type import PaymentType
from apps.pricing.reads import campaign_today
from apps.pricing.rules import CartQuote, instalments_refusal, quote_cart
from apps.students.models import Student


class OrderRefused(Invalid):
    """The order is not possible. The message gives the reason in Spanish."""


@dataclass(frozen=True)
class OrderRequest:
    """An order as staff have typed it. `form_key` names one submitted form."""

    email: str
    phone: str
    first_name: str
    last_name: str
    items: tuple[CheckoutItem, ...]
    payment_type: PaymentType
    paid_by: str
    discount_cents: int
    reason: str
    form_key: UUID


@dataclass(frozen=True)
class PricedRequest:
    """A request with its lines, today's price, and the price that staff agree."""

    lines: list[CartLine]
    today: CartQuote
    agreed: CartQuote
    bought_before: list[str]


def price_request(request: OrderRequest) -> PricedRequest:
    """Price and check a request; nothing is written. Raises OrderRefused and Unavailable."""
    by_transfer = request.paid_by == StaffOrder.PaidBy.TRANSFER
    if by_transfer and not settings.TRANSFER_IBAN:
        raise OrderRefused("No hay cuenta para recibir transferencias: falta TRANSFER_IBAN.")
    if by_transfer and request.payment_type == PaymentType.INSTALMENTS:
        raise OrderRefused("A plazos se paga con tarjeta: elige el enlace de pago.")
    if request.discount_cents and not request.reason.strip():
        raise OrderRefused("Un descuento necesita su motivo.")
    lines = resolve(request.items)
    items = [line.item for line in lines]
    campaign = campaign_today()
    today = quote_cart(items, payment_type=request.payment_type, campaign=campaign)
    total = today.total_cents - request.discount_cents
    if total < 0 or (by_transfer and total == 0):
        raise OrderRefused(
            f"El descuento es mayor que el total: {format_euros(today.total_cents)}."
        )
    if request.payment_type == PaymentType.INSTALMENTS:
        refusal = instalments_refusal(items, total)
        if refusal:
            raise OrderRefused(INSTALMENT_REFUSALS[refusal])
    agreed = quote_cart(
        items, payment_type=request.payment_type, campaign=campaign, binding_cents=total
    )
    return PricedRequest(lines, today, agreed, _bought_before(request.email, lines))


def _bought_before(email: str, lines: list[CartLine]) -> list[str]:
    student = Student.objects.with_email(email)
    if student is None:
        return []
    to_buy = [
        LineToBuy(line.subject.pk, line.lesson.pk if line.lesson else None, line.name)
        for line in lines
    ]
    return [row.name for row in lines_bought_before(to_buy, student_id=student.pk)]


@transaction.atomic
def create_order(request: OrderRequest, *, seen_cents: int, actor: str) -> Order:
    """Create the order and mail its buyer how to pay. A repeated form returns the same order.

    `seen_cents` is the total that the clerk has confirmed. Raises OrderRefused and Unavailable.
    """
    made = Order.objects.with_key(request.form_key).first()
    if made is not None:
        return made
    priced = price_request(request)
    total = priced.agreed.total_cents
    if total != seen_cents:
        raise OrderRefused(f"El precio ha cambiado: ahora son {format_euros(total)}. Revísalo.")
    checkout = Checkout(
        email=request.email,
        phone=request.phone,
        first_name=request.first_name,
        last_name=request.last_name,
        payment_type=request.payment_type,
        items=request.items,
        expected_total_cents=total,
        order_key=request.form_key,
    )
    try:
        with transaction.atomic():
            order = write_order(
                None,
                PricedCheckout(checkout, priced.lines, priced.agreed, None, None, actor=actor),
            )
    except OrderMadeMeanwhile:
        return Order.objects.with_key(request.form_key).get()
    row = StaffOrder.objects.create(
        order=order,
        paid_by=request.paid_by,
        discount=to_euros(request.discount_cents),
        agreed=to_euros(total),
        reason=request.reason.strip(),
        actor=actor,
    )
    note(order, kind=EventKind.MADE_BY_STAFF, actor=actor, reason=_agreement(row, request))
    queue_mail(
        key=f"order-to-pay:{order.pk}",
        template="order_to_pay",
        to=order.email,
        context={"order_id": order.pk},
    )
    return order


def _agreement(row: StaffOrder, request: OrderRequest) -> str:
    how = f"Se paga con: {row.get_paid_by_display().lower()}"
    if not request.discount_cents:
        return how
    return f"{how}. Descuento de {format_euros(request.discount_cents)}: {row.reason}"
