"""Orders that staff make for a buyer, at prices that the server computes."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q

from apps.core.errors import Invalid, TooManyRequests
from apps.core.mail.outbox import queue_mail
from apps.core.models import Mail
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff.limits import OverLimit, give_discount
from apps.core.web.throttle import Limit
from apps.orders.checkout.request import Checkout
from apps.orders.checkout.write import OrderMadeMeanwhile, PricedCheckout, write_order
from apps.orders.errors import InstalmentsUnavailable, Unavailable
from apps.orders.ledger.history import note
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, OrderLine, StaffOrder
from apps.orders.models.statuses import EventKind, OrderStatus, PaymentKind
from apps.orders.offer.cart import CheckoutItem
from apps.orders.offer.offer import Asked, Offer, look_up, make_offer
from apps.orders.refunds.exchanges import credit_reference, locked_exchange, problem_of
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.payment_type import PaymentType
from apps.students.models import Student

# Open orders that staff have made for one student, and orders of one member of staff in a day.
MOST_OPEN = 50
ORDERS_A_DAY = Limit("staff-orders", times=200, seconds=86_400)
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
    _check_number(request, user)
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
    is_within = is_within_limits(order, priced, request.given_cents, user=user)
    row = StaffOrder.objects.create(
        order=order,
        paid_by=request.paid_by,
        discount=to_euros(request.discount_cents),
        agreed=to_euros(total),
        reason=request.reason.strip(),
        user=user,
        actor=actor,
        awaits_approval=not is_within,
        counted=to_euros(request.given_cents if is_within else 0),
        exchanged_line=request.exchanged_line,
        credit=to_euros(request.credit_cents),
    )
    note(order, kind=EventKind.MADE_BY_STAFF, actor=actor, reason=_agreement(row, request))
    if not row.awaits_approval:
        have_paid(order, row)
    return order


def _check_number(request: OrderRequest, user: Any) -> None:
    """Count an order of this clerk. Raises OrderRefused.

    A change of a student's address moves all orders of the student. What buyers have chosen to pay
    by a transfer does not count: anybody may have typed the address.
    """
    by_staff = StaffOrder.objects.filter(by_buyer=False, canceled_at=None, exchanged_line=None)
    student = Student.objects.with_email(request.email)
    waiting = by_staff.filter(order__student=student, order__status=OrderStatus.CART)
    if request.exchanged_line is None and waiting.count() >= MOST_OPEN:
        raise OrderRefused(
            f"Para este correo hay ya {MOST_OPEN} pedidos abiertos: usa uno de ellos."
        )
    try:
        ORDERS_A_DAY.count_key(str(user.pk))
    except TooManyRequests as refusal:
        raise OrderRefused(refusal.message) from refusal


def have_paid(order: Order, row: StaffOrder, *, again: str = "") -> None:
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


def is_within_limits(
    order: Order, priced: PricedRequest, given_cents: int, *, user: Any, counted_cents: int = 0
) -> bool:
    """Whether the clerk may give this away alone. If so, it counts towards their day.

    `counted_cents` of it have counted before, when the order was made or edited.
    """
    try:
        give_discount(
            user,
            full_cents=priced.today.total_cents,
            discount_cents=given_cents,
            what=str(order),
            counted_cents=counted_cents,
        )
    except OverLimit:
        return False
    return True


def mail_buyer(order: Order, *, again: str = "") -> None:
    """Queue the mail that says how to pay the order. `again` names the occasion of a repetition.

    A repetition says that it replaces the mails to the same address before. The caller holds the
    order's lock.
    """
    key = f"order-to-pay:{order.pk}"
    is_repeated = bool(again) and was_mailed(order)
    earlier = Mail.objects.filter(Q(key=key) | Q(key__startswith=f"{key}:"))
    replaces = is_repeated and earlier.filter(to__iexact=order.email).exists()
    queue_mail(
        key=f"{key}{again}" if is_repeated else key,
        template="order_to_pay",
        to=order.email,
        context={"order_id": order.pk, **({"replaces": True} if replaces else {})},
    )


def was_mailed(order: Order) -> bool:
    """Whether the buyer was told how to pay the order: with what was agreed then."""
    return Mail.objects.filter(key=f"order-to-pay:{order.pk}").exists()


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
