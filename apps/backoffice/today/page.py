"""What the start page shows to one member of staff."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.timezone import localtime

from apps.backoffice.accounts.permitted import Permitted
from apps.backoffice.bar_chart import Chart
from apps.backoffice.today import takings
from apps.backoffice.today.batched_questions import answers
from apps.backoffice.today.takings import Expected, Takings
from apps.backoffice.today.tiles import PAID_WITHOUT_ACCESS, TILES
from apps.core.money import grouped
from apps.leads.attachments import MEGABYTE
from apps.orders.models import Order
from apps.orders.reads import paid_without_access

# The orders without access that the page lists. The tile's link leads to all of them.
SHOWN = 10


@dataclass(frozen=True)
class Tile:
    """A count with the address of its list, and a deadline if the tile has one."""

    label: str
    count: int
    url: str
    earliest: datetime | None = None
    earliest_label: str = ""
    # The deadline is a day of the law: no hour is shown.
    earliest_is_day: bool = False
    # "12 de 1000 MB", for a tile whose rows have files.
    room: str = ""
    is_urgent: bool = False

    @property
    def is_waiting(self) -> bool:
        return self.count > 0


@dataclass(frozen=True)
class Money:
    """The money figures. `recovered_url` is the list of the carts paid after a reminder."""

    takings: list[Takings]
    expected: Expected
    chart: Chart | None
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
        """The tiles of work that waits for somebody, urgent work first."""
        waiting = [tile for tile in self.tiles if tile.is_waiting]
        return sorted(waiting, key=lambda tile: not tile.is_urgent)

    @property
    def settled(self) -> list[Tile]:
        return [tile for tile in self.tiles if not tile.is_waiting]


def today_for(user: Permitted) -> Today:
    """The tiles, figures and orders that this user may see."""
    without_access = _without_access(user)
    definitions = [tile for tile in TILES if user.has_perm(tile.permission)]
    # A list that is shorter than its limit is complete: its length is the tile's number.
    counted = {PAID_WITHOUT_ACCESS: len(without_access)} if len(without_access) < SHOWN else {}
    asked = [tile for tile in definitions if tile not in counted]
    given = iter(answers([question for tile in asked for question in tile.questions(user)]))
    tiles = [
        Tile(
            tile.label,
            counted[tile] if tile in counted else next(given),
            tile.url,
            _moment(next(given), tile.earliest_days) if tile.earliest else None,
            tile.earliest_label,
            bool(tile.earliest_days),
            _room(next(given), tile.most_megabytes()) if tile.bytes else "",
            tile.is_urgent,
        )
        for tile in definitions
    ]
    money = _money() if user.has_perm(takings.PERMISSION) else None
    computes = user.has_perm("catalogue.view_subject") and not settings.REQUIRE_PRICE_HISTORY
    return Today(tiles, money, without_access, computes)


def _money() -> Money:
    by_period, recovered_cents = takings.takings()
    recovered_url = f"{reverse('admin:orders_order_changelist')}?recuperado=mes"
    expected = takings.expected()
    chart = takings.instalments_chart(expected)
    return Money(by_period, expected, chart, recovered_cents, recovered_url)


def _without_access(user: Permitted) -> list[Order]:
    """The paid orders without classroom access, oldest first."""
    if not user.has_perm("orders.view_order"):
        return []
    return list(paid_without_access().order_by("paid_at", "pk")[:SHOWN])


def _room(size: Any, most: int) -> str:
    return f"{grouped(int(size or 0) // MEGABYTE)} de {grouped(most)} MB"


def _moment(found: Any, days: int) -> datetime | None:
    """A moment from the database, so many days later. SQLite answers with text in UTC."""
    if isinstance(found, str):
        found = datetime.fromisoformat(f"{found}+00:00")
    # Days of the calendar: an hour more or less in a change of the clocks is no other day.
    return localtime(found) + timedelta(days=days) if isinstance(found, datetime) else None
