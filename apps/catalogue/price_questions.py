"""Prices that staff confirm before they are stored (docs/rules.md, "Prices by staff")."""

from collections.abc import Iterable
from decimal import Decimal

from apps.core.errors import AcademyError


class PricesUnconfirmed(AcademyError):
    """Prices need a confirmation that was not given. Nothing is changed. `lines` lists them."""

    status = 409
    code = "prices_unconfirmed"
    message = "Hay precios que quedan en 0 € o cambian más de la mitad: confírmalos."

    def __init__(self, lines: Iterable[str] = ()) -> None:
        super().__init__()
        self.lines = list(lines)


def needs_confirmation(before: Decimal | None, after: Decimal) -> bool:
    """Whether a new price is 0 €, or differs from the old one by more than half of it.

    `before` is None for a first price. A price that stays the same asks nothing.
    """
    if before == after:
        return False
    if after == 0:
        return True
    return bool(before) and abs(after - before) * 2 > before  # type: ignore[operator]
