"""The price rules of the cart, as pure functions on integer cents (docs/rules.md, "Prices").

The browser applies the same rules in `static_src/lib/pricing/quote.ts`, with numbers from GET
/api/pricing. Both are tested with `golden_cases.json`. Nothing here reads the database: callers
pass the terms of sale, which are read once for a request or task.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from typing import Literal

from apps.core.money import CENTS_PER_EURO, half_up, list_price_cents
from apps.pricing.payment_type import PaymentType
from apps.pricing.sale_terms import SaleTerms

PromoKind = Literal["PORCENTAJE", "FIJO"]
QuoteMismatch = Literal["other_subjects", "other_payment_type", "cheaper_today"]

PERCENT = 100
# Promo percentages have two decimals, so 100 % is 10 000 hundredths of a percent.
PERCENT_IN_HUNDREDTHS = 100 * PERCENT

VOLUME_NAME = "Descuento por volumen"
FULL_PAYMENT_NAME = "Pago completo ({percent} %)"
# Spanish writes months in lower case. Any other campaign name is shown as it was typed.
MONTH_CAMPAIGN_NAME = "Descuento de {name} ({percent} %)"
CAMPAIGN_NAME = "Descuento {name} ({percent} %)"
MONTHS = (
    "enero", "febrero", "marzo", "abril", "mayo", "junio",
    "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
)  # fmt: skip
PROMO_NAME = "Código promocional"
QUOTE_NAME = "Precio de tu presupuesto"
AGREED_NAME = "Precio acordado"
RENEWAL_NAME = "Precio de renovación"
CREDIT_NAME = "Ya pagado por tus lecciones"


@dataclass(frozen=True)
class CampaignTerms:
    """The discount of a campaign that runs today, and where it counts.

    With `prices_include_it` the prices are reduced already, and the cart shows higher list prices.
    """

    name: str
    percent: int
    calculator: bool
    cart: bool
    prices_include_it: bool
    ends_on: date
    # The hour of the last day at which it ends.
    ends_hour: int = 24
    # The degrees whose subjects it is for, and their names in words. None: all subjects.
    degree_ids: frozenset[int] | None = None
    audience: str = ""

    def __post_init__(self) -> None:
        # A list price is price / (1 - percent): 100 % would divide by zero. Forms allow 90 at most.
        if not 0 < self.percent < PERCENT:
            raise ValueError(f"a campaign takes 1 to 99 percent, not {self.percent}")

    @property
    def deducted_percent(self) -> int:
        """The percentage that the catalogue's cards and the cart take off the prices, or 0."""
        return self.percent if self.cart and not self.prices_include_it else 0

    @property
    def included_percent(self) -> int:
        """The percentage that the prices of catalogue and cart have been reduced by, or 0."""
        return self.percent if self.cart and self.prices_include_it else 0

    @property
    def only_in_calculator(self) -> bool:
        """Whether the calculator takes the percentage off prices that the cart leaves as they are.

        Then it is paid with a quote's link only.
        """
        return self.calculator and not self.deducted_percent

    @property
    def discount_name(self) -> str:
        """The discount's name: "Descuento de agosto (20 %)" or "Descuento Black Friday (30 %)"."""
        name = self.name.strip()
        if name.lower() in MONTHS:
            return MONTH_CAMPAIGN_NAME.format(name=name.lower(), percent=self.percent)
        return CAMPAIGN_NAME.format(name=name, percent=self.percent)


# The campaigns that run now, the largest percentage first.
Campaigns = Sequence[CampaignTerms]


def campaign_for(campaigns: Campaigns, degree_id: int | None) -> CampaignTerms | None:
    """The one campaign that counts for a subject of this degree, or None.

    Of those for its degree and those for all, the largest percentage counts; campaigns never add
    up (docs/rules.md, "Campaigns"). Without a degree only campaigns for all count.
    """
    return next(
        (one for one in campaigns if one.degree_ids is None or degree_id in one.degree_ids), None
    )


def counting(campaigns: Campaigns) -> tuple[CampaignTerms, ...]:
    """The campaigns that are the largest one of some subject's degree."""
    found: list[CampaignTerms] = []
    covered = frozenset[int]()
    for one in campaigns:
        if one.degree_ids is None:
            return (*found, one)
        if not one.degree_ids <= covered:
            found.append(one)
            covered |= one.degree_ids
    return tuple(found)


@dataclass(frozen=True)
class PromoTerms:
    """The discount of a promo code. Whether the code is valid is checked in `promo_checks`.

    `value` is in hundredths: of a percent for PORCENTAJE, of a euro (cents) for FIJO. A friend
    code takes nothing off a cart without a complete subject. `most_cents` is what a percentage
    takes off one cart at most.
    """

    kind: PromoKind
    value: int
    is_friend_code: bool = False
    most_cents: int | None = None

    def __post_init__(self) -> None:
        if self.value < 0 or (self.kind == "PORCENTAJE" and self.value > PERCENT_IN_HUNDREDTHS):
            raise ValueError(f"{self.value} is no value for a {self.kind} code")


@dataclass(frozen=True)
class QuoteTerms:
    """What a quote binds to: exactly these subjects, complete, with this payment type and price."""

    subject_ids: frozenset[int]
    payment_type: PaymentType
    price_cents: int


@dataclass(frozen=True)
class Item:
    """A cart line: a complete subject at its `final_price`, or a single lesson at its `price`.

    `subject_id` is that of the subject, or of the lesson's. `paid_cents` were paid for lessons of
    the complete subject that its buyer has.
    """

    price_cents: int
    complete: bool
    subject_id: int | None = None
    degree_id: int | None = None
    paid_cents: int = 0

    def __post_init__(self) -> None:
        if self.price_cents < 0 or self.paid_cents < 0:
            raise ValueError("a price is never negative")
        if self.paid_cents and not self.complete:
            raise ValueError("only complete subjects cost less because of their lessons")


class DiscountKind(StrEnum):
    CAMPAIGN = "campaign"
    VOLUME = "volume"
    FULL_PAYMENT = "full_payment"
    PROMO_CODE = "promo_code"
    QUOTE = "quote"
    CREDIT = "credit"
    # Rows store the values of these two.
    FRIEND_CODE = "invited"
    FRIENDS = "invitees"


@dataclass(frozen=True)
class Discount:
    """An amount above 0 that is taken off. Code compares the kind; people read the Spanish name."""

    kind: DiscountKind
    name: str
    amount_cents: int


@dataclass(frozen=True)
class CartLine:
    """The two prices of an item. They differ only while a campaign shows list prices.

    `credit_cents` is the part of the total that was paid for the subject's lessons before.
    """

    list_price_cents: int
    price_cents: int
    credit_cents: int = 0


@dataclass(frozen=True)
class CartQuote:
    """The price of a cart.

    `list_total_cents` is the sum of the list prices, `subtotal_cents` the sum of the prices.
    `total_cents` is `list_total_cents` less all `discounts`. `promo_cents` is the amount that the
    promo code takes off.
    """

    lines: tuple[CartLine, ...]
    discounts: tuple[Discount, ...]
    list_total_cents: int
    subtotal_cents: int
    total_cents: int
    promo_cents: int


@dataclass(frozen=True)
class SubjectCard:
    """The prices of a catalogue card. The discount is in whole euros, not cents.

    The list price is crossed out if it is above the price.
    """

    list_price_cents: int
    price_cents: int
    discount_euros: int


class _Remainder:
    """The amount still to pay while discounts are taken off one after the other.

    Each discount is cut to what remains. So the total never falls below 0, and the listed discounts
    always add up to the difference.
    """

    def __init__(self, cents: int) -> None:
        self.cents = cents
        self.discounts: list[Discount] = []

    def take(self, kind: DiscountKind, name: str, amount_cents: int) -> int:
        taken = min(amount_cents, self.cents)
        if taken > 0:
            self.cents -= taken
            self.discounts.append(Discount(kind, name, taken))
        return taken


def quote_cart(
    items: Sequence[Item],
    *,
    terms: SaleTerms,
    payment_type: PaymentType,
    campaigns: Campaigns = (),
    promo: PromoTerms | None = None,
    binding_cents: int | None = None,
    binding_name: str = QUOTE_NAME,
) -> CartQuote:
    """Return the price of a cart.

    Discounts apply in this order: campaign, volume (complete subjects only), full payment, and the
    promo code on what remains. The percentages of campaign and full payment are taken of the sum of
    the prices. The caller checks that the campaigns run now and that the promo code is valid. Each
    item has the one campaign that counts for its degree.

    `binding_cents` is the price of a quote that binds for this cart; the caller has checked that
    with `quote_mismatch`. Staff may have agreed it instead: `binding_name`.
    Its one discount replaces all others, the promo code's included. Raises
    ValueError if it is above the sum of the prices.

    Last, and from a quote's price, too, comes off what was paid for lessons (`Item.paid_cents`).
    """
    in_cart = [campaign for campaign in campaigns if campaign.cart]
    of_items = [campaign_for(in_cart, item.degree_id) for item in items]
    lines = tuple(_line(item, campaign) for item, campaign in zip(items, of_items, strict=True))
    remainder = _Remainder(sum(line.list_price_cents for line in lines))
    subtotal_cents = sum(line.price_cents for line in lines)
    promo_cents = 0
    if binding_cents is not None:
        _take_binding_price(remainder, subtotal_cents, binding_cents, binding_name)
    else:
        complete_subjects = sum(item.complete for item in items)
        for campaign in in_cart:
            reduced = [line for line, one in zip(lines, of_items, strict=True) if one is campaign]
            _take_campaign(remainder, reduced, campaign)
        _take_volume(remainder, complete_subjects, terms)
        if payment_type == PaymentType.FULL:
            _take_full_payment(remainder, subtotal_cents, terms)
        promo_cents = _take_promo(remainder, promo, complete_subjects)
    lines = _with_credits(lines, items, remainder.cents)
    remainder.take(DiscountKind.CREDIT, CREDIT_NAME, sum(line.credit_cents for line in lines))
    return CartQuote(
        lines=lines,
        discounts=tuple(remainder.discounts),
        list_total_cents=sum(line.list_price_cents for line in lines),
        subtotal_cents=subtotal_cents,
        total_cents=remainder.cents,
        promo_cents=promo_cents,
    )


def _take_binding_price(
    remainder: _Remainder, subtotal_cents: int, binding_cents: int, name: str
) -> None:
    if not 0 <= binding_cents <= subtotal_cents:
        raise ValueError(f"{binding_cents} can't bind for prices of {subtotal_cents}")
    remainder.take(DiscountKind.QUOTE, name, remainder.cents - binding_cents)


def _with_credits(
    lines: tuple[CartLine, ...], items: Sequence[Item], total_cents: int
) -> tuple[CartLine, ...]:
    """The lines with what was paid for lessons before, at most each line's part of the total.

    A subject whose lessons cost more than it does makes no other line cheaper.
    """
    list_total_cents = sum(line.list_price_cents for line in lines)
    if not list_total_cents:
        return lines
    return tuple(
        replace(
            line,
            credit_cents=min(
                item.paid_cents, total_cents * line.list_price_cents // list_total_cents
            ),
        )
        for line, item in zip(lines, items, strict=True)
    )


def _line(item: Item, campaign: CampaignTerms | None) -> CartLine:
    included = campaign.included_percent if campaign is not None else 0
    return CartLine(list_price_cents(item.price_cents, included), item.price_cents)


def _take_campaign(
    remainder: _Remainder, lines: Sequence[CartLine], campaign: CampaignTerms
) -> None:
    subtotal_cents = sum(line.price_cents for line in lines)
    cents = (
        sum(line.list_price_cents for line in lines) - subtotal_cents
        if campaign.prices_include_it
        else half_up(subtotal_cents * campaign.percent, PERCENT)
    )
    remainder.take(DiscountKind.CAMPAIGN, campaign.discount_name, cents)


def _take_volume(remainder: _Remainder, complete_subjects: int, terms: SaleTerms) -> None:
    cents = terms.volume_discount_cents(complete_subjects)
    remainder.take(DiscountKind.VOLUME, VOLUME_NAME, cents)


def _take_full_payment(remainder: _Remainder, subtotal_cents: int, terms: SaleTerms) -> None:
    percent = terms.full_payment_percent
    name = FULL_PAYMENT_NAME.format(percent=percent)
    remainder.take(DiscountKind.FULL_PAYMENT, name, half_up(subtotal_cents * percent, PERCENT))


def _take_promo(remainder: _Remainder, promo: PromoTerms | None, complete_subjects: int) -> int:
    if promo is None or (promo.is_friend_code and not complete_subjects):
        return 0
    cents = promo_discount_cents(promo, remainder.cents)
    return remainder.take(DiscountKind.PROMO_CODE, PROMO_NAME, cents)


def promo_discount_cents(promo: PromoTerms, remaining_cents: int) -> int:
    """Return what a code takes off the amount that other discounts left, at most that amount.

    Percentages are rounded half up to the cent.
    """
    if promo.kind == "FIJO":
        return min(promo.value, remaining_cents)
    cents = half_up(remaining_cents * promo.value, PERCENT_IN_HUNDREDTHS)
    return cents if promo.most_cents is None else min(cents, promo.most_cents)


def quote_mismatch(
    quoted: QuoteTerms,
    items: Sequence[Item],
    *,
    terms: SaleTerms,
    payment_type: PaymentType,
    campaigns: Campaigns,
) -> QuoteMismatch | None:
    """Return why a quote does not bind for a cart, or None if it binds.

    The caller checks that the quote has not expired and has not been used. A quote never costs more
    than the same cart without it, today's campaign and discounts included.
    """
    ids = [item.subject_id for item in items]
    all_complete = all(item.complete for item in items)
    if not all_complete or len(ids) != len(quoted.subject_ids) or set(ids) != quoted.subject_ids:
        return "other_subjects"
    if payment_type != quoted.payment_type:
        return "other_payment_type"
    today = quote_cart(items, terms=terms, payment_type=payment_type, campaigns=campaigns)
    if today.total_cents < quoted.price_cents:
        return "cheaper_today"
    return None


def subject_card(
    final_price_cents: int,
    total_discounts_percent: int,
    *,
    campaign: CampaignTerms | None = None,
    lowest_cents: int | None = None,
) -> SubjectCard:
    """Return the prices of a catalogue card.

    The price is the final price, less what a campaign takes off in the cart. The list price is
    final / (1 - discount): 0 percent gives the final price. While a campaign runs that the prices
    include, its percentage is the discount, as in the cart. `lowest_cents`, the lowest price of the
    last 30 days, replaces it where the price history is required. Raises ValueError for a
    percentage outside 0 to 99.
    """
    if not 0 <= total_discounts_percent < PERCENT:
        raise ValueError(
            f"a subject's discounts are 0 to 99 percent, not {total_discounts_percent}"
        )
    off = campaign.deducted_percent if campaign is not None else 0
    price_cents = final_price_cents - half_up(final_price_cents * off, PERCENT)
    if lowest_cents is not None:
        # A campaign reduces today's price, so that one counts among the earlier prices.
        earlier_cents = min(lowest_cents, final_price_cents) if off else lowest_cents
        list_cents = max(earlier_cents, price_cents)
        discount_euros = half_up(list_cents - price_cents, CENTS_PER_EURO)
        return SubjectCard(list_cents, price_cents, discount_euros)
    included = campaign.included_percent if campaign is not None else 0
    discount_percent = included or total_discounts_percent
    remaining_percent = PERCENT - discount_percent
    return SubjectCard(
        list_price_cents=list_price_cents(final_price_cents, discount_percent),
        price_cents=price_cents,
        # Computed from the exact difference, not from the rounded prices: rounded once.
        discount_euros=half_up(
            final_price_cents * (PERCENT * PERCENT - remaining_percent * (PERCENT - off)),
            remaining_percent * PERCENT * CENTS_PER_EURO,
        ),
    )
