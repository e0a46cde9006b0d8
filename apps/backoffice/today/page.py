"""What the start page shows to one member of staff."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.urls import reverse

from apps.backoffice.accounts.permitted import Permitted
from apps.backoffice.today import takings
from apps.backoffice.today.batched_questions import answers
from apps.backoffice.today.takings import Expected, Takings
from apps.backoffice.today.tiles import PAID_WITHOUT_ACCESS, TILES
from apps.core.money import grouped
from apps.leads.attachments import MEGABYTE
from apps.orders.models import Order
from apps.orders.reads import paid_without_access

# The tile's link leads to all of them.
SHOWN = 10


@dataclass(frozen=True)
class Tile:
    """A count with the address of its list, and a deadline if the tile has one."""

    label: str
    count: int
    url: str
    earliest: datetime | None = None
    earliest_label: str = ""
    # "12 de 1000 MB", for a tile whose rows have files.
    room: str = ""

    @property
    def is_bad(self) -> bool:
        return self.count > 0


@dataclass(frozen=True)
class Money:
    """The money figures. `recovered_url` is the list of the carts paid after a reminder."""

    takings: list[Takings]
    expected: Expected
    recovered_cents: int
    recovered_url: str


@dataclass(frozen=True)
class Today:
    tiles: list[Tile] = field(default_factory=list)
    money: Money | None = None
    without_access: list[Order] = field(default_factory=list)
    # Crossed-out prices come from the arithmetic, and not from the price history.
    computes_list_prices: bool = False

    @property
    def waiting(self) -> list[Tile]:
        return [tile for tile in self.tiles if tile.is_bad]

    @property
    def settled(self) -> list[Tile]:
        return [tile for tile in self.tiles if not tile.is_bad]


def today_for(user: Permitted) -> Today:
    """The tiles, figures and orders that this user may see."""
    without_access = _without_access(user)
    definitions = [tile for tile in TILES if user.has_perm(tile.permission)]
    # A list that is shorter than its limit is complete: its length is the tile's number.
    counted = {PAID_WITHOUT_ACCESS: len(without_access)} if len(without_access) < SHOWN else {}
    asked = [tile for tile in definitions if tile not in counted]
    given = iter(answers([question for tile in asked for question in tile.questions()]))
    tiles = [
        Tile(
            tile.label,
            counted[tile] if tile in counted else next(given),
            tile.url,
            _moment(next(given)) if tile.earliest else None,
            tile.earliest_label,
            _room(next(given), tile.most_megabytes()) if tile.bytes else "",
        )
        for tile in definitions
    ]
    money = _money() if user.has_perm(takings.PERMISSION) else None
    computes = user.has_perm("catalogue.view_subject") and not settings.REQUIRE_PRICE_HISTORY
    return Today(tiles, money, without_access, computes)


def _money() -> Money:
    by_period, recovered_cents = takings.takings()
    recovered_url = f"{reverse('admin:orders_order_changelist')}?recuperado=mes"
    return Money(by_period, takings.expected(), recovered_cents, recovered_url)


def _without_access(user: Permitted) -> list[Order]:
    """The paid orders without classroom access, oldest first."""
    if not user.has_perm("orders.view_order"):
        return []
    return list(paid_without_access().order_by("paid_at", "pk")[:SHOWN])


def _room(size: Any, most: int) -> str:
    return f"{grouped(int(size or 0) // MEGABYTE)} de {grouped(most)} MB"


def _moment(found: Any) -> datetime | None:
    """A moment from the database. SQLite answers with text in UTC."""
    if isinstance(found, str):
        return datetime.fromisoformat(f"{found}+00:00")
    return found if isinstance(found, datetime) else None
