"""A year of forms: messages, quotes, personal codes, free subjects and missing subjects."""

from datetime import datetime, timedelta

from django.utils import timezone

from apps.backoffice.sample_trade.names import ANSWERS, CONTACTS, MISSING_SUBJECTS, NOTES
from apps.backoffice.sample_trade.sales import campaign_on
from apps.backoffice.sample_trade.shop import Shop
from apps.core.money import to_euros
from apps.leads.models import (
    Lead,
    LeadConsent,
    LeadEntry,
    Quote,
    QuoteDiscount,
    QuoteSubject,
    RequestedSubject,
    SubjectRequest,
)
from apps.leads.quotes import QUOTE_LIFE
from apps.leads.services import DISCOUNT_CODE_LENGTH
from apps.leads.subject_requests import normalised_key
from apps.pricing.calculator import date_range_of, quote_calculator
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import PRICING
from apps.students.consent_wordings import TEXTS, WORDINGS
from apps.students.models import Consent

KINDS = {
    Lead.Kind.CONTACT: 34,
    Lead.Kind.QUOTE: 30,
    Lead.Kind.DISCOUNT: 18,
    Lead.Kind.FREE_SUBJECT: 10,
    Lead.Kind.SUBJECT_REQUEST: 8,
}
CONSENTS = {
    Lead.Kind.CONTACT: Consent.Kind.PRIVACY,
    Lead.Kind.DISCOUNT: Consent.Kind.TERMS,
    Lead.Kind.FREE_SUBJECT: Consent.Kind.TERMS,
}
# Forms of the last days are new. Of the older ones most are answered, and a few closed.
NEW_FOR = timedelta(days=4)
CLOSED_EVERY, NOTED_EVERY, BUYER_EVERY = 6, 5, 8


def write_leads(shop: Shop, chosen: list[datetime]) -> list[Lead]:
    """Add one form for each moment, by kinds, and return them."""
    kinds = shop.rng.choices(list(KINDS), list(KINDS.values()), k=len(chosen))
    requested = {name: _requested(shop, *name, chosen[0]) for name in MISSING_SUBJECTS}
    leads = []
    for number, (moment, kind) in enumerate(zip(chosen, kinds, strict=True), start=1):
        lead = _lead(shop, Lead.Kind(kind), moment, number)
        leads.append(lead)
        if lead.kind == Lead.Kind.DISCOUNT:
            lead.promo_code = _personal_code(shop, moment)
        elif lead.kind == Lead.Kind.SUBJECT_REQUEST:
            name = MISSING_SUBJECTS[number % len(MISSING_SUBJECTS)]
            lead.career = name[1]
            shop.rows.add(
                SubjectRequest(
                    lead=lead,
                    requested_subject=requested[name],
                    subject_name=name[0],
                    university=name[2],
                )
            )
        elif lead.kind == Lead.Kind.QUOTE:
            shop.quotes.append(_quote(shop, lead))
    return leads


def _lead(shop: Shop, kind: Lead.Kind, moment: datetime, number: int) -> Lead:
    person = shop.person()
    if number % BUYER_EVERY == 0:  # A student writes under the address of their orders.
        student = shop.rng.choice(shop.buyers).student
        person |= {"email": student.email, "first_name": student.first_name}
        person |= {"last_name": student.last_name, "phone": student.phone}
    has_name = kind in (Lead.Kind.CONTACT, Lead.Kind.SUBJECT_REQUEST)
    lead = shop.rows.add(
        Lead(
            kind=kind,
            name=f"{person['first_name']} {person['last_name']}" if has_name else "",
            email=person["email"],
            phone=person["phone"],
            career="" if has_name else shop.rng.choice(shop.subjects).degree.name,
            page="/contenido" if kind == Lead.Kind.SUBJECT_REQUEST else "/",
            message=CONTACTS[number % len(CONTACTS)] if kind == Lead.Kind.CONTACT else "",
            created_at=moment,
        )
    )
    if kind in CONSENTS:
        box = CONSENTS[kind]
        text = shop.texts[TEXTS[box]]
        consent = LeadConsent(lead=lead, legal_text=text, wording=WORDINGS[box], accepted_at=moment)
        shop.rows.add(consent)
    if moment < shop.now - NEW_FOR:
        hours = shop.rng.choice((1, 2, 3, 5, 8, 20, 26, 45))
        lead.answered_at = moment + timedelta(hours=hours, minutes=number % 60)
        is_closed = number % CLOSED_EVERY == 0
        lead.status = Lead.Status.CLOSED if is_closed else Lead.Status.ANSWERED
        lead.assigned_to = shop.user
        if number % NOTED_EVERY == 0:
            _entry(shop, lead, LeadEntry.Kind.NOTE, NOTES[number % len(NOTES)])
        if kind == Lead.Kind.CONTACT:
            entry = _entry(shop, lead, LeadEntry.Kind.ANSWER, ANSWERS[number % len(ANSWERS)])
            entry.subject = "Tu consulta"
    return lead


def _entry(shop: Shop, lead: Lead, kind: LeadEntry.Kind, body: str) -> LeadEntry:
    entry = LeadEntry(
        lead=lead,
        kind=kind,
        author=shop.user,
        author_name=shop.user.get_username(),
        body=body,
        created_at=lead.answered_at or lead.created_at,
    )
    shop.entries.append(entry)
    return shop.rows.add(entry)


def _personal_code(shop: Shop, moment: datetime) -> PromoCode:
    return shop.rows.add(
        PromoCode(
            code=shop.code(f"DTO{PRICING.discount_code_percent}-", DISCOUNT_CODE_LENGTH),
            kind=PromoCode.Kind.PERCENT,
            value=PRICING.discount_code_percent,
            max_uses=1,
            valid_until=moment + timedelta(days=PRICING.discount_code_days),
            note="Pedido en el formulario de descuentos",
            created_at=moment,
        )
    )


def _requested(
    shop: Shop, subject: str, career: str, university: str, moment: datetime
) -> RequestedSubject:
    key = normalised_key(university=university, career=career, subject_name=subject)
    return shop.rows.add(
        RequestedSubject(
            name=subject, career=career, university=university, key=key, created_at=moment
        )
    )


def _quote(shop: Shop, lead: Lead) -> Quote:
    """A quote as the calculator sends it, at the prices and with the campaign of its day."""
    first = shop.rng.choice(shop.subjects)
    same = [row for row in shop.subjects if row.degree_id == first.degree_id and row != first]
    subjects = [first, *shop.rng.sample(same, min(len(same), shop.rng.choice((0, 1, 1, 2, 3))))]
    is_full = shop.rng.random() < 0.6
    prices = [shop.book.at(subject, lead.created_at) for subject in subjects]
    priced = quote_calculator(
        prices,
        number_of_subjects=len(subjects),
        full_payment=is_full,
        invited_with_code=False,
        invitees=0,
        campaign=campaign_on(shop, lead.created_at),
    )
    quote = shop.rows.add(
        Quote(
            lead=lead,
            payment_type=PaymentType.FULL if is_full else PaymentType.INSTALMENTS,
            date_range=date_range_of(timezone.localdate(lead.created_at)),
            base_price=to_euros(priced.base_cents),
            final_price=to_euros(priced.final_cents),
            binding_price=to_euros(priced.final_cents),
            valid_until=lead.created_at + QUOTE_LIFE,
        )
    )
    for subject, cents in zip(subjects, prices, strict=True):
        row = QuoteSubject(quote=quote, subject=subject, name=subject.name, price=to_euros(cents))
        shop.rows.add(row)
    for discount in priced.discounts:
        shop.rows.add(
            QuoteDiscount(
                quote=quote,
                kind=discount.kind,
                name=discount.name,
                amount=to_euros(discount.amount_cents),
            )
        )
    return quote
