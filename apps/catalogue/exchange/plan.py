"""What a file would change: every row of it beside what is in the database."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any

from apps.catalogue.exchange.columns import (
    COLUMNS,
    DATA,
    KEYS,
    LEVELS,
    PARENTS,
    BadCell,
    Column,
    clean,
)
from apps.catalogue.exchange.errors import Faults
from apps.catalogue.exchange.reading import Line
from apps.catalogue.models import Recorded

# SQLite has no more than 32,766 parameters in a statement.
PARENTS_AT_ONCE = 10_000

# The names from the university's acronym down to the row's own.
Path = tuple[str, ...]


@dataclass
class Change:
    column: Column
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.column.name}: {self._said(self.before)} → {self._said(self.after)}"

    def _said(self, value: Any) -> str:
        text = str(self.column.show(value))
        # As prices are written in Spanish; files may have either.
        return text.replace(".", ",") if isinstance(value, Decimal) else text or "(vacío)"


@dataclass
class Entry:
    """One university, degree, subject or lesson that the file speaks of."""

    model: type[Recorded]
    path: Path
    place: str
    above: "Entry | None"
    values: dict[Column, Any] = field(default_factory=dict)
    # Columns whose cell makes no sense, which was said already.
    unread: set[Column] = field(default_factory=set)
    # The row's id in the database; None for a new one.
    pk: int | None = None
    changes: list[Change] = field(default_factory=list)

    def __str__(self) -> str:
        return " › ".join(self.path)


@dataclass
class Plan:
    """Entries by level, each in the order of the file."""

    entries: dict[type[Recorded], list[Entry]]

    def new(self, model: type[Recorded]) -> list[Entry]:
        return [entry for entry in self.entries[model] if entry.pk is None]

    def changed(self, model: type[Recorded]) -> list[Entry]:
        return [entry for entry in self.entries[model] if entry.changes]

    def unchanged_count(self, model: type[Recorded]) -> int:
        return sum(entry.pk is not None and not entry.changes for entry in self.entries[model])

    @property
    def is_empty(self) -> bool:
        return not any(self.new(model) or self.changed(model) for model in LEVELS)

    def summary(self) -> list[str]:
        """ "Asignaturas: 3 por añadir, 1 con cambios, 130 sin cambios", for each level."""
        return [
            f"{str(model._meta.verbose_name_plural).capitalize()}: "
            f"{len(self.new(model))} por añadir, {len(self.changed(model))} con cambios, "
            f"{self.unchanged_count(model)} sin cambios"
            for model in LEVELS
        ]

    def details(self) -> Iterator[str]:
        """A line for each row that is added and for each value that changes, from → to."""
        for model in LEVELS:
            what = model._meta.verbose_name
            for entry in self.new(model):
                yield f"+ {what} {entry}"
            for entry in self.changed(model):
                yield f"~ {what} {entry}: {'; '.join(map(str, entry.changes))}"

    def fingerprint(self) -> str:
        """The same for two plans that would do the same."""
        return sha256("\n".join(self.details()).encode()).hexdigest()


def make_plan(lines: Iterable[Line]) -> Plan:
    """Compare a file's lines with the database. Raises BadFile with everything that is wrong."""
    faults = Faults()
    entries: dict[type[Recorded], dict[Path, Entry]] = {model: {} for model in LEVELS}
    for line in lines:
        _take(line, entries, faults)
    plan = Plan({model: list(found.values()) for model, found in entries.items()})
    for model in LEVELS:
        _match(model, plan.entries[model])
        _require(model, plan.entries[model], faults)
    faults.check()
    return plan


def _take(line: Line, entries: dict[type[Recorded], dict[Path, Entry]], faults: Faults) -> None:
    """Read a line's cells into its entries, from the university down."""
    values: dict[Column, Any] = {}
    unread: set[Column] = set()
    for column in COLUMNS:
        if text := line.cells.get(column.name):
            try:
                values[column] = column.read(text)
            except BadCell as error:
                faults.add(str(error), place=line.place, column=column.name)
                unread.add(column)
    above: Entry | None = None
    path: Path = ()
    for level, model in enumerate(LEVELS):
        key = KEYS[model]
        below = [column for column in values if LEVELS.index(column.model) >= level]
        if key not in values:
            if key.name not in line.cells and (below or level == 0):
                faults.add("Falta.", place=line.place, column=key.name)
            return
        path = (*path, values[key])
        entry = entries[model].get(path)
        if entry is None:
            entry = entries[model][path] = Entry(model, path, line.place, above)
        elif model is LEVELS[-1]:
            faults.add(f"Repite la {entry.place}.", place=line.place, column=key.name)
        entry.unread |= unread
        for column in DATA[model]:
            if column not in values:
                continue
            if entry.values.setdefault(column, values[column]) != values[column]:
                message = f"No coincide con lo que dice antes de {entry.path[-1]}: "
                message += f"«{column.show(entry.values[column])}» ({entry.place})."
                faults.add(message, place=line.place, column=column.name)
        above = entry


def _match(model: type[Recorded], entries: list[Entry]) -> None:
    """Find the entries' rows, and keep in `changes` what would become different."""
    key = KEYS[model].attribute
    exact: dict[tuple[int | None, str], dict[str, Any]] = {}
    cleaned: dict[tuple[int | None, str], dict[str, Any]] = {}
    for above, row in _rows(model, entries):
        exact[above, row[key]] = row
        # Names from before, with odd spaces or accents, are still the same names.
        cleaned.setdefault((above, clean(row[key])), row)
    for entry in entries:
        if entry.above and entry.above.pk is None:
            continue
        place = (entry.above.pk if entry.above else None, entry.path[-1])
        row_found = exact.get(place) or cleaned.get(place)
        if row_found is None:
            continue
        entry.pk = row_found["pk"]
        for column, after in entry.values.items():
            before = row_found[column.attribute]
            if (clean(before) if isinstance(before, str) else before) != after:
                entry.changes.append(Change(column, before, after))


def _rows(
    model: type[Recorded], entries: list[Entry]
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """The rows below the entries' parents, each with its parent's id."""
    names = ["pk", KEYS[model].attribute, *(column.attribute for column in DATA[model])]
    rows = model._default_manager.order_by("pk")
    if model not in PARENTS:
        for row in rows.values(*names):
            yield None, row
        return
    link = f"{PARENTS[model]}_id"
    parents = sorted({entry.above.pk for entry in entries if entry.above and entry.above.pk})
    for first in range(0, len(parents), PARENTS_AT_ONCE):
        some = parents[first : first + PARENTS_AT_ONCE]
        for row in rows.filter(**{f"{link}__in": some}).values(*names, link).iterator():
            yield row[link], row


def _require(model: type[Recorded], entries: list[Entry], faults: Faults) -> None:
    """A row that would be new has to have what a row can't do without."""
    needed = [column for column in DATA[model] if column.needed]
    for entry in entries:
        if entry.pk is not None:
            continue
        for column in needed:
            if column not in entry.values and column not in entry.unread:
                what = f"{model._meta.verbose_name} «{entry.path[-1]}»"
                faults.add(
                    f"Falta, y no existe todavía: {what}.", place=entry.place, column=column.name
                )
