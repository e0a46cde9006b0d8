"""The quotes of this app as orders know them: `OfferBook` of `orders.offers`."""

from apps.core.money import to_cents
from apps.leads.links import quote_from_link, signed_id
from apps.leads.models import Quote
from apps.orders.offers import Offer
from apps.pricing.rules import INVITED_NAME, OfferTerms


class QuoteBook:
    def by_key(self, key: str) -> Offer | None:
        quote = quote_from_link(key)
        return offer_of(quote) if quote else None

    def by_number(self, number: int) -> Offer | None:
        quote = Quote.objects.filter(pk=number).first()
        return offer_of(quote) if quote else None


def offer_of(quote: Quote) -> Offer | None:
    """The quote as it binds; None where one of its subjects is not in the catalogue any more."""
    subject_ids = frozenset(row.subject_id for row in quote.subjects.all() if row.subject_id)
    if len(subject_ids) != quote.subjects.count():
        return None
    friend_cents = sum(
        to_cents(row.amount)
        for row in quote.discounts.all()
        if row.name == INVITED_NAME and not row.is_subject_to_check
    )
    full = quote.payment_type == Quote.PaymentType.FULL
    return Offer(
        number=quote.pk,
        key=signed_id(quote),
        terms=OfferTerms(
            subject_ids=subject_ids,
            payment_type="full_payment" if full else "installment",
            price_cents=to_cents(quote.binding_price),
        ),
        valid_until=quote.valid_until,
        friend_code=quote.friend_promo if friend_cents else None,
        friend_cents=friend_cents,
    )
