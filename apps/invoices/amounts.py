"""The arithmetic of invoices, in integer cents (docs/rules.md, "VAT").

Prices are final. The base and the tax are computed from the total of each rate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.catalogue.vat import Vat
from apps.core.money import half_up

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


def spread(total: int, weights: Sequence[int]) -> list[int]:
    """Split `total` in proportion to the weights. The parts add up to it exactly.

    The cents that rounding down leaves go to the largest remainders, the first of equals first.
    Neither the total nor a weight is negative; one weight is positive unless the total is 0.
    """
    whole = sum(weights)
    if not whole:
        if total:
            raise ValueError(f"{total} cents can't be split over weights of 0")
        return [0 for _ in weights]
    parts = [total * weight // whole for weight in weights]
    remainders = sorted(range(len(weights)), key=lambda index: -(total * weights[index] % whole))
    for index in remainders[: total - sum(parts)]:
        parts[index] += 1
    return parts


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
        _apply(after, by, list(after))
        return after
    preferred = [vat for vat in after if vat in first]
    others = [vat for vat in after if vat not in first]
    left = -by
    for group in (preferred, others):
        taken = min(left, sum(after[vat] for vat in group))
        _apply(after, -taken, group)
        left -= taken
    if left:
        raise ValueError(f"{left} cents more than the invoices have")
    return after


def _apply(totals: dict[Vat, int], by: int, rates: Sequence[Vat]) -> None:
    weights = [totals[vat] for vat in rates]
    if by > 0 and not any(weights):
        # Nothing is left to take a proportion of: the first rate gets it.
        weights = [1] + [0] * (len(rates) - 1)
    sign = 1 if by >= 0 else -1
    for vat, part in zip(rates, spread(abs(by), weights), strict=True):
        totals[vat] += sign * part
