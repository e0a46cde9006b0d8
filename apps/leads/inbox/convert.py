"""Turning a lead into a quote, into a personal code, or into an order made by staff."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.timezone import localtime

from apps.core.money import format_euros, to_cents
from apps.core.random_codes import random_code
from apps.core.staff.answer_limits import count_answer
from apps.core.staff.limits import give_offer
from apps.leads.inbox.conversation import (
    add_entry,
    entry_with_key,
    locked_lead,
    note_first_answer,
)
from apps.leads.models import Lead, LeadEntry, Quote
from apps.leads.quotes import Budget, quote_for
from apps.leads.services import DISCOUNT_CODE_LENGTH
from apps.pricing.models import PromoCode
from apps.pricing.reads import cents_of_use, most_of_use

# The most that a member of staff gives away from the inbox (docs/rules.md, "Inbox").
MOST_PERCENT = 25
MOST_DAYS = 60
# A code that can only be seen in the inbox.
PREFIX = "PARATI-"


@transaction.atomic
def send_quote_to(*, lead_id: int, budget: Budget, author: Any, key_id: UUID) -> Quote | None:
    """Send the person of a lead a quote of these subjects, priced as the calculator would.

    A lead has one quote. For another one a lead of the same person is opened, which belongs to the
    author. None if `key_id` sent a quote before. Raises Invalid if a subject is not on sale, and
    TooManyRequests.
    """
    lead = locked_lead(lead_id)
    if entry_with_key(key_id) is not None:
        return None
    count_answer(lead.email, author)
    if Quote.objects.filter(lead=lead).exists():
        lead = Lead.objects.create(
            kind=Lead.Kind.QUOTE,
            opened_by_staff=True,
            name=lead.name,
            email=lead.email,
            phone=lead.phone,
            degree=lead.degree,
        )
    quote = quote_for(lead, budget)
    price = format_euros(to_cents(quote.final_price))
    text = f"{quote}, de {price}, enviado a {lead.email}"
    add_entry(lead, LeadEntry.Kind.QUOTE, author, text, key_id=key_id)
    note_first_answer(lead, author)
    return quote


@transaction.atomic
def give_code(
    *, lead_id: int, percent: int, days: int, author: Any, key_id: UUID
) -> tuple[LeadEntry, bool]:
    """Create a code for one use. The entry names it; the author sends it with an answer.

    Also returns whether the code is new: a second click gets the entry of the first. Raises
    OverLimit if the author may not give it away.
    """
    lead = locked_lead(lead_id)
    made = entry_with_key(key_id)
    if made is not None:
        return made, False
    code = random_code(PREFIX, DISCOUNT_CODE_LENGTH)
    kind, value, least = PromoCode.Kind.PERCENT, Decimal(percent), Decimal(0)
    cents = cents_of_use(kind, value, minimum_cart=least)
    give_offer(author, value, cents=cents, what=code)
    valid_until = timezone.now() + timedelta(days=days)
    promo = PromoCode.objects.create(
        code=code,
        kind=kind,
        value=value,
        maximum_discount=most_of_use(author, kind, value, minimum_cart=least),
        max_uses=1,
        valid_until=valid_until,
        note=f"Solicitud {lead.pk}, de {author.get_username()}"[:200],
    )
    if lead.promo_code is None:
        lead.promo_code = promo
        lead.save(update_fields=["promo_code"])
    most = ""
    if promo.maximum_discount is not None:
        most = f" (como mucho {format_euros(to_cents(promo.maximum_discount))})"
    text = f"{promo.code}: {percent} %{most}, un uso, hasta el {localtime(valid_until):%d/%m/%Y}"
    return add_entry(lead, LeadEntry.Kind.CODE, author, text, key_id=key_id), True


def order_values(lead: Lead) -> dict[str, Any]:
    """What the form of an order made by staff begins with: the person, and what was quoted."""
    first_name, _, last_name = lead.name.partition(" ")
    values: dict[str, Any] = {
        "email": lead.email,
        "phone": lead.phone,
        "first_name": first_name,
        "last_name": last_name,
    }
    quote = Quote.objects.filter(lead=lead).first()
    if quote is not None:
        values["payment_type"] = quote.payment_type
        values["subjects"] = [row.subject_id for row in quote.subjects.all() if row.subject_id]
    return values
