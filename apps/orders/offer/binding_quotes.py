"""Quotes that bind: the price of a quote for a cart (docs/rules.md, "Quotes that bind").

Quotes live in `apps.leads`, which may import orders but not the other way round. When the program
starts, leads registers how a quote is looked up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format

from apps.orders.models import Order, UsedQuote
from apps.orders.offer.cart import CartLine
from apps.orders.promo.uses import Standing
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.promo_checks import BuyerRefused, PromoRefused
from apps.pricing.rules import Campaigns, QuoteTerms, quote_mismatch
from apps.pricing.sale_terms import SaleTerms

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
NO_CODE_ON_TOP = "El precio de tu presupuesto no se puede combinar con un código promocional."


@dataclass(frozen=True)
class BindingQuote:
    """A quote and its terms. `key` is the signed id in its link, `number` its number in the admin.

    `terms.price_cents` is the price after the discount of a real friend code, if the quote has one.
    `friend_cents` is that discount.
    """

    number: int
    key: str
    terms: QuoteTerms
    sent_at: datetime
    valid_until: datetime
    friend_code: PromoCode | None = None
    friend_cents: int = 0


# Finds the quote with this key or, without a key, with this number. None if there is none.
QuoteLookup = Callable[[str, int | None], BindingQuote | None]
_lookups: list[QuoteLookup] = []


def look_up_quotes_with(lookup: QuoteLookup) -> None:
    """Register the lookup of quotes. Called once when the program starts."""
    _lookups[:] = [lookup]


def find(key: str, number: int | None) -> BindingQuote | None:
    return next((lookup(key, number) for lookup in _lookups), None)


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


def refusal_of(quote: BindingQuote | None, order: Order | None) -> str:
    """Why the quote binds nobody any more, as a Spanish sentence; empty if it may bind."""
    if quote is None:
        return UNKNOWN
    if timezone.now() > quote.valid_until:
        return expired_notice(quote.valid_until)
    return USED if is_used(quote.number, but_for=order) else ""


@dataclass(frozen=True)
class BindingPrice:
    """The price that binds for a cart, or None and the reason why the quote does not bind.

    `friend` is the friend code to reserve for the order, so that its owner earns the reward.
    `notice` is a Spanish sentence for the buyer: why the quote does not bind, or that it binds
    without its friend code.
    """

    quote: BindingQuote | None = None
    price_cents: int | None = None
    friend: Standing | None = None
    notice: str = ""
    # Earlier purchases took the friend code's discount away.
    buyer_refused: bool = False
    # This cart was promised for this payment type, even if it costs less today than was promised.
    is_promised: bool = False
    # Staff have agreed the price.
    is_agreed: bool = False


def binding_price(
    quote: BindingQuote,
    friend: Standing | None,
    lines: Sequence[CartLine],
    *,
    terms: SaleTerms,
    payment_type: PaymentType,
    campaigns: Campaigns,
) -> BindingPrice:
    """The price that the quote binds for this cart and buyer.

    `friend` is the buyer's standing with the quote's friend code. A code that was switched off
    after the quote was sent still counts. It does not count for a buyer who has bought before, for
    the code's owner, or once its uses are taken: then the price binds without the discount, and
    `notice` says so.
    """
    notice, quoted, buyer_refused = "", quote.terms, False
    if friend is not None:
        try:
            friend.check_quoted()
        except PromoRefused as refusal:
            notice = f"Tu presupuesto va sin el descuento de amigo. {refusal.message}"
            friend = None
            buyer_refused = isinstance(refusal, BuyerRefused)
            quoted = replace(quoted, price_cents=quoted.price_cents + quote.friend_cents)
    mismatch = quote_mismatch(
        quoted,
        [line.item for line in lines],
        terms=terms,
        payment_type=payment_type,
        campaigns=campaigns,
    )
    if mismatch == "other_payment_type":
        how = PAYMENT_TYPES[quoted.payment_type]
        return BindingPrice(notice=f"El precio de tu presupuesto es para {how}. {TODAY}")
    if mismatch is not None:
        cheaper = mismatch == "cheaper_today"
        notice = MISMATCHES[mismatch]
        return BindingPrice(notice=notice, buyer_refused=buyer_refused, is_promised=cheaper)
    return BindingPrice(quote, quoted.price_cents, friend, notice, buyer_refused, is_promised=True)
