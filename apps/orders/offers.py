"""Quotes that bind: what a signed quote is worth for a cart (decisions.md, "Calculator").

Who makes quotes (`leads`) stands to the left of orders and may not be imported here: it hands over
how a quote is found, when the program starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.utils import timezone
from django.utils.formats import date_format

from apps.orders import promo as promo_uses
from apps.orders.cart import CartLine
from apps.orders.models import Order, UsedQuote
from apps.pricing.models import PromoCode
from apps.pricing.promo import PromoRefused, check_buyer, check_uses_left
from apps.pricing.rules import OfferTerms, PaymentType, offer_mismatch

TODAY = "Se aplican los precios de hoy."
UNKNOWN = f"El presupuesto no existe. {TODAY}"
USED = f"Este presupuesto ya se usó en una compra. {TODAY}"
MISMATCHES = {
    "other_subjects": (
        "El precio de tu presupuesto es para exactamente sus asignaturas, completas. " + TODAY
    ),
    "cheaper_today": f"Hoy la suma de los precios es menor que tu presupuesto. {TODAY}",
}
PAYMENT_TYPES = {"full_payment": "el pago completo", "installment": "el pago a plazos"}
NO_CODE_ON_TOP = "El precio de tu presupuesto no admite además un código promocional."


@dataclass(frozen=True)
class Offer:
    """A quote as it binds. `key` is the signed id of its link, `number` what staff know it by.

    `terms.price_cents` has the friend code's part taken off where the quote has a real one;
    `friend_cents` is that part.
    """

    number: int
    key: str
    terms: OfferTerms
    valid_until: datetime
    friend_code: PromoCode | None = None
    friend_cents: int = 0


class OfferBook(Protocol):
    """Where quotes are found; both answer None for what does not exist (any more)."""

    def by_key(self, key: str) -> Offer | None: ...

    def by_number(self, number: int) -> Offer | None: ...


_books: list[OfferBook] = []


def keep_offers_in(book: OfferBook) -> None:
    """Say once, when the program starts, where quotes are found."""
    _books[:] = [book]


def by_key(key: str) -> Offer | None:
    return next((book.by_key(key) for book in _books), None)


def by_number(number: int | None) -> Offer | None:
    return next((book.by_number(number) for book in _books), None) if number else None


@dataclass(frozen=True)
class Bound:
    """What a quote means for a cart: the price that binds and its number, or why it does not.

    `friend_code` is to be reserved for the order, which then brings its owner the reward.
    `notice` is a Spanish sentence to show; also beside a price that binds, where it is not the
    whole of what was quoted.
    """

    offer: Offer | None = None
    price_cents: int | None = None
    friend_code: PromoCode | None = None
    notice: str = ""

    @property
    def number(self) -> int | None:
        return self.offer.number if self.offer and self.price_cents is not None else None


def expired_notice(valid_until: datetime) -> str:
    day = date_format(timezone.localtime(valid_until), r"j \d\e F \d\e Y")
    return f"Tu presupuesto caducó el {day}. {TODAY}"


def is_used(number: int, *, but_for: Order | None = None) -> bool:
    """Whether an order has been paid with the quote: a quote is for one purchase."""
    uses = UsedQuote.objects.filter(number=number)
    return (uses.exclude(order=but_for) if but_for is not None else uses).exists()


def use(order: Order) -> bool:
    """Record that the order was paid with its quote; False where another order was before it.

    The unique number decides, also between two that are paid at the same moment.
    """
    if order.quote_number is None:
        return True
    UsedQuote.objects.bulk_create(
        [UsedQuote(number=order.quote_number, order=order)], ignore_conflicts=True
    )
    return not is_used(order.quote_number, but_for=order)


def bound(
    offer: Offer | None,
    lines: Sequence[CartLine],
    *,
    payment_type: PaymentType,
    email: str,
    phone: str,
    order: Order | None,
) -> Bound:
    """Whether the quote binds for this cart, now; its friend code is checked for this very buyer.

    What was promised stays promised where the code has been switched off since. It is left out,
    and said so, for who has bought before, for the code's own student, and once it is used up.
    """
    if offer is None:
        return Bound(notice=UNKNOWN)
    if timezone.now() > offer.valid_until:
        return Bound(notice=expired_notice(offer.valid_until))
    if is_used(offer.number, but_for=order):
        return Bound(notice=USED)
    notice, friend_code, terms = "", offer.friend_code, offer.terms
    if friend_code is not None:
        held = order is not None and promo_uses.holds(order, friend_code)
        try:
            check_uses_left(friend_code, held=held)
            check_buyer(
                friend_code, promo_uses.buyer(friend_code, email=email, phone=phone, order=order)
            )
        except PromoRefused as refusal:
            notice = f"Tu presupuesto va sin el descuento de amigo. {refusal.message}"
            friend_code = None
            terms = OfferTerms(
                terms.subject_ids, terms.payment_type, terms.price_cents + offer.friend_cents
            )
    mismatch = offer_mismatch(
        terms, [(line.subject.pk, line.item) for line in lines], payment_type=payment_type
    )
    if mismatch == "other_payment_type":
        how = PAYMENT_TYPES[terms.payment_type]
        return Bound(notice=f"El precio de tu presupuesto es para {how}. {TODAY}")
    if mismatch is not None:
        return Bound(notice=MISMATCHES[mismatch])
    return Bound(offer, terms.price_cents, friend_code, notice)
