"""Makes an order again from its payment: after a restored backup the money is there, the order is
not. The rules are in docs/rules.md, "Money audit".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils.timezone import localtime

from apps.core.money import format_euros, to_euros
from apps.core.staff.limits import give_discount
from apps.orders.by_staff.create import OrderRefused
from apps.orders.checkout.request import Checkout
from apps.orders.checkout.write import PricedCheckout, write_order
from apps.orders.gifts.details import GiftDetails
from apps.orders.ledger.history import note
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, Payment, StaffOrder
from apps.orders.models.statuses import EventKind, PaymentKind
from apps.orders.offer.cart import CartLine
from apps.orders.offer.offer import Asked, Facts, Offer, make_offer
from apps.orders.plan.schedule import first_payment_cents
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.instalments import InstalmentPlan
from apps.pricing.payment_type import PaymentType
from apps.pricing.reads import campaigns_today, current_terms


@dataclass(frozen=True)
class LostOrder:
    """An order as its payment at the provider and staff describe it. Money in cents.

    `lines` have the prices that they were sold at. `gift_on` is the day of a gift, whose recipient
    staff have to type.

    `plan` is None unless it is paid in instalments; then `paid_cents` is its first instalment.
    """

    reference: str
    customer: str
    payment_method: str
    paid_cents: int
    paid_at: datetime
    email: str
    phone: str
    first_name: str
    last_name: str
    lines: Sequence[CartLine]
    total_cents: int
    plan: InstalmentPlan | None = None
    gift_on: date | None = None
    # Whether the lines are those that the payment at the provider names.
    is_as_paid: bool = False

    @property
    def payment_type(self) -> PaymentType:
        return PaymentType.INSTALMENTS if self.plan else PaymentType.FULL


def price_lost_order(lost: LostOrder) -> Offer:
    """The order's offer, at exactly what was paid or agreed. Raises OrderRefused."""
    if not lost.lines:
        raise OrderRefused("Elige al menos una asignatura o una lección.")
    sum_cents = sum(line.price_cents for line in lost.lines)
    if lost.total_cents > sum_cents:
        raise OrderRefused(
            f"Se cobraron {format_euros(lost.total_cents)} y lo elegido cuesta "
            f"{format_euros(sum_cents)}. Falta algo del pedido."
        )
    first = lost.plan.split(lost.total_cents)[0] if lost.plan else lost.total_cents
    if first != lost.paid_cents:
        raise OrderRefused(
            f"El primer pago sería de {format_euros(first)} y se cobraron "
            f"{format_euros(lost.paid_cents)}."
        )
    asked = Asked(payment_type=lost.payment_type, agreed_cents=lost.total_cents)
    terms = current_terms()
    if lost.plan is not None:
        count, days = lost.plan.count, lost.plan.every_days
        terms = replace(terms, instalment_count=count, instalment_every_days=days)
    return make_offer(asked, Facts(lost.lines, terms))


@transaction.atomic
def recreate_order(lost: LostOrder, *, user: Any) -> Order:
    """Create the order of a stored payment that has none, and mark it as paid by that payment.

    The payment's row is locked, so each payment makes one order: a repetition returns the same
    order. Raises OrderRefused if the payment is not stored as one without an order, and OverLimit
    if the lines that staff have chosen cost more than was paid, by more than they may give away.
    """
    actor = user.get_username()
    get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    # Without a join, as in `locked_order`: a second click waits until the payment has its order.
    rows = Payment.objects.select_for_update(no_key=True)
    payment = rows.filter(reference=lost.reference).first()
    if payment is None:
        raise OrderRefused("Este cobro no consta en la tienda.")
    if payment.order is not None:
        return payment.order
    if not payment.flag:
        raise OrderRefused("Este cobro ya se dio por atendido.")
    gift = GiftDetails("", "", lost.gift_on) if lost.gift_on else None
    offer = price_lost_order(lost)
    given_cents = 0 if lost.is_as_paid else _price_today(lost) - lost.total_cents
    give_discount(
        user,
        full_cents=lost.total_cents + given_cents,
        discount_cents=given_cents,
        what=f"Cobro {lost.reference}",
    )
    order = write_order(None, PricedCheckout(_checkout(lost), offer, actor, gift))
    order.customer_reference = lost.customer
    order.save()
    if first_payment_cents(order) != lost.paid_cents:
        raise OrderRefused("El importe cobrado no es el primer pago del pedido.")
    _note_origin(order, lost, payment, user, max(0, given_cents))
    # From here on it is like any payment of an order that has just succeeded.
    payment.order, payment.status, payment.flag = order, Payment.Status.OPEN, ""
    payment.save()
    return mark_paid(
        order_id=order.pk,
        payment=ConfirmedPayment(
            lost.reference,
            lost.paid_cents,
            payment_method=lost.payment_method,
            session=payment.session,
            kind=PaymentKind(payment.kind),
            succeeded_at=lost.paid_at,
        ),
        actor=actor,
    )


def _checkout(lost: LostOrder) -> Checkout:
    return Checkout(
        email=lost.email,
        phone=lost.phone,
        first_name=lost.first_name,
        last_name=lost.last_name,
        payment_type=lost.payment_type,
        items=(),
        expected_total_cents=lost.total_cents,
    )


def _price_today(lost: LostOrder) -> int:
    """What the lines cost on today's terms, with all discounts that anybody gets."""
    asked = Asked(payment_type=lost.payment_type)
    return make_offer(asked, Facts(lost.lines, current_terms(), campaigns_today())).total_cents


def _note_origin(
    order: Order, lost: LostOrder, payment: Payment, user: Any, discount_cents: int
) -> None:
    moment = f"{localtime(lost.paid_at):%d/%m/%Y %H:%M}"
    reason = f"Creado de nuevo con el cobro {lost.reference} del {moment}. {payment.flag}"
    StaffOrder.objects.create(
        order=order,
        paid_by=StaffOrder.PaidBy.LINK,
        discount=to_euros(discount_cents),
        agreed=to_euros(lost.total_cents),
        reason=reason[:300],
        user=user,
        actor=user.get_username(),
    )
    note(order, kind=EventKind.MADE_BY_STAFF, actor=user.get_username(), reason=reason)


def adopt_payment(reference: str, order: Order) -> bool:
    """Give a stored payment without an order to the order, as one that is still open.

    The caller then reports it again, which records it. False if there is no such payment.
    """
    rows = Payment.objects.filter(reference=reference, order=None).exclude(flag="")
    return bool(rows.update(order=order, status=Payment.Status.OPEN, flag=""))
