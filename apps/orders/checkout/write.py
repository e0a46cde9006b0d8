"""Writing a priced checkout into an order."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from apps.core.database import lock_key
from apps.core.money import format_euros, to_euros
from apps.orders.checkout.request import Checkout
from apps.orders.gifts.details import GiftDetails, store_details
from apps.orders.ledger.history import note
from apps.orders.ledger.lines import nets_of
from apps.orders.models import Order, OrderDiscount, OrderLine, order_key_digest
from apps.orders.models.statuses import EventKind
from apps.orders.offer.offer import Offer
from apps.orders.promo import uses as promo_uses
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.students.models import Consent, Student
from apps.students.services import find_or_create_student, update_own_data


class OrderMadeMeanwhile(Exception):
    """A concurrent request of the same page has created the order. The caller takes that one up."""


class BuyerErasedMeanwhile(OrderMadeMeanwhile):
    """The purge has erased the student, who had no order. The next try makes a new one."""


@dataclass(frozen=True)
class PricedCheckout:
    """A checkout with its offer, checked and ready to be stored."""

    checkout: Checkout
    offer: Offer
    # Who places the order, for its history.
    actor: str = "comprador"
    gift: GiftDetails | None = None

    @property
    def promo(self) -> PromoCode | None:
        return self.offer.code.promo if self.offer.code else None

    @property
    def quote_number(self) -> int | None:
        """The number of the quote whose price binds, or None."""
        return self.offer.quote.number if self.offer.quote else None

    def digest(self) -> str:
        """A digest of everything that a payment of this order is for, as 64 hexadecimal digits.

        A changed digest means that the open payment has to be canceled (docs/rules.md, "Open
        payments").
        """
        content = [
            sorted(
                [line.subject_id, line.lesson_id or 0, line.price_cents]
                for line in self.offer.lines
            ),
            [[discount.name, discount.amount_cents] for discount in self.offer.discounts],
            self.offer.total_cents,
            self.checkout.payment_type,
            self.promo.pk if self.promo else 0,
            self.quote_number or 0,
            self.checkout.email.strip().lower(),
            self.checkout.phone,
        ]
        if self.checkout.payment_type == PaymentType.INSTALMENTS:
            plan = self.offer.plan
            content.append([plan.count, plan.every_days])
        if self.gift is not None:
            content.append(self.gift.content)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def promised_reward_cents(self) -> int:
        """What the owner of the order's friend code earns once the order is paid."""
        if self.promo is None or not self.promo.is_referral_code:
            return 0
        return self.offer.terms.reward_cents(self.checkout.payment_type)


def write_order(order: Order | None, priced: PricedCheckout, *, is_noted: bool = False) -> Order:
    """Store a priced checkout as a new order, or as the new content of `order`.

    Creates the student if the address has none. New content gets a new revision, and reserved uses
    of other promo codes are released. The caller holds the order's lock. `is_noted` means that the
    caller adds the entry to the history. Raises OrderMadeMeanwhile and BuyerErasedMeanwhile.
    """
    is_new = order is None
    student = _student_of(priced.checkout)
    if not student.is_new:
        # The purge locks the whole row.
        lock_key(student)
        if not Student.objects.filter(pk=student.pk, erased_at=None).exists():
            raise BuyerErasedMeanwhile
    if order is None:
        order = Order(order_key_digest=order_key_digest(priced.checkout.order_key))
    else:
        order.revision += 1
        promo_uses.release(order, keep=priced.promo)
    if order.student_id not in (None, student.pk):
        order.saved_for_later = False
        # The acceptances of whoever had the cart before stand in the way of the new ones.
        Consent.objects.filter(order_id=order.pk).exclude(student=student).delete()
    order.student = student
    _set_contact_and_terms(order, priced)
    try:
        with transaction.atomic():
            order.save()
    except IntegrityError:
        if is_new and Order.objects.with_key(priced.checkout.order_key).exists():
            raise OrderMadeMeanwhile from None
        raise
    if not is_new:
        order.lines.all().delete()
        order.discounts.all().delete()
    _write_lines(order, priced)
    if priced.gift or not is_new:
        store_details(order, priced.gift)
    if is_noted:
        return order
    lines = len(priced.offer.lines)
    count = "1 línea" if lines == 1 else f"{lines} líneas"
    note(
        order,
        kind=EventKind.CREATED if is_new else EventKind.CHANGED,
        actor=priced.actor,
        reason=f"{'Pedido creado' if is_new else 'Pedido cambiado'}: {count}, "
        f"{format_euros(priced.offer.total_cents)}",
    )
    return order


def _student_of(checkout: Checkout) -> Student:
    """The student with the checkout's address. A signed-in student's own data are updated."""
    student = find_or_create_student(
        email=checkout.email,
        phone=checkout.phone,
        first_name=checkout.first_name,
        last_name=checkout.last_name,
    )
    if student.pk == checkout.signed_in_as:
        update_own_data(
            student,
            phone=checkout.phone,
            first_name=checkout.first_name,
            last_name=checkout.last_name,
        )
    return student


def _set_contact_and_terms(order: Order, priced: PricedCheckout) -> None:
    checkout, plan = priced.checkout, priced.offer.plan
    order.email = checkout.email.strip()
    order.phone = checkout.phone
    order.first_name = checkout.first_name
    order.last_name = checkout.last_name
    order.payment_type = checkout.payment_type
    order.instalment_count, order.instalment_every_days = plan.count, plan.every_days
    order.total_amount = to_euros(priced.offer.total_cents)
    order.promo_code = priced.promo
    order.promised_reward = to_euros(priced.promised_reward_cents)
    order.quote_number = priced.quote_number
    order.content_hash = priced.digest()
    set_wishes(order, checkout)


def set_wishes(order: Order, checkout: Checkout) -> None:
    """Set, without saving, whether the buyer keeps the cart for later and accepts reminders."""
    order.saved_for_later = order.saved_for_later or checkout.save_for_later
    order.reminders_accepted = Consent.Kind.REMINDERS in checkout.accepted


def _write_lines(order: Order, priced: PricedCheckout) -> None:
    """Store the lines and discounts of the order."""
    lines = priced.offer.lines
    nets: Sequence[int | None] = [None] * len(lines)
    if any(line.credit_cents for line in lines):
        nets = nets_of(
            [line.list_price_cents for line in lines],
            [line.credit_cents for line in lines],
            priced.offer.total_cents,
        )
    OrderLine.objects.bulk_create(
        OrderLine(
            order=order,
            subject=line.subject,
            lesson=line.lesson,
            name=line.name,
            subject_name=line.subject.name,
            degree_name=line.subject.degree.name,
            university_name=line.subject.degree.university.name,
            list_price=to_euros(line.list_price_cents),
            price=to_euros(line.price_cents),
            vat=line.subject.vat,
            credit=to_euros(line.credit_cents),
            net=None if net is None else to_euros(net),
        )
        for line, net in zip(lines, nets, strict=True)
    )
    OrderDiscount.objects.bulk_create(
        OrderDiscount(order=order, name=discount.name, amount=to_euros(discount.amount_cents))
        for discount in priced.offer.discounts
    )
