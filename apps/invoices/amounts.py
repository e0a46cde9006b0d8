"""The arithmetic of invoices, in integer cents (docs/rules.md, "VAT").

Prices are final. The base and the tax are computed from the total of each rate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.catalogue.vat import Vat
from apps.core.money import half_up
from apps.core.shares import spread, take

# The cents of each rate, tax included.
Totals = Mapping[Vat, int]


@dataclass(frozen=True)
class TaxLine:
    """The base and the tax of one rate. Together they are its total, to the cent."""

    vat: Vat
    base: int
    tax: int

    @property
    def total(self) -> int:
        return self.base + self.tax


def totals_by_rate(parts: Sequence[tuple[Vat, int]]) -> dict[Vat, int]:
    """The sum of each rate that occurs, in the order of the rates."""
    return {
        vat: sum(cents for rate, cents in parts if rate == vat)
        for vat in Vat
        if any(rate == vat for rate, _ in parts)
    }


def breakdown(totals: Totals) -> list[TaxLine]:
    """The base and the tax of each rate."""
    return [_tax_line(vat, cents) for vat, cents in totals.items()]


def _tax_line(vat: Vat, total: int) -> TaxLine:
    base = half_up(total * 100, 100 + vat.percent)
    return TaxLine(vat, base, total - base)


def difference(before: Totals, after: Totals) -> list[TaxLine]:
    """What the breakdown changes by, from one set of totals to another.

    It is the difference of two breakdowns, so that an invoice and its correctives always add up to
    the breakdown of what is left. Rates that do not change are left out.
    """
    lines = []
    for vat in Vat:
        old = _tax_line(vat, before.get(vat, 0))
        new = _tax_line(vat, after.get(vat, 0))
        if old != new:
            lines.append(TaxLine(vat, new.base - old.base, new.tax - old.tax))
    return lines


def change_totals(before: Totals, by: int, *, first: Sequence[Vat] = ()) -> dict[Vat, int]:
    """The totals after a change of their sum by `by` cents.

    A reduction is taken from the rates `first`, then from the others, in proportion to what is left
    of each. Raises ValueError if it is more than there is.
    """
    after = dict(before)
    if by >= 0:
        weights = list(before.values())
        if not any(weights):
            # All rates are at 0, so there is no proportion: the first rate gets it.
            weights = [1] + [0] * (len(before) - 1)
        for vat, part in zip(before, spread(by, weights), strict=True):
            after[vat] += part
        return after
    for vat, cents in take(-by, before, first=first).items():
        after[vat] -= cents
    return after
