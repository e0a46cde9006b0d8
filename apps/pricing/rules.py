"""Every price rule of the shop, as pure functions on integer cents.

The rules come from the decisions ("Money", "Calculator", "Cart", "Campaigns", "Promo and referral
codes") and from section 9 of both specifications. The browser applies the same rules in
`static_src/lib/quote.ts`, with the numbers it gets from `pricing_data`; `golden_cases.json` is run
through both, so that they cannot drift. No ORM here: callers turn rows into the terms below.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from apps.core.money import CENTS_PER_EURO, as_json, half_up, list_price_cents

PaymentType = Literal["full_payment", "installment"]
PromoKind = Literal["PORCENTAJE", "FIJO"]
InstalmentsRefusal = Literal["no_complete_subject", "below_minimum"]
OfferMismatch = Literal["other_subjects", "other_payment_type", "cheaper_today"]

PERCENT = 100
# Promo percentages have two decimals, so 100 % is 10 000 hundredths of a percent.
PERCENT_IN_HUNDREDTHS = 100 * PERCENT

VOLUME_NAME = "Descuento por volumen"
FULL_PAYMENT_NAME = "Pago completo ({percent} %)"
# A month is a common noun in Spanish; any other name is written as its owner writes it.
MONTH_CAMPAIGN_NAME = "Descuento de {name} ({percent} %)"
CAMPAIGN_NAME = "Descuento {name} ({percent} %)"
MONTHS = (
    "enero", "febrero", "marzo", "abril", "mayo", "junio",
    "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
)  # fmt: skip
PROMO_NAME = "Código promocional"
OFFER_NAME = "Precio de tu presupuesto"
INVITED_NAME = "Código de amigo"
INVITEES_NAME = "Amigos invitados"


@dataclass(frozen=True)
class Constants:
    """The numbers of the shop (shop spec, section 9; public site spec, section 9)."""

    volume: tuple[tuple[int, int], ...] = (
        (2, 15_00),
        (3, 45_00),
        (4, 70_00),
        (5, 90_00),
        (6, 110_00),
    )
    unit_base_price_cents: int = 240_00
    full_payment_percent: int = 5
    invited_cents: int = 15_00
    invitee_cents: int = 20_00
    invitee_max: int = 8
    # What the owner of a referral code gets, by how the friend pays (decisions, "Promo codes").
    reward_full_payment_cents: int = 25_00
    reward_instalments_cents: int = 20_00
    instalment_count: int = 3
    instalment_every_days: int = 20
    instalment_minimum_total_cents: int = 30_00

    def volume_discount_cents(self, subjects: int) -> int:
        """Return the fixed discount of the highest tier that so many subjects reach."""
        return max((cents for tier, cents in self.volume if subjects >= tier), default=0)


PRICING = Constants()


@dataclass(frozen=True)
class CampaignTerms:
    """A campaign in force today: what it takes off, and where.

    With `prices_include_it` cart prices are already reduced, and only list prices show it.
    """

    name: str
    percent: int
    calculator: bool
    cart: bool
    prices_include_it: bool
    ends_on: date

    def __post_init__(self) -> None:
        # A list price is price / (1 - percent): 100 % would divide by zero.
        if not 0 < self.percent < PERCENT:
            raise ValueError(f"a campaign takes 1 to 99 percent, not {self.percent}")

    @property
    def discount_name(self) -> str:
        """The line in carts and quotes: "Descuento de agosto (20 %)" (api.md), of any other
        campaign "Descuento Black Friday (30 %)"."""
        name = self.name.strip()
        if name.lower() in MONTHS:
            return MONTH_CAMPAIGN_NAME.format(name=name.lower(), percent=self.percent)
        return CAMPAIGN_NAME.format(name=name, percent=self.percent)


@dataclass(frozen=True)
class PromoTerms:
    """What a valid promo code takes off. Whether it is valid is not decided here.

    `value` is in hundredths: of a percent for PORCENTAJE, of a euro (cents) for FIJO. A referral
    code is for those who buy at least one complete subject, and takes nothing off other carts.
    """

    kind: PromoKind
    value: int
    is_referral: bool = False

    def __post_init__(self) -> None:
        if self.value < 0 or (self.kind == "PORCENTAJE" and self.value > PERCENT_IN_HUNDREDTHS):
            raise ValueError(f"{self.value} is no value for a {self.kind} code")


@dataclass(frozen=True)
class Item:
    """A cart line: a complete subject at its `final_price`, or a single lesson at its `price`."""

    price_cents: int
    complete: bool

    def __post_init__(self) -> None:
        if self.price_cents < 0:
            raise ValueError("a price is never negative")


@dataclass(frozen=True)
class Discount:
    """A named amount that is taken off; always more than 0."""

    name: str
    amount_cents: int


@dataclass(frozen=True)
class CartLine:
    """The two prices of an item; they differ only while a campaign shows list prices."""

    list_price_cents: int
    price_cents: int


@dataclass(frozen=True)
class CartQuote:
    """What a cart costs.

    `list_total_cents` is the sum of the list prices, `subtotal_cents` the sum of the prices.
    `list_total_cents` less all `discounts` is `total_cents`; `promo_cents` is the code's part.
    """

    lines: tuple[CartLine, ...]
    discounts: tuple[Discount, ...]
    list_total_cents: int
    subtotal_cents: int
    total_cents: int
    promo_cents: int

    def due_now_cents(self, payment_type: PaymentType) -> int:
        """Return what the first payment takes: the total, or the first instalment."""
        if payment_type == "full_payment":
            return self.total_cents
        return split_instalments(self.total_cents)[0]


@dataclass(frozen=True)
class CalculatorQuote:
    """The calculator's answer: the final price is the base less all discounts, never below 0."""

    base_cents: int
    discounts: tuple[Discount, ...]
    final_cents: int


@dataclass(frozen=True)
class SubjectCard:
    """What a catalogue card shows beside the price; the discount is in whole euros, not cents."""

    list_price_cents: int
    discount_euros: int


class _Remainder:
    """What is still to pay while discounts are taken off one after the other.

    Each discount is cut to what remains, so that no total falls below 0 and the listed amounts
    always add up to the difference.
    """

    def __init__(self, cents: int) -> None:
        self.cents = cents
        self.discounts: list[Discount] = []

    def take(self, name: str, amount_cents: int) -> int:
        taken = min(amount_cents, self.cents)
        if taken > 0:
            self.cents -= taken
            self.discounts.append(Discount(name, taken))
        return taken


def quote_cart(
    items: Sequence[Item],
    *,
    payment_type: PaymentType,
    campaign: CampaignTerms | None = None,
    promo: PromoTerms | None = None,
    binding_cents: int | None = None,
) -> CartQuote:
    """Price a cart (decisions, "Cart"; shop spec, section 9).

    Discounts in order: campaign, volume (complete subjects only), full payment, promo code on what
    remains. Percentages of campaign and full payment are of the sum of the prices. A discount never
    takes more than remains, so the listed ones add up to the list total less the total. An empty
    cart costs 0 and has no discounts. That the campaign runs today is the caller's part.

    `binding_cents` is the price of a quote that binds for this cart (`offer_mismatch` is the
    caller's part): one line takes the place of all others, a promo code's included. Raises
    ValueError where it is more than the sum of the prices.
    """
    in_cart = campaign if campaign is not None and campaign.cart else None
    lines = tuple(
        CartLine(_list_price_cents(item.price_cents, in_cart), item.price_cents) for item in items
    )
    list_total_cents = sum(line.list_price_cents for line in lines)
    subtotal_cents = sum(line.price_cents for line in lines)
    complete_subjects = sum(item.complete for item in items)

    remainder = _Remainder(list_total_cents)
    if binding_cents is not None:
        if not 0 <= binding_cents <= subtotal_cents:
            raise ValueError(f"{binding_cents} binds nobody to prices of {subtotal_cents}")
        remainder.take(OFFER_NAME, list_total_cents - binding_cents)
        return CartQuote(
            lines=lines,
            discounts=tuple(remainder.discounts),
            list_total_cents=list_total_cents,
            subtotal_cents=subtotal_cents,
            total_cents=binding_cents,
            promo_cents=0,
        )
    if in_cart is not None:
        campaign_cents = (
            list_total_cents - subtotal_cents
            if in_cart.prices_include_it
            else half_up(subtotal_cents * in_cart.percent, PERCENT)
        )
        remainder.take(in_cart.discount_name, campaign_cents)
    remainder.take(VOLUME_NAME, PRICING.volume_discount_cents(complete_subjects))
    if payment_type == "full_payment":
        percent = PRICING.full_payment_percent
        remainder.take(
            FULL_PAYMENT_NAME.format(percent=percent), half_up(subtotal_cents * percent, PERCENT)
        )
    promo_cents = 0
    if promo is not None and (complete_subjects or not promo.is_referral):
        promo_cents = remainder.take(PROMO_NAME, promo_discount_cents(promo, remainder.cents))

    return CartQuote(
        lines=lines,
        discounts=tuple(remainder.discounts),
        list_total_cents=list_total_cents,
        subtotal_cents=subtotal_cents,
        total_cents=remainder.cents,
        promo_cents=promo_cents,
    )


@dataclass(frozen=True)
class OfferTerms:
    """What a quote binds to: exactly these subjects, complete, paid in this way, at this price."""

    subject_ids: frozenset[int]
    payment_type: PaymentType
    price_cents: int


def offer_mismatch(
    offer: OfferTerms,
    chosen: Sequence[tuple[int, Item]],
    *,
    payment_type: PaymentType,
) -> OfferMismatch | None:
    """Return why a quote does not bind for a cart, or None where it does (decisions, "Calculator").

    `chosen` is each line's subject and item. Its term and its one use are the caller's part. Where
    the sum of today's prices is lower than the quote, there is nothing that it could take off.
    """
    ids = [subject_id for subject_id, _ in chosen]
    whole = all(item.complete for _, item in chosen)
    if not whole or len(ids) != len(offer.subject_ids) or set(ids) != offer.subject_ids:
        return "other_subjects"
    if payment_type != offer.payment_type:
        return "other_payment_type"
    if sum(item.price_cents for _, item in chosen) < offer.price_cents:
        return "cheaper_today"
    return None


def _list_price_cents(price_cents: int, campaign: CampaignTerms | None) -> int:
    if campaign is None or not campaign.prices_include_it:
        return price_cents
    return list_price_cents(price_cents, campaign.percent)


def promo_discount_cents(promo: PromoTerms, remaining_cents: int) -> int:
    """Return what a code takes off what other discounts left: never more than that.

    Percentages are to the cent, half up (decisions, "Cart").
    """
    if promo.kind == "FIJO":
        return min(promo.value, remaining_cents)
    return half_up(remaining_cents * promo.value, PERCENT_IN_HUNDREDTHS)


def split_instalments(total_cents: int, count: int = PRICING.instalment_count) -> tuple[int, ...]:
    """Split a total into equal payments (decisions, "Cart").

    What does not divide goes on the first.
    """
    share, rest = divmod(total_cents, count)
    return (share + rest, *[share] * (count - 1))


def instalments_refusal(items: Sequence[Item], total_cents: int) -> InstalmentsRefusal | None:
    """Return why a cart can't be paid in instalments, or None when it can (decisions, "Cart")."""
    if not any(item.complete for item in items):
        return "no_complete_subject"
    if total_cents < PRICING.instalment_minimum_total_cents:
        return "below_minimum"
    return None


def quote_calculator(
    subject_prices_cents: Sequence[int],
    *,
    number_of_subjects: int,
    full_payment: bool,
    invited_with_code: bool,
    invitees: int,
    campaign: CampaignTerms | None = None,
) -> CalculatorQuote:
    """Price the budget calculator (decisions, "Calculator"; public site spec, section 9).

    With no subject chosen the base is the unit price times `number_of_subjects`. Percentages are of
    the base, half up to whole euros. `invited_with_code` is true when a friend code that is not
    blank was given; more invitees than the maximum count as the maximum. Raises ValueError where
    subjects are chosen, but not as many as `number_of_subjects`.
    """
    if subject_prices_cents and len(subject_prices_cents) != number_of_subjects:
        raise ValueError(f"{len(subject_prices_cents)} prices for {number_of_subjects} subjects")
    base_cents = (
        sum(subject_prices_cents)
        if subject_prices_cents
        else number_of_subjects * PRICING.unit_base_price_cents
    )
    amounts = [(VOLUME_NAME, PRICING.volume_discount_cents(number_of_subjects))]
    if campaign is not None and campaign.calculator:
        amounts.append((campaign.discount_name, _whole_euros_of(base_cents, campaign.percent)))
    if full_payment:
        percent = PRICING.full_payment_percent
        name = FULL_PAYMENT_NAME.format(percent=percent)
        amounts.append((name, _whole_euros_of(base_cents, percent)))
    if invited_with_code:
        amounts.append((INVITED_NAME, PRICING.invited_cents))
    amounts.append((INVITEES_NAME, min(invitees, PRICING.invitee_max) * PRICING.invitee_cents))

    discounts = tuple(Discount(name, cents) for name, cents in amounts if cents > 0)
    off_cents = sum(discount.amount_cents for discount in discounts)
    return CalculatorQuote(base_cents, discounts, max(0, base_cents - off_cents))


def _whole_euros_of(cents: int, percent: int) -> int:
    return half_up(cents * percent, PERCENT * CENTS_PER_EURO) * CENTS_PER_EURO


def subject_card(final_price_cents: int, total_discounts_percent: int) -> SubjectCard:
    """Return the list price final / (1 - d) and the discount of a catalogue card.

    0 percent gives the final price and no discount (decisions, "Catalogue"). Raises ValueError for
    a percentage outside 0 to 99.
    """
    if not 0 <= total_discounts_percent < PERCENT:
        raise ValueError(
            f"a subject's discounts are 0 to 99 percent, not {total_discounts_percent}"
        )
    remaining_percent = PERCENT - total_discounts_percent
    return SubjectCard(
        list_price_cents=list_price_cents(final_price_cents, total_discounts_percent),
        # From the exact difference, not from the rounded list price: rounded once.
        discount_euros=half_up(
            final_price_cents * total_discounts_percent, remaining_percent * CENTS_PER_EURO
        ),
    )


def pricing_data(campaign: CampaignTerms | None) -> dict[str, object]:
    """Return the numbers that the browser needs, shaped as GET /api/pricing answers (api.md)."""
    return {
        "currency": "EUR",
        "unit_base_price": as_json(PRICING.unit_base_price_cents),
        "volume": [[tier, as_json(cents)] for tier, cents in PRICING.volume],
        "full_payment_percent": PRICING.full_payment_percent,
        "invited_amount": as_json(PRICING.invited_cents),
        "invitee_amount": as_json(PRICING.invitee_cents),
        "invitee_max": PRICING.invitee_max,
        "installments": {
            "count": PRICING.instalment_count,
            "every_days": PRICING.instalment_every_days,
            "minimum_total": as_json(PRICING.instalment_minimum_total_cents),
        },
        "campaign": None
        if campaign is None
        else {
            "name": campaign.name,
            "percent": campaign.percent,
            "calculator": campaign.calculator,
            "cart": campaign.cart,
            "prices_include_it": campaign.prices_include_it,
            "ends_on": campaign.ends_on.isoformat(),
        },
    }
