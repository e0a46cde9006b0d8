"""Bar charts, drawn by the server as inline SVG, each with its numbers as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from apps.core.money import format_euros, grouped

# The size of the drawing in its own units.
LEFT, RIGHT, ABOVE, HIGHEST, BELOW, WIDTH = 56, 8, 8, 110, 20, 348
# At most so many names fit under the bars.
MOST_NAMES = 7


@dataclass(frozen=True)
class Place:
    """One place of the chart: a name under it, a whole name, and one number for each series."""

    name: str
    whole_name: str
    numbers: tuple[int, ...]
    # The last column of the table, such as a percentage.
    note: str = ""
    # Where the report of this place is.
    url: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar in units of the drawing. `series` is 0 for the first series."""

    x: float
    y: float
    width: float
    height: float
    series: int
    text: str


@dataclass(frozen=True)
class Chart:
    """A chart of one or two series. The numbers are cents, or counts if `is_money` is not set."""

    key: str
    title: str
    heading: str
    series: tuple[str, ...]
    places: Sequence[Place]
    is_money: bool = True
    note_heading: str = ""
    help: str = ""
    width: int = field(default=WIDTH, init=False)
    height: int = field(default=ABOVE + HIGHEST + BELOW, init=False)
    left: int = field(default=LEFT, init=False)
    labels_at: int = field(default=ABOVE + HIGHEST + 14, init=False)

    @property
    def most(self) -> int:
        """The number at the upper end of the scale: 1, 2 or 5 with zeros, at least the highest."""
        highest = max(number for place in self.places for number in place.numbers)
        step = 100 if self.is_money else 1
        power = 1
        while True:
            for factor in (1, 2, 5):
                if factor * power * step >= highest and (factor * power) % 2 == 0:
                    return factor * power * step
            power *= 10

    @property
    def lines(self) -> list[tuple[float, str]]:
        """The height and the number of each line of the scale."""
        return [
            (ABOVE + HIGHEST - HIGHEST * part / 2, self._on_scale(self.most * part // 2))
            for part in range(3)
        ]

    @property
    def bars(self) -> Iterator[Bar]:
        room = (WIDTH - LEFT - RIGHT) / len(self.places)
        count = len(self.series)
        width = min(26, room * 0.8) / count
        for at, place in enumerate(self.places):
            start = LEFT + room * at + (room - width * count) / 2
            # The bars of the second series are drawn on the left: they are what was before.
            for series, number in enumerate(place.numbers):
                height = max(0, HIGHEST * number / self.most)
                x = start + width * (count - 1 - series)
                yield Bar(
                    round(x, 1), round(ABOVE + HIGHEST - height, 1), round(width - 1, 1),
                    round(height, 1), series, f"{place.whole_name}, {self.series[series].lower()}: "
                    f"{self.shown(number)}",
                )  # fmt: skip

    @property
    def names(self) -> Iterator[tuple[float, str]]:
        """The middle and the name of the places that are named, so that no two names touch."""
        room = (WIDTH - LEFT - RIGHT) / len(self.places)
        every = -(-len(self.places) // MOST_NAMES)
        for at, place in enumerate(self.places):
            if (len(self.places) - 1 - at) % every == 0:
                yield round(LEFT + room * (at + 0.5), 1), place.name

    @property
    def highest(self) -> str:
        """The place with the highest number of the first series, in words."""
        place = max(self.places, key=lambda each: each.numbers[0])
        return f"{place.whole_name}, con {self.shown(place.numbers[0])}"

    @property
    def rows(self) -> Iterator[tuple[Place, list[str]]]:
        for place in self.places:
            yield place, [self.shown(number) for number in place.numbers]

    def shown(self, number: int) -> str:
        return format_euros(number) if self.is_money else grouped(number)

    def _on_scale(self, number: int) -> str:
        return f"{grouped(number // 100)}\N{NO-BREAK SPACE}€" if self.is_money else grouped(number)
