"""Tags that every template has: money."""

from decimal import Decimal

from django import template

from apps.core.money import format_euros, to_cents

register = template.Library()


@register.filter
def euros(amount: Decimal | int) -> str:
    """ "1234,56 €" from euros as a Decimal."""
    return format_euros(to_cents(Decimal(amount)))
