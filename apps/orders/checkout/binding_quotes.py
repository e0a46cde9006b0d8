"""Quotes that bind: the price of a quote for a cart (docs/rules.md, "Quotes that bind").

Quotes live in `apps.leads`, which may import orders but not the other way round. When the program
starts, leads registers how a quote is looked up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.utils import timezone
from django.utils.formats import date_format

from apps.orders.checkout.cart import CartLine
from apps.orders.models import Order, UsedQuote
from apps.orders.promo import uses as promo_uses
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.promo_checks import BuyerRefused, PromoRefused, check_buyer, check_uses_left
from apps.pricing.reads import campaign_today
from apps.pricing.rules import QuoteTerms, quote_mismatch

TODAY = "Se aplican los precios de hoy."
UNKNOWN = f"El presupuesto no existe. {TODAY}"
USED = f"Este presupuesto ya se usó en una compra. {TODAY}"
MISMATCHES = {
    "other_subjects": (
        "El precio de tu presupuesto es para exactamente sus asignaturas, completas. " + TODAY
    ),
    "cheaper_today": f"Hoy tu compra cuesta menos que en tu presupuesto. {TODAY}",
}
PAYMENT_TYPES = {
    PaymentType.FULL: "el pago completo",
    PaymentType.INSTALMENTS: "el pago a plazos",
}
NO_CODE_ON_TOP = "El precio de tu presupuesto no admite además un código promocional."


@dataclass(frozen=True)
class BindingQuote:
    """A quote and its terms. `key` is the signed id in its link, `number` its number in the admin.

    `terms.price_cents` is the price after the discount of a real friend code, if the quote has one.
    `friend_cents` is that discount.
    """

    number: int
    key: str
    terms: QuoteTerms
    valid_until: datetime
    friend_code: PromoCode | None = None
    friend_cents: int = 0


class QuoteLookup(Protocol):
    """Looks quotes up. Both methods return None for a quote that does not exist or was deleted."""

    def by_key(self, key: str) -> BindingQuote | None: ...

    def by_number(self, number: int) -> BindingQuote | None: ...


_lookups: list[QuoteLookup] = []


def look_up_quotes_in(lookup: QuoteLookup) -> None:
    """Register the lookup of quotes. Called once when the program starts."""
    _lookups[:] = [lookup]


def by_key(key: str) -> BindingQuote | None:
    return next((lookup.by_key(key) for lookup in _lookups), None)


def by_number(number: int | None) -> BindingQuote | None:
    return next((lookup.by_number(number) for lookup in _lookups), None) if number else None


@dataclass(frozen=True)
class BindingPrice:
    """The price that binds for a cart, or None and the reason why the quote does not bind.

    `friend_code` has to be reserved for the order, so that its owner earns the reward. `notice` is
    a Spanish sentence for the buyer: why the quote does not bind, or that it binds without its
    friend code.
    """

    quote: BindingQuote | None = None
    price_cents: int | None = None
    friend_code: PromoCode | None = None
    notice: str = ""
    # Earlier purchases took the friend code's discount away.
    buyer_refused: bool = False

    @property
    def number(self) -> int | None:
        return self.quote.number if self.quote and self.price_cents is not None else None


def expired_notice(valid_until: datetime) -> str:
    day = date_format(timezone.localtime(valid_until), r"j \d\e F \d\e Y")
    return f"Tu presupuesto caducó el {day}. {TODAY}"


def is_used(number: int, *, but_for: Order | None = None) -> bool:
    """Whether an order other than `but_for` was paid with the quote, which is for one purchase."""
    uses = UsedQuote.objects.filter(number=number)
    return (uses.exclude(order=but_for) if but_for is not None else uses).exists()


def use(order: Order) -> bool:
    """Record that the order was paid with its quote. False if another order has used the quote.

    The unique constraint decides between two orders that are paid at the same moment.
    """
    if order.quote_number is None:
        return True
    UsedQuote.objects.bulk_create(
        [UsedQuote(number=order.quote_number, order=order)], ignore_conflicts=True
    )
    return not is_used(order.quote_number, but_for=order)


def binding_price(
    quote: BindingQuote | None,
    lines: Sequence[CartLine],
    *,
    payment_type: PaymentType,
    email: str,
    order: Order | None,
    phone: str,
    check_purchases: bool,
) -> BindingPrice:
    """The price that the quote binds for this cart and buyer, at this moment.

    A friend code that was switched off after the quote was sent still counts. It does not count for
    a buyer who has bought before, for the code's owner, or once its uses are taken: then the price
    binds without the discount, and `notice` says so. Earlier purchases count only if
    `check_purchases` is true (`promo.uses.check`).
    """
    if quote is None:
        return BindingPrice(notice=UNKNOWN)
    if timezone.now() > quote.valid_until:
        return BindingPrice(notice=expired_notice(quote.valid_until))
    if is_used(quote.number, but_for=order):
        return BindingPrice(notice=USED)
    notice, friend_code, terms, buyer_refused = "", quote.friend_code, quote.terms, False
    if friend_code is not None:
        held = order is not None and promo_uses.holds(order, friend_code)
        try:
            check_uses_left(friend_code, held=held)
            if check_purchases:
                person = promo_uses.buyer(friend_code, email=email, phone=phone, order=order)
                check_buyer(friend_code, person)
        except PromoRefused as refusal:
            notice = f"Tu presupuesto va sin el descuento de amigo. {refusal.message}"
            friend_code = None
            buyer_refused = isinstance(refusal, BuyerRefused)
            terms = QuoteTerms(
                terms.subject_ids, terms.payment_type, terms.price_cents + quote.friend_cents
            )
    mismatch = quote_mismatch(
        terms,
        [(line.subject.pk, line.item) for line in lines],
        payment_type=payment_type,
        campaign=campaign_today(),
    )
    if mismatch == "other_payment_type":
        how = PAYMENT_TYPES[terms.payment_type]
        return BindingPrice(notice=f"El precio de tu presupuesto es para {how}. {TODAY}")
    if mismatch is not None:
        return BindingPrice(notice=MISMATCHES[mismatch], buyer_refused=buyer_refused)
    return BindingPrice(quote, terms.price_cents, friend_code, notice, buyer_refused)
