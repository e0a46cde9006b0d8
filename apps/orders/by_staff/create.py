"""Orders that staff make for a buyer, at prices that the server computes."""

from dataclasses import dataclass, replace
from uuid import UUID

from django.conf import settings
from django.db import transaction

from apps.core.errors import Invalid
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_euros
from apps.orders.checkout.request import Checkout
from apps.orders.checkout.write import OrderMadeMeanwhile, PricedCheckout, write_order
from apps.orders.errors import InstalmentsUnavailable, Unavailable
from apps.orders.ledger.history import note
from apps.orders.models import Order, StaffOrder
from apps.orders.models.statuses import EventKind
from apps.orders.offer.cart import CheckoutItem
from apps.orders.offer.offer import Asked, Offer, look_up, make_offer
from apps.pricing.payment_type import PaymentType
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
    """A request with the offer of today, the one that staff agree, and what was bought before."""

    today: Offer
    agreed: Offer
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
    student = Student.objects.with_email(request.email)
    asked = Asked(
        items=request.items,
        payment_type=request.payment_type,
        student_id=student.pk if student else None,
    )
    facts = look_up(asked)
    today = make_offer(asked, facts)
    if unavailable := today.refusal(Unavailable):
        raise unavailable
    total = today.total_cents - request.discount_cents
    if total < 0 or (by_transfer and total == 0):
        raise OrderRefused(
            f"El descuento es mayor que el total: {format_euros(today.total_cents)}."
        )
    agreed = make_offer(replace(asked, agreed_cents=total), facts)
    if refusal := agreed.refusal(InstalmentsUnavailable):
        raise OrderRefused(refusal.message)
    return PricedRequest(today, agreed, [row.name for row in facts.bought_before])


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
            order = write_order(None, PricedCheckout(checkout, priced.agreed, actor=actor))
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
