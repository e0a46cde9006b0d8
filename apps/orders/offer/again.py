"""The offer for an order that exists: its price now, and what has changed since it was placed.

Asked by the recovery link, when a payment arrives, and by reconciliation (docs/rules.md, "Recovery
and reminders" and "Open payments").
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import prefetch_related_objects

from apps.core.money import as_json, format_euros, to_cents
from apps.orders.errors import InstalmentsUnavailable
from apps.orders.models import Order, OrderLine
from apps.orders.offer.cart import items_of
from apps.orders.offer.offer import Asked, Facts, Offer, look_up, make_offer
from apps.orders.promo.uses import Standing
from apps.pricing.payment_type import PaymentType
from apps.pricing.promo_checks import PromoRefused
from apps.pricing.rules import QUOTE_NAME


@dataclass(frozen=True)
class Wishes:
    """The changes that the buyer asks for in a saved order. None keeps what is stored.

    `promo_code` is empty for an order without a code. `without` are ids of order lines.
    """

    payment_type: PaymentType | None = None
    promo_code: str | None = None
    without: frozenset[int] = frozenset()
    without_quote: bool = False


AS_SAVED = Wishes()
# How staff read of each kind of change.
PHRASES = {
    "price": "ha cambiado el precio de «{}»",
    "expired": "«{}» ya no está a la venta",
    "quote": "el presupuesto ya no obliga",
    "promo": "el código {} ya no vale",
    "instalments": "ya no se puede pagar a plazos",
    "discount": "ha cambiado «{}»",
}
# Kinds of changes that are reported even if the total is the same.
ALWAYS = ("expired", "quote", "promo", "instalments")


@dataclass(frozen=True)
class Change:
    """A difference between a stored order and its offer of now, with a reason or two amounts."""

    kind: str
    name: str
    reason: str = ""
    before_cents: int | None = None
    after_cents: int | None = None

    @property
    def as_json(self) -> dict[str, object]:
        amounts = {"before": self.before_cents, "after": self.after_cents}
        return {
            "kind": self.kind,
            "name": self.name,
            **({"reason": self.reason} if self.reason else {}),
            **{key: as_json(cents) for key, cents in amounts.items() if cents is not None},
        }

    def __str__(self) -> str:
        return PHRASES[self.kind].format(self.name)


@dataclass(frozen=True)
class OfferedAgain:
    """An order as it would be placed now, with the lines of it that are still on sale."""

    asked: Asked
    facts: Facts
    rows: list[OrderLine]
    offer: Offer
    changes: list[Change]

    @property
    def totals(self) -> dict[PaymentType, int]:
        """The total of each payment type, in cents.

        If instalments are refused, theirs is that of a full payment.
        """
        asked = {kind: replace(self.asked, payment_type=kind) for kind in PaymentType}
        return {kind: _best_offer(one, self.facts)[0].total_cents for kind, one in asked.items()}

    @property
    def instalment_minimum_cents(self) -> int:
        """The least total with which the order can be paid in instalments."""
        asked = replace(self.asked, payment_type=PaymentType.INSTALMENTS)
        return make_offer(asked, self.facts).instalment_minimum_cents

    @property
    def typed_code(self) -> str | None:
        """The promo code that counts, unless it is the friend code of a quote."""
        return self.offer.code.promo.code if self.offer.code and not self.offer.quote else None


def offer_again(
    order: Order,
    *,
    check_purchases: bool,
    wishes: Wishes = AS_SAVED,
    standing: Standing | None = None,
) -> OfferedAgain:
    """Offer the order as it would be placed now, with the buyer's wishes. Writes nothing.

    `check_purchases` says whether its promo code is checked against earlier purchases.
    """
    # The caller may use them, too.
    prefetch_related_objects([order], "lines", "discounts")
    rows = [row for row in order.lines.all() if row.pk not in wishes.without]
    code = wishes.promo_code
    # The code of a quote is checked with the quote.
    if code is None and order.promo_code is not None and order.quote_number is None:
        code = order.promo_code.code
    asked = Asked(
        items=items_of(rows),
        payment_type=wishes.payment_type or PaymentType(order.payment_type),
        email=order.email,
        phone=order.phone,
        code=code or "",
        quote_number=None if wishes.without_quote else order.quote_number,
        order=order,
        check_purchases=check_purchases,
        standing=standing,
        credit_for=order.student_id if any(row.credit for row in rows) else None,
        credited_subjects=frozenset(row.subject_id for row in rows if row.credit),
    )
    facts = look_up(asked)
    offer, refused = _best_offer(asked, facts)
    refusal = offer.refusal(PromoRefused)
    changes = [
        *_changed_lines(rows, facts),
        *([Change("quote", QUOTE_NAME, offer.notice)] if offer.notice else ()),
        *([Change("promo", asked.code, refusal.message)] if refusal else ()),
        *([Change("instalments", "Pago a plazos", refused)] if refused else ()),
        *_changed_discounts(order, offer),
    ]
    sold = {line.key for line in offer.lines}
    rows = [row for row in rows if row.key in sold]
    return OfferedAgain(asked, facts, rows, offer, changes)


def changes_since_placed(order: Order, standing: Standing | None = None) -> list[str]:
    """The differences if the order were placed now, as Spanish phrases for staff.

    Compares the order's prices, discounts, promo code, quote and availability with those of this
    moment. The new total comes first. [] if nothing differs.
    """
    now = offer_again(order, check_purchases=True, standing=standing)
    before, after = order.total_cents, now.offer.total_cents
    phrases = [str(one) for one in now.changes if before != after or one.kind in ALWAYS]
    if before != after:
        phrases.insert(0, f"{format_euros(before)} en lugar de {format_euros(after)}")
    return list(dict.fromkeys(phrases))


def _best_offer(asked: Asked, facts: Facts) -> tuple[Offer, str]:
    """The offer and "", or that of a full payment and the reason why instalments are refused."""
    offer = make_offer(asked, facts)
    refusal = offer.refusal(InstalmentsUnavailable)
    if refusal is None:
        return offer, ""
    return make_offer(replace(asked, payment_type=PaymentType.FULL), facts), refusal.message


def _changed_lines(rows: Sequence[OrderLine], facts: Facts) -> list[Change]:
    by_key = {line.key: line for line in facts.lines}
    names = {row.key: row.name for row in rows}
    prices = [
        Change("price", row.name, before_cents=before, after_cents=by_key[row.key].price_cents)
        for row in rows
        if row.key in by_key and (before := to_cents(row.price)) != by_key[row.key].price_cents
    ]
    missing = [(item["subject_id"], item["lesson_id"]) for item in facts.missing]
    return [*prices, *(Change("expired", names[key]) for key in missing)]


def _changed_discounts(order: Order, offer: Offer) -> list[Change]:
    before = {row.name: to_cents(row.amount) for row in order.discounts.all()}
    after = {discount.name: discount.amount_cents for discount in offer.discounts}
    return [
        Change("discount", name, before_cents=before.get(name, 0), after_cents=after.get(name, 0))
        for name in dict.fromkeys([*before, *after])
        if before.get(name, 0) != after.get(name, 0)
    ]
