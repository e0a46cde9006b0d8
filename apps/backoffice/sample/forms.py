"""A year of forms: messages, quotes, personal codes, free subjects and missing subjects.

Those of the last days are new. Of the older ones most are answered, and a few closed.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from apps.backoffice.sample.clock import Tell, clock_at, days_before
from apps.backoffice.sample.shop import SampleShop
from apps.backoffice.sample.words import ANSWERS, CONTACTS, MISSING_SUBJECTS, NOTES
from apps.leads.inbox.conversation import add_note, answer_lead, set_status
from apps.leads.models import Lead
from apps.leads.quotes import Budget, send_quote
from apps.leads.services import receive_contact, request_discount, request_free_subject
from apps.leads.subject_requests import request_subject

# The kinds come in this order again and again; the oldest form is the first.
KINDS = (
    Lead.Kind.CONTACT, Lead.Kind.QUOTE, Lead.Kind.DISCOUNT, Lead.Kind.CONTACT,
    Lead.Kind.FREE_SUBJECT, Lead.Kind.QUOTE, Lead.Kind.CONTACT, Lead.Kind.SUBJECT_REQUEST,
)  # fmt: skip
# Days before now of the forms, oldest first.
DAYS = (*range(362, 10, -12), 9, 8, 7, 6, 5, 4, 4, 3, 3, 2, 2, 1, 1, 1)
NEW_FOR_DAYS = 4
ANSWERED_AFTER_HOURS = (1, 2, 3, 5, 8, 20, 26, 45)
CLOSED_EVERY, NOTED_EVERY, STUDENT_EVERY = 6, 5, 8


def forms(shop: SampleShop) -> Iterator[tuple[datetime, Tell]]:
    for number, days in enumerate(DAYS):
        at = days_before(shop.now, days, 9 + number % 12, number * 13 % 60)
        yield at, partial(_fill_in, number=number, is_answered=days > NEW_FOR_DAYS)


def _fill_in(shop: SampleShop, at: datetime, *, number: int, is_answered: bool) -> None:
    with clock_at(at):
        lead = _form(shop, KINDS[number % len(KINDS)], number)
    if is_answered:
        _answer(shop, lead, at, number)


def _form(shop: SampleShop, kind: Lead.Kind, number: int) -> Lead:
    person = shop.person()
    if number % STUDENT_EVERY == 3:  # A student writes from the address of their orders.
        person["email"] = shop.friend.email
    email, phone = person["email"], person["phone"]
    name = f"{person['first_name']} {person['last_name']}"
    degree = list(shop.subjects)[number % len(shop.subjects)]
    if kind == Lead.Kind.CONTACT:
        message = CONTACTS[number % len(CONTACTS)]
        return receive_contact(name=name, email=email, phone=phone, message=message, page="/")
    if kind == Lead.Kind.SUBJECT_REQUEST:
        subject, career, university = MISSING_SUBJECTS[number // 8 % len(MISSING_SUBJECTS)]
        about = {"university": university, "career": career, "subject_name": subject}
        return request_subject(name=name, email=email, phone=phone, page="/contenido", **about)
    if kind == Lead.Kind.QUOTE:
        ids = tuple(row.pk for row in shop.subjects[degree][: 1 + number % 3])
        budget = Budget(ids, full_payment=number % 5 < 3)
        return send_quote(budget, email=email, phone=phone, page="/precios").lead
    request = request_discount if kind == Lead.Kind.DISCOUNT else request_free_subject
    return request(email=email, phone=phone, career=degree, page="/")


def _answer(shop: SampleShop, lead: Lead, at: datetime, number: int) -> None:
    hours = ANSWERED_AFTER_HOURS[number % len(ANSWERED_AFTER_HOURS)]
    with clock_at(at + timedelta(hours=hours, minutes=number % 60)):
        if number % NOTED_EVERY == 0:
            text = NOTES[number % len(NOTES)]
            add_note(lead_id=lead.pk, author=shop.clerk, body=text, key_id=uuid4())
        said = {"subject": "Tu consulta", "body": ANSWERS[number % len(ANSWERS)]}
        answer_lead(lead_id=lead.pk, author=shop.clerk, key_id=uuid4(), **said)
        if number % CLOSED_EVERY == 0:
            set_status(lead_id=lead.pk, status=Lead.Status.CLOSED, author=shop.clerk)
