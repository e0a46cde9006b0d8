"""The terms of sale in words, for the placeholders of questions, price plans and legal texts."""

from collections.abc import Mapping

from apps.core.money import format_whole_euros
from apps.pricing.sale_terms import SaleTerms

# "plazo" is masculine.
_NUMBERS = (
    "cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez",
    "once", "doce",
)  # fmt: skip


def text_values(terms: SaleTerms) -> Mapping[str, str]:
    """The value of each placeholder, as in `{{ instalments }}`."""
    return {
        "instalments": str(terms.instalment_count),
        "instalments_in_words": _NUMBERS[terms.instalment_count],
        "instalment_days": str(terms.instalment_every_days),
        "later_instalments": _later_instalments(terms),
        "instalment_minimum": format_whole_euros(terms.instalment_minimum_total_cents),
        "full_payment_percent": str(terms.full_payment_percent),
        "friend_saves": format_whole_euros(terms.invited_cents),
        "reward_full": format_whole_euros(terms.reward_full_payment_cents),
        "reward_instalments": format_whole_euros(terms.reward_instalments_cents),
        "code_percent": str(terms.discount_code_percent),
        "code_days": str(terms.discount_code_days),
        "quote_days": str(terms.quote_days),
    }


def _later_instalments(terms: SaleTerms) -> str:
    """ "los otros dos, 20 y 40 días después", or "el otro, 20 días después"."""
    plan = terms.plan
    *first, last = [str(plan.days_until(number)) for number in range(2, plan.count + 1)]
    if not first:
        return f"el otro, {last} días después"
    return f"los otros {_NUMBERS[plan.count - 1]}, {', '.join(first)} y {last} días después"


PLACEHOLDERS = tuple(text_values(SaleTerms()))

# The sentence of a new shop's legal text, as it stood before texts had these placeholders.
_LITERAL = (
    "tres pagos sin intereses, uno cada 20 días. El primero se cobra al hacer el pedido; los otros "
    "dos, 20 y 40 días después, en la misma tarjeta."
)
_WITH_PLACEHOLDERS = (
    "{{ instalments_in_words }} pagos sin intereses, uno cada {{ instalment_days }} días. El "
    "primero se cobra al hacer el pedido; {{ later_instalments }}, en la misma tarjeta."
)


def with_placeholders(text: str) -> str:
    """The text with placeholders in the place of the numbers that a new shop's text had."""
    return text.replace(_LITERAL, _WITH_PLACEHOLDERS)
