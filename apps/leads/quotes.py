"""Quotes of the calculator: priced by the server, stored with all lines, binding for some days."""

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from apps.catalogue.models import Subject
from apps.core.dates import today
from apps.core.errors import Invalid
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.money import to_cents, to_euros
from apps.leads.intake import open_lead
from apps.leads.models import Lead, Quote, QuoteDiscount, QuoteSubject
from apps.orders.contact_rules import clean_phone
from apps.orders.offer import binding_quotes
from apps.orders.promo import uses as promo_uses
from apps.pricing.calculator import CalculatorQuote, date_range_of, quote_calculator
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.promo_checks import PromoRefused
from apps.pricing.reads import calculator_campaigns_today, current_terms, terms_at
from apps.pricing.rules import DiscountKind, campaign_for
from apps.pricing.sale_terms import SaleTerms


@dataclass(frozen=True)
class Budget:
    """A visitor's choices in the calculator. Names and prices come from the catalogue."""

    subject_ids: tuple[int, ...]
    full_payment: bool
    was_invited: bool = False
    friend_code: str = ""
    friends: int = 0

    @property
    def has_friend_code(self) -> bool:
        return self.was_invited and bool(self.friend_code.strip())

    @property
    def payment_type(self) -> PaymentType:
        return PaymentType.FULL if self.full_payment else PaymentType.INSTALMENTS


def send_quote(budget: Budget, *, email: str, phone: str, page: str = "") -> Quote:
    """Price and store the budget, and queue the mails to the visitor and to the academy.

    Raises Invalid if a subject is not on sale, and TooManyRequests if the address has received its
    mails of this hour.
    """
    subjects, terms = _on_sale(budget.subject_ids), current_terms()
    friend_promo = (
        _usable_friend_code(budget.friend_code, subjects, email=email, phone=phone)
        if budget.has_friend_code
        else None
    )
    if friend_promo is not None and friend_promo.kind == PromoCode.Kind.FIXED:
        # A code keeps the discount that it was made with.
        terms = replace(terms, invited_cents=to_cents(friend_promo.value))
    priced = _price(budget, subjects, terms)
    with transaction.atomic():
        degree_id = _degree_id(subjects)
        lead = open_lead(Lead.Kind.QUOTE, email=email, phone=phone, page=page, degree_id=degree_id)
        quote = _store(lead, budget, priced, subjects, friend_promo, terms)
        _queue_quote(quote, Origin.FORM)
    return quote


def quote_for(lead: Lead, budget: Budget) -> Quote:
    """Price and store a budget of staff's for a lead without a quote, and queue its mail.

    Call it in a transaction. Raises Invalid if a subject is not on sale.
    """
    subjects, terms = _on_sale(budget.subject_ids), current_terms()
    priced = _price(budget, subjects, terms)
    quote = _store(lead, budget, priced, subjects, friend_promo=None, terms=terms)
    _queue_quote(quote, Origin.STAFF)
    return quote


def _queue_quote(quote: Quote, origin: Origin) -> None:
    queue_mail(
        key=f"quote:{quote.pk}",
        template="quote",
        to=quote.lead.email,
        context={"quote_id": quote.pk},
        origin=origin,
    )


def _on_sale(subject_ids: tuple[int, ...]) -> list[Subject]:
    by_id = Subject.objects.on_sale().select_related("degree").in_bulk(subject_ids)
    if len(by_id) != len(subject_ids):
        message = "Alguna de las asignaturas elegidas ya no está disponible."
        raise Invalid(message, fields={"formData.selectedSubjects": [message]})
    return [by_id[subject_id] for subject_id in subject_ids]


def _degree_id(subjects: list[Subject]) -> int | None:
    """The degree of the subjects, or None if they are of several."""
    degrees = {subject.degree_id for subject in subjects}
    return degrees.pop() if len(degrees) == 1 else None


def _price(budget: Budget, subjects: list[Subject], terms: SaleTerms) -> CalculatorQuote:
    # A budget is of one degree. Subjects of several have only campaigns for all.
    return quote_calculator(
        [to_cents(subject.final_price) for subject in subjects],
        terms=terms,
        number_of_subjects=len(subjects),
        full_payment=budget.full_payment,
        has_friend_code=budget.has_friend_code,
        friends=budget.friends,
        campaign=campaign_for(calculator_campaigns_today(), _degree_id(subjects)),
    )


def _usable_friend_code(
    code: str, subjects: list[Subject], *, email: str, phone: str
) -> PromoCode | None:
    """Return the friend code if it can be used for these subjects today, else None.

    Whether it is the visitor's own, and their first purchase, is checked at the purchase
    (docs/decisions/0033-friend-codes-do-not-disclose-customers.md).
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
        promo_uses.standing(
            promo, email=email, phone=_phone_or_blank(phone), check_purchases=False
        ).check(
            [(subject, True) for subject in subjects],
            sum(to_cents(subject.final_price) for subject in subjects),
        )
    except PromoRefused:
        return None
    return promo


def _phone_or_blank(phone: str) -> str:
    """Return the number in E.164. The calculator accepts any nine characters, checkout does not."""
    try:
        return clean_phone(phone)
    except ValidationError:
        return ""


def _store(
    lead: Lead,
    budget: Budget,
    priced: CalculatorQuote,
    subjects: list[Subject],
    friend_promo: PromoCode | None,
    terms: SaleTerms,
) -> Quote:
    unchecked = _unchecked_kinds(friend_promo)
    certain_cents = sum(
        discount.amount_cents for discount in priced.discounts if discount.kind not in unchecked
    )
    quote = Quote.objects.create(
        lead=lead,
        payment_type=budget.payment_type,
        date_range=date_range_of(today()),
        was_invited=budget.was_invited,
        friend_code=budget.friend_code.strip() if budget.was_invited else "",
        friend_promo=friend_promo,
        invitees=budget.friends,
        base_price=to_euros(priced.base_cents),
        final_price=to_euros(priced.final_cents),
        binding_price=to_euros(max(0, priced.base_cents - certain_cents)),
        valid_until=timezone.now() + timedelta(days=terms.quote_days),
    )
    _store_subjects(quote, subjects)
    _store_discounts(quote, priced, unchecked)
    return quote


def _unchecked_kinds(friend_promo: PromoCode | None) -> set[DiscountKind]:
    """Discounts that staff have to check first. The binding price leaves them out."""
    if friend_promo:
        return {DiscountKind.FRIENDS}
    return {DiscountKind.FRIENDS, DiscountKind.FRIEND_CODE}


def _store_subjects(quote: Quote, subjects: list[Subject]) -> None:
    QuoteSubject.objects.bulk_create(
        QuoteSubject(quote=quote, subject=subject, name=subject.name, price=subject.final_price)
        for subject in subjects
    )


def _store_discounts(quote: Quote, priced: CalculatorQuote, unchecked: set[DiscountKind]) -> None:
    QuoteDiscount.objects.bulk_create(
        QuoteDiscount(
            quote=quote,
            kind=discount.kind,
            name=discount.name,
            amount=to_euros(discount.amount_cents),
            is_subject_to_check=discount.kind in unchecked,
        )
        for discount in priced.discounts
    )


@dataclass(frozen=True)
class QuotedCart:
    """The cart that a quote's link fills.

    `binding_price` is None if the quote no longer binds; `notice` then says why, in Spanish.
    """

    subject_ids: tuple[int, ...]
    binding_price: Decimal | None
    notice: str
    instalment_minimum_cents: int


def quoted_cart(quote: Quote) -> QuotedCart:
    """Return the quote's subjects that are on sale, in its order, and its price if it binds."""
    quoted = [row.subject_id for row in quote.subjects.all()]
    on_sale = set(
        Subject.objects.on_sale()
        .filter(pk__in=[pk for pk in quoted if pk])
        .values_list("pk", flat=True)
    )
    ids = tuple(pk for pk in quoted if pk in on_sale)
    notice = _notice(quote, all_on_sale=len(ids) == len(quoted))
    least = min(
        terms.instalment_minimum_total_cents
        for terms in (current_terms(), terms_at(quote.lead.created_at))
    )
    return QuotedCart(ids, None if notice else quote.binding_price, notice, least)


def _notice(quote: Quote, *, all_on_sale: bool) -> str:
    if not quote.binds_at(timezone.now()):
        return binding_quotes.expired_notice(quote.valid_until)
    if binding_quotes.is_used(quote.pk):
        return binding_quotes.USED
    if not all_on_sale:
        sentence = "Alguna asignatura de tu presupuesto ya no está a la venta."
        return f"{sentence} {binding_quotes.TODAY}"
    return ""
