"""Quotes: priced by the server, kept with all their lines, binding for 14 days (decisions.md)."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from apps.catalogue.models import Subject
from apps.core.clock import today
from apps.core.errors import Invalid
from apps.core.mail.outbox import queue_mail
from apps.core.money import to_cents, to_euros
from apps.leads.intake import count_mail_to, open_lead
from apps.leads.models import Lead, Quote, QuoteDiscount, QuoteSubject
from apps.orders import offers
from apps.orders import promo as promo_uses
from apps.orders.serializers import clean_phone
from apps.pricing.models import PromoCode
from apps.pricing.promo import PromoItem, PromoRefused
from apps.pricing.reads import campaign_today
from apps.pricing.rules import INVITED_NAME, INVITEES_NAME, CalculatorQuote, quote_calculator

QUOTE_LIFE = timedelta(days=14)
_DATE_RANGES = {8: Quote.DateRange.AUGUST, 9: Quote.DateRange.SEPTEMBER}


@dataclass(frozen=True)
class Budget:
    """What the visitor chose in the calculator. Names and prices are never the visitor's."""

    subject_ids: tuple[int, ...]
    full_payment: bool
    was_invited: bool = False
    friend_code: str = ""
    invitees: int = 0

    @property
    def invited_with_code(self) -> bool:
        return self.was_invited and bool(self.friend_code.strip())


def send_quote(budget: Budget, *, email: str, phone: str) -> Quote:
    """Price the budget, keep it, and owe both mails.

    Raises Invalid where a subject is not on sale, TooManyRequests where the address has had its
    mails of the hour.
    """
    subjects = _on_sale(budget.subject_ids)
    priced = quote_calculator(
        [to_cents(subject.final_price) for subject in subjects],
        number_of_subjects=len(subjects),
        full_payment=budget.full_payment,
        invited_with_code=budget.invited_with_code,
        invitees=budget.invitees,
        campaign=campaign_today(),
    )
    count_mail_to(email)
    friend_promo = (
        _real_referral(budget.friend_code, subjects, email=email, phone=phone)
        if budget.invited_with_code
        else None
    )
    with transaction.atomic():
        quote = _store(budget, priced, subjects, friend_promo, email=email, phone=phone)
        queue_mail(
            key=f"quote:{quote.pk}", template="quote", to=quote.lead.email,
            context={"quote_id": quote.pk},
        )  # fmt: skip
    return quote


def date_range(day: date) -> Quote.DateRange:
    return _DATE_RANGES.get(day.month, Quote.DateRange.OTHER)


def _on_sale(subject_ids: tuple[int, ...]) -> list[Subject]:
    found = Subject.objects.on_sale().select_related("degree").in_bulk(subject_ids)
    if len(found) != len(subject_ids):
        message = "Alguna de las asignaturas elegidas ya no está disponible."
        raise Invalid(message, fields={"formData.selectedSubjects": [message]})
    return [found[subject_id] for subject_id in subject_ids]


def _real_referral(
    code: str, subjects: list[Subject], *, email: str, phone: str
) -> PromoCode | None:
    """The referral code of another that this visitor could use today for these subjects.

    None for anything else: the checkout's own rules decide.
    """
    promo = (
        PromoCode.objects.with_code(code)
        .filter(is_referral_code=True)
        .select_related("student")
        .first()
    )
    if promo is None:
        return None
    try:
        number = clean_phone(phone)
    except ValidationError:  # The calculator takes any nine characters.
        number = ""
    try:
        promo_uses.check(
            promo,
            items=[
                PromoItem(
                    subject_id=subject.pk,
                    degree_id=subject.degree_id,
                    university_id=subject.degree.university_id,
                    complete=True,
                )
                for subject in subjects
            ],
            subtotal_cents=sum(to_cents(subject.final_price) for subject in subjects),
            email=email,
            phone=number,
        )
    except PromoRefused:
        return None
    return promo


def _store(
    budget: Budget,
    priced: CalculatorQuote,
    subjects: list[Subject],
    friend_promo: PromoCode | None,
    *,
    email: str,
    phone: str,
) -> Quote:
    unchecked = {INVITEES_NAME} if friend_promo else {INVITED_NAME, INVITEES_NAME}
    certain_cents = sum(
        discount.amount_cents for discount in priced.discounts if discount.name not in unchecked
    )
    now = timezone.now()
    quote = Quote.objects.create(
        lead=open_lead(Lead.Kind.QUOTE, email=email, phone=phone),
        payment_type=(
            Quote.PaymentType.FULL if budget.full_payment else Quote.PaymentType.INSTALMENTS
        ),
        date_range=date_range(today()),
        was_invited=budget.was_invited,
        friend_code=budget.friend_code.strip() if budget.was_invited else "",
        friend_promo=friend_promo,
        invitees=budget.invitees,
        base_price=to_euros(priced.base_cents),
        final_price=to_euros(priced.final_cents),
        binding_price=to_euros(max(0, priced.base_cents - certain_cents)),
        valid_until=now + QUOTE_LIFE,
    )
    QuoteSubject.objects.bulk_create(
        QuoteSubject(quote=quote, subject=subject, name=subject.name, price=subject.final_price)
        for subject in subjects
    )
    QuoteDiscount.objects.bulk_create(
        QuoteDiscount(
            quote=quote,
            name=discount.name,
            amount=to_euros(discount.amount_cents),
            is_subject_to_check=discount.name in unchecked,
        )
        for discount in priced.discounts
    )
    return quote


@dataclass(frozen=True)
class Offer:
    """What of a quote can be bought now.

    `binding_price` is None where nothing binds any more, and `notice` then says why.
    """

    subject_ids: tuple[int, ...]
    quote: Quote
    binding_price: Decimal | None
    notice: str


def current_offer(quote: Quote) -> Offer:
    """The quote's subjects that are on sale, in its order, and its price where that still binds.

    It binds for 14 days and exactly its subjects (decisions.md, "Calculator"), for one purchase.
    """
    quoted = [row.subject_id for row in quote.subjects.all()]
    on_sale = set(
        Subject.objects.on_sale()
        .filter(pk__in=[pk for pk in quoted if pk])
        .values_list("pk", flat=True)
    )
    ids = tuple(pk for pk in quoted if pk in on_sale)
    notice = ""
    if not quote.binds_at(timezone.now()):
        notice = offers.expired_notice(quote.valid_until)
    elif offers.is_used(quote.pk):
        notice = offers.USED
    elif len(ids) < len(quoted):
        notice = f"Alguna asignatura de tu presupuesto ya no está a la venta. {offers.TODAY}"
    return Offer(ids, quote, None if notice else quote.binding_price, notice)
