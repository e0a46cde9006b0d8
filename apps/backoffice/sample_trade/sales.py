"""Carts, prices and codes of the sample orders. `stories` plays what became of each."""

from datetime import datetime, timedelta

from django.utils import timezone

from apps.backoffice.sample_trade.shop import Buyer, Case, Sale, Shop
from apps.backoffice.sample_trade.stories import play
from apps.catalogue.models import Lesson, Subject
from apps.core.identity import email_identity, phone_identity
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders.models import Order, OrderDiscount, OrderLine
from apps.orders.models.statuses import EventKind
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import PRICING, CampaignTerms, CartQuote, Item, quote_cart
from apps.students.models import Student

RETURNING = 0.24
ONLY_LESSONS = 0.2
IN_INSTALMENTS = 0.36
WITH_CODE = 0.14
WITH_FRIEND_CODE = 0.12
# How many complete subjects a cart has, and how often.
SIZES, SIZE_WEIGHTS = (1, 2, 3, 4, 5, 6), (46, 26, 14, 8, 4, 2)

Line = tuple[Subject, Lesson | None]


def sell(shop: Shop, moment: datetime, *, case: Case | None = None) -> None:
    """Place an order at this moment and play what became of it."""
    buyer = _buyer(shop, moment, is_new=case is not None)
    lines = _lines(shop, buyer, only_complete=case is not None)
    items = [
        Item(
            to_cents(lesson.price) if lesson else shop.book.at(subject, moment),
            complete=lesson is None,
        )
        for subject, lesson in lines
    ]
    payment_type = PaymentType.FULL
    if case is None and items[0].complete and shop.rng.random() < IN_INSTALMENTS:
        payment_type = PaymentType.INSTALMENTS
    promo = None
    if case == Case.FRIEND:
        promo = shop.rng.choice(_friend_codes(shop, moment))
    elif case is None:
        promo = _promo(shop, buyer, moment, items)
    priced = quote_cart(
        items,
        payment_type=payment_type,
        campaign=campaign_on(shop, moment),
        promo=promo.terms() if promo else None,
    )
    sale = Sale(buyer, _order(shop, buyer, moment, payment_type, promo, priced), moment)
    _write_lines(shop, sale, lines, priced)
    play(shop, sale, case=case)
    shop.sales.append(sale)


def campaign_on(shop: Shop, moment: datetime) -> CampaignTerms | None:
    """The campaign that ran on that day: `CampaignQuerySet.in_force` without a query."""
    day = timezone.localdate(moment)
    running = [campaign for campaign in shop.campaigns if campaign.runs_on(day)]
    best = max(running, key=lambda campaign: campaign.percent, default=None)
    return best.terms(day) if best else None


def _buyer(shop: Shop, moment: datetime, *, is_new: bool) -> Buyer:
    known = [buyer for buyer in shop.buyers if buyer.first_paid_at and len(buyer.owned) < 8]
    if known and not is_new and shop.rng.random() < RETURNING:
        return shop.rng.choice(known)
    student = shop.rows.add(Student(**shop.person(), created_at=moment))
    buyer = Buyer(student)
    shop.buyers.append(buyer)
    return buyer


def _lines(shop: Shop, buyer: Buyer, *, only_complete: bool) -> list[Line]:
    """Subjects of one degree, or lessons of one subject, that the buyer does not own."""
    first = _popular(shop, buyer)
    lessons = shop.lessons[first.pk]
    if lessons and not only_complete and shop.rng.random() < ONLY_LESSONS:
        count = min(len(lessons), shop.rng.choice((1, 1, 2)))
        buyer.owned.add(first.pk)
        return [(first, lesson) for lesson in lessons[:count]]
    same = [
        subject
        for subject in shop.subjects
        if subject.degree_id == first.degree_id and subject.pk not in {*buyer.owned, first.pk}
    ]
    size = min(shop.rng.choices(SIZES, SIZE_WEIGHTS)[0], len(same) + 1)
    chosen = [first, *shop.rng.sample(same, size - 1)]
    buyer.owned.update(subject.pk for subject in chosen)
    return [(subject, None) for subject in chosen]


def _popular(shop: Shop, buyer: Buyer) -> Subject:
    left = [subject for subject in shop.subjects if subject.pk not in buyer.owned]
    weights = [20 + subject.enrolled_students_count for subject in left]
    return shop.rng.choices(left, weights)[0]


def _promo(shop: Shop, buyer: Buyer, moment: datetime, items: list[Item]) -> PromoCode | None:
    """A code that checkout would accept. A friend's code is for a first order with a subject."""
    subtotal = sum(item.price_cents for item in items)
    if buyer.first_paid_at is None and items[0].complete and shop.rng.random() < WITH_FRIEND_CODE:
        friends = _friend_codes(shop, moment)
        if friends:
            return shop.rng.choice(friends)
    usable = [
        code
        for code in shop.codes
        if (code.valid_from is None or code.valid_from <= moment)
        and (code.valid_until is None or moment <= code.valid_until)
        and (code.max_uses is None or code.uses_taken < code.max_uses)
        and to_cents(code.minimum_cart) <= subtotal
    ]
    return shop.rng.choice(usable) if usable and shop.rng.random() < WITH_CODE else None


def _friend_codes(shop: Shop, moment: datetime) -> list[PromoCode]:
    since = moment - timedelta(days=120)
    return [
        other.friend_code
        for other in shop.buyers
        if other.friend_code and other.first_paid_at and since < other.first_paid_at < moment
    ]


def _order(
    shop: Shop,
    buyer: Buyer,
    moment: datetime,
    payment_type: PaymentType,
    promo: PromoCode | None,
    priced: CartQuote,
) -> Order:
    student = buyer.student
    is_friend = promo is not None and promo.is_referral_code
    order = shop.rows.add(
        Order(
            student=student,
            payment_type=payment_type,
            instalment_count=shop.plan.count,
            instalment_every_days=shop.plan.every_days,
            total_amount=to_euros(priced.total_cents),
            email=student.email,
            phone=student.phone,
            email_identity=email_identity(student.email),
            phone_identity=phone_identity(student.phone),
            first_name=student.first_name,
            last_name=student.last_name,
            promo_code=promo,
            promised_reward=to_euros(PRICING.reward_cents(payment_type)) if is_friend else 0,
            created_at=moment,
            updated_at=moment,
        )
    )
    for discount in priced.discounts:
        shop.rows.add(
            OrderDiscount(order=order, name=discount.name, amount=to_euros(discount.amount_cents))
        )
    return order


def _write_lines(shop: Shop, sale: Sale, lines: list[Line], priced: CartQuote) -> None:
    for (subject, lesson), price in zip(lines, priced.lines, strict=True):
        sale.items.append((subject.pk, lesson.pk if lesson else None))
        line = OrderLine(
            order=sale.order,
            subject=subject,
            lesson=lesson,
            name=f"{subject.name}: {lesson.title}" if lesson else subject.name,
            subject_name=subject.name,
            degree_name=subject.degree.name,
            university_name=subject.degree.university.name,
            list_price=to_euros(price.list_price_cents),
            price=to_euros(price.price_cents),
        )
        sale.lines.append(shop.rows.add(line))
    count = "1 línea" if len(lines) == 1 else f"{len(lines)} líneas"
    reason = f"Pedido creado: {count}, {format_euros(priced.total_cents)}"
    shop.note(sale, sale.at, EventKind.CREATED, reason, actor="comprador")
