"""Writing a priced checkout into an order."""

import hashlib
import json
from collections.abc import Sequence

from django.db import IntegrityError, transaction

from apps.core.money import format_euros, to_euros
from apps.orders.checkout.cart import CartLine
from apps.orders.checkout.request import Checkout
from apps.orders.ledger.history import note
from apps.orders.models import Order, OrderDiscount, OrderLine
from apps.orders.models.statuses import EventKind
from apps.orders.promo import uses as promo_uses
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.reads import instalment_plan_on_sale
from apps.pricing.rules import PRICING, CartQuote
from apps.students.models import Student
from apps.students.services import (
    find_or_create_student,
    update_own_data,
)


def content_digest(
    checkout: Checkout,
    lines: Sequence[CartLine],
    quote: CartQuote,
    promo: PromoCode | None,
    quote_number: int | None,
) -> str:
    """A digest of everything that a payment of this order is for, as 64 hexadecimal digits.

    A changed digest means that the open payment has to be canceled (docs/rules.md, "Open
    payments").
    """
    content = [
        sorted(
            [line.subject.pk, line.lesson.pk if line.lesson else 0, line.item.price_cents]
            for line in lines
        ),
        [[discount.name, discount.amount_cents] for discount in quote.discounts],
        quote.total_cents,
        checkout.payment_type,
        promo.pk if promo else 0,
        quote_number or 0,
        checkout.email.strip().lower(),
        checkout.phone,
    ]
    if checkout.payment_type == PaymentType.INSTALMENTS:
        plan = instalment_plan_on_sale()
        content.append([plan.count, plan.every_days])
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def write_order(
    order: Order | None,
    checkout: Checkout,
    lines: Sequence[CartLine],
    quote: CartQuote,
    promo: PromoCode | None,
    quote_number: int | None,
    content_hash: str,
) -> Order:
    """Store a priced checkout as a new order, or as the new content of `order`.

    Creates the student if the address has none. New content gets a new revision, and reserved uses
    of other promo codes are released. The caller holds the order's lock. Raises OrderMadeMeanwhile.
    """
    student: Student = find_or_create_student(
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
    created = order is None
    if order is None:
        order = Order(student=student, order_key=checkout.order_key)
    else:
        order.revision += 1
        promo_uses.release(order, keep=promo)
    order.student = student
    order.email = checkout.email.strip()
    order.phone = checkout.phone
    order.first_name = checkout.first_name
    order.last_name = checkout.last_name
    order.payment_type = checkout.payment_type
    plan = instalment_plan_on_sale()
    order.instalment_count, order.instalment_every_days = plan.count, plan.every_days
    order.total_amount = to_euros(quote.total_cents)
    order.promo_code = promo
    has_friend_code = promo is not None and promo.is_referral_code
    reward_cents = PRICING.reward_cents(checkout.payment_type) if has_friend_code else 0
    order.promised_reward = to_euros(reward_cents)
    order.quote_number = quote_number
    order.content_hash = content_hash
    try:
        with transaction.atomic():
            order.save()
    except IntegrityError:
        if created and Order.objects.filter(order_key=checkout.order_key).exists():
            raise OrderMadeMeanwhile from None
        raise
    order.lines.all().delete()
    order.discounts.all().delete()
    OrderLine.objects.bulk_create(
        OrderLine(
            order=order,
            subject=line.subject,
            lesson=line.lesson,
            name=line.name,
            subject_name=line.subject.name,
            degree_name=line.subject.degree.name,
            university_name=line.subject.degree.university.name,
            list_price=to_euros(priced.list_price_cents),
            price=to_euros(priced.price_cents),
        )
        for line, priced in zip(lines, quote.lines, strict=True)
    )
    OrderDiscount.objects.bulk_create(
        OrderDiscount(order=order, name=discount.name, amount=to_euros(discount.amount_cents))
        for discount in quote.discounts
    )
    count = "1 línea" if len(lines) == 1 else f"{len(lines)} líneas"
    reason = "Pedido creado" if created else "Pedido cambiado"
    total = format_euros(quote.total_cents)
    kind = EventKind.CREATED if created else EventKind.CHANGED
    note(order, kind=kind, actor="comprador", reason=f"{reason}: {count}, {total}")
    return order


class OrderMadeMeanwhile(Exception):
    """A concurrent request with the same `order_key` created the order. The caller retries."""
