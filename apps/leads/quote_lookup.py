"""Finds quotes for checkout, which may not import this app (`orders.offer.binding_quotes`)."""

from apps.core.money import to_cents
from apps.leads.models import Quote
from apps.leads.quote_links import quote_from_link, signed_id
from apps.orders.offer.binding_quotes import BindingQuote
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import DiscountKind, QuoteTerms


def find_quote(key: str, number: int | None) -> BindingQuote | None:
    """Find the quote of a link's key or, without a key, of a number in the admin."""
    quote = quote_from_link(key) if key else Quote.objects.filter(pk=number or 0).first()
    return _binding_quote_of(quote) if quote else None


def _binding_quote_of(quote: Quote) -> BindingQuote | None:
    """Return the quote as checkout sees it, or None if one of its subjects was deleted."""
    subject_ids = frozenset(row.subject_id for row in quote.subjects.all() if row.subject_id)
    if len(subject_ids) != quote.subjects.count():
        return None
    friend_cents = sum(
        to_cents(row.amount)
        for row in quote.discounts.all()
        if row.kind == DiscountKind.FRIEND_CODE and not row.is_subject_to_check
    )
    return BindingQuote(
        number=quote.pk,
        key=signed_id(quote),
        terms=QuoteTerms(
            subject_ids=subject_ids,
            payment_type=PaymentType(quote.payment_type),
            price_cents=to_cents(quote.binding_price),
        ),
        sent_at=quote.lead.created_at,
        valid_until=quote.valid_until,
        friend_code=quote.friend_promo if friend_cents else None,
        friend_cents=friend_cents,
    )
