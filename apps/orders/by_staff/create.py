"""Orders that staff make for a buyer, at prices that the server computes."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from apps.core.errors import Invalid
from apps.core.identity import email_identity
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff.limits import OverLimit, give_discount
from apps.orders.checkout.request import Checkout
from apps.orders.checkout.write import OrderMadeMeanwhile, PricedCheckout, write_order
from apps.orders.errors import InstalmentsUnavailable, Unavailable
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, OrderLine, StaffOrder
from apps.orders.models.statuses import EventKind, PaymentKind
from apps.orders.offer.cart import CheckoutItem
from apps.orders.offer.offer import Asked, Offer, look_up, make_offer
from apps.orders.refunds.exchanges import credit_reference, locked_exchange, problem_of
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.payment_type import PaymentType
from apps.students.models import Student

USED_FORM = "Este formulario ya se ha usado para otro pedido. Ábrelo de nuevo."


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
    # The line that is exchanged for the order, and how much of what was paid for it pays this one.
    exchanged_line: OrderLine | None = None
    credit_cents: int = 0
    # Whether that counts as a discount, too (`refunds.exchanges.gives_away_credit`).
    gives_credit: bool = False

    @property
    def given_cents(self) -> int:
        """What counts towards the clerk's limit of discounts."""
        return self.discount_cents + (self.credit_cents if self.gives_credit else 0)


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
    total = today.total_cents - request.discount_cents - request.credit_cents
    if total < 0 or (by_transfer and total == 0 and not request.credit_cents):
        raise OrderRefused(
            f"El descuento es mayor que el total: {format_euros(today.total_cents)}."
        )
    agreed = make_offer(replace(asked, agreed_cents=total), facts)
    if refusal := agreed.refusal(InstalmentsUnavailable):
        raise OrderRefused(refusal.message)
    return PricedRequest(today, agreed, [row.name for row in facts.bought_before])


@transaction.atomic
def create_order(request: OrderRequest, *, seen_cents: int, user: Any) -> Order:
    """Create the order and mail its buyer how to pay. A repeated form returns the same order.

    `seen_cents` is the total that the clerk has confirmed. If the order gives away more than the
    clerk may, it waits for approval, and its buyer gets no mail yet. Raises OrderRefused and
    Unavailable.
    """
    actor = user.get_username()
    get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    of_form = Order.objects.with_key(request.form_key)
    made = of_form.filter(by_staff__isnull=False).first()
    if made is not None:
        return made
    if of_form.exists():
        raise OrderRefused(USED_FORM)
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
        # The clerk's row is locked, so no form of theirs has made it.
        raise OrderRefused(USED_FORM) from None
    row = StaffOrder.objects.create(
        order=order,
        paid_by=request.paid_by,
        discount=to_euros(request.discount_cents),
        agreed=to_euros(total),
        reason=request.reason.strip(),
        user=user,
        actor=actor,
        awaits_approval=not _is_within_limits(order, priced, request.given_cents, user),
        exchanged_line=request.exchanged_line,
        credit=to_euros(request.credit_cents),
    )
    note(order, kind=EventKind.MADE_BY_STAFF, actor=actor, reason=_agreement(row, request))
    if not row.awaits_approval:
        _have_paid(order, row)
    return order


def _have_paid(order: Order, row: StaffOrder, *, again: str = "") -> None:
    """Mail the buyer how to pay. An order that needs no more money is paid with its credit.

    Raises OrderRefused if the credit is gone.
    """
    if order.total_cents or not row.credit:
        mail_buyer(order, again=again)
        return
    exchange = locked_exchange(order)
    if exchange is not None and (problem := problem_of(exchange)):
        raise OrderRefused(problem)
    payment = ConfirmedPayment(
        credit_reference(order), to_cents(row.credit), kind=PaymentKind.CREDIT
    )
    mark_paid(order_id=order.pk, payment=payment, actor=row.actor)
    order.refresh_from_db()


def _is_within_limits(order: Order, priced: PricedRequest, given_cents: int, user: Any) -> bool:
    """Whether the clerk may give this away alone. If so, it counts towards their day."""
    full_cents = priced.today.total_cents
    try:
        give_discount(user, full_cents=full_cents, discount_cents=given_cents, what=str(order))
    except OverLimit:
        return False
    return True


@transaction.atomic
def approve_order(order_id: int, *, user: Any) -> str:
    """Approve what an order gives away, and mail its buyer. Returns a Spanish sentence for staff.

    Neither the clerk who made the order nor its buyer can approve it. Raises OrderRefused.
    """
    order = locked_order(order_id)
    row = StaffOrder.objects.select_for_update(no_key=True).filter(order=order).first()
    if row is None or not row.awaits_approval or not order.is_open:
        raise OrderRefused("Este pedido no espera ninguna aprobación.")
    if not may_approve(row, user):
        raise OrderRefused("Lo has pedido tú, o es para ti: lo tiene que aprobar otra persona.")
    row.awaits_approval, row.approved_by = False, user.get_username()
    row.save(update_fields=["awaits_approval", "approved_by"])
    discount = f"Descuento de {format_euros(to_cents(row.discount))} aprobado"
    reason = discount if row.discount else "Cambio aprobado"
    note(order, kind=EventKind.APPROVED, actor=user.get_username(), reason=reason)
    # After a change of its address an order is approved again, and mailed to that one. Releases
    # before this one noted an approval as MADE_BY_STAFF.
    kinds = (EventKind.MADE_BY_STAFF, EventKind.APPROVED)
    occasion = order.events.filter(kind__in=kinds).count()
    _have_paid(order, row, again=f":{occasion}")
    return f"{reason}. {order.email} recibe un correo."


def may_approve(row: StaffOrder, user: Any) -> bool:
    """Whether the user is neither the clerk who made the order nor its buyer."""
    is_buyer = email_identity(row.order.email) == email_identity(user.email)
    return row.user_id != user.pk and not is_buyer


def mail_buyer(order: Order, *, again: str = "") -> None:
    """Queue the mail that says how to pay the order. `again` names the occasion of a repetition."""
    queue_mail(
        key=f"order-to-pay:{order.pk}{again}",
        template="order_to_pay",
        to=order.email,
        context={"order_id": order.pk},
    )


def _agreement(row: StaffOrder, request: OrderRequest) -> str:
    how = f"Se paga con: {row.get_paid_by_display().lower()}"
    waits = " (espera aprobación)" if row.awaits_approval else ""
    if row.exchanged_line is not None:
        line, credit = row.exchanged_line, format_euros(request.credit_cents)
        how = f"A cambio de «{line}» (pedido {line.order_id}), que paga {credit}. {how}"
        if not request.discount_cents:
            return f"{how}. Motivo: {row.reason}{waits}"
    if not request.discount_cents:
        return how
    return f"{how}. Descuento de {format_euros(request.discount_cents)}{waits}: {row.reason}"
