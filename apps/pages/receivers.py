"""What a change of the terms of sale does to the texts that staff write."""

import re
from collections.abc import Iterator
from typing import Any

from apps.core.models import LegalText
from apps.core.money import format_whole_euros
from apps.pages.models import Faq, PricePlan
from apps.pricing.sale_terms import SaleTerms

# The note of a new shop's plan, as it stood before notes had placeholders.
_LITERAL_NOTE = "Pago en 3 plazos sin intereses."
_NOTE = "Pago en {{ instalments }} plazos sin intereses."


def check_texts(sender: Any, before: SaleTerms, after: SaleTerms, **kwargs: Any) -> list[str]:
    """Return a warning for each text that still states a number which has changed."""
    PricePlan.objects.filter(note=_LITERAL_NOTE).update(note=_NOTE)
    phrases = _phrases(before) - _phrases(after)
    if not phrases:
        return []
    listed = "|".join(re.escape(phrase) for phrase in sorted(phrases))
    stated = re.compile(rf"(?<![\d,.])(?:{listed})", re.IGNORECASE)
    return [
        f"{where} dice todavía «{found[0]}». Cámbialo, o pon un hueco que se rellene solo."
        for where, text in _texts()
        if (found := stated.search(" ".join(text.split())))
    ]


def _texts() -> Iterator[tuple[str, str]]:
    for plan in PricePlan.objects.all():
        yield f"El plan «{plan}»", f"{plan.note} {plan.included} {plan.excluded}"
    for faq in Faq.objects.all():
        yield f"La pregunta «{faq}»", f"{faq.question} {faq.answer}"
    for kind in LegalText.Kind:
        if text := LegalText.objects.filter(kind=kind).order_by("version").last():
            yield f"El texto legal «{text.title}»", text.body


def _phrases(terms: SaleTerms) -> set[str]:
    """How a text would state the numbers."""
    euros = {
        terms.invited_cents,
        terms.invitee_cents,
        terms.reward_full_payment_cents,
        terms.reward_instalments_cents,
        terms.instalment_minimum_total_cents,
    }
    return {
        *(f"{terms.instalment_count} {noun}" for noun in ("plazos", "pagos")),
        *(f"{percent} %" for percent in (terms.full_payment_percent, terms.discount_code_percent)),
        f"cada {terms.instalment_every_days} días",
        # Other periods have as many days: 14 to withdraw, 30 for an unpaid order.
        *(
            f"{verb} {days} días"
            for verb in ("vale", "durante")
            for days in (terms.discount_code_days, terms.quote_days)
        ),
        *(" ".join(format_whole_euros(cents).split()) for cents in euros),
    }
