"""Applies the differences between a file and the catalogue in one transaction."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.db import transaction

from apps.catalogue.exchange.bounds import Reading
from apps.catalogue.exchange.columns import KEYS, LEVELS, PARENTS
from apps.catalogue.exchange.diff import CatalogueDiff, Change, Entry, diff_catalogue
from apps.catalogue.exchange.reading import Line
from apps.catalogue.exchange.teachers import assign_teachers
from apps.catalogue.models import Lesson
from apps.catalogue.price_limits import cheap_stay_off_sale
from apps.catalogue.price_questions import PricesUnconfirmed
from apps.catalogue.recorded import Recorded
from apps.catalogue.services import change_rows, deferred_counts, price_setter

BATCH = 1000


class CatalogueHasChanged(Exception):
    """The catalogue changed after the preview, so the file would no longer do what was shown."""


def import_lines(
    lines: Iterable[Line],
    reading: Reading | None = None,
    *,
    expected: str = "",
    is_confirmed: bool = False,
    on_progress: Callable[[int], object] = lambda _: None,
) -> CatalogueDiff:
    """Add and change rows as the lines say, and return the differences. Deletes nothing.

    The price history names the user of `services.prices_changed_by`, whose permissions count where
    teachers or the VAT of subjects change. `expected` is the fingerprint
    of the previewed differences, and `is_confirmed` whether staff have confirmed their surprising
    prices. `on_progress` gets the number of rows processed since its last
    call. Raises BadFile, CatalogueHasChanged, PricesUnconfirmed or OverLimit, and then
    changes nothing.
    """
    with (
        transaction.atomic(),
        cheap_stay_off_sale(price_setter()),
        deferred_counts(),
    ):
        diff = diff_catalogue(lines, reading)
        if expected and diff.fingerprint() != expected:
            raise CatalogueHasChanged
        if not is_confirmed and (surprising := diff.prices_to_confirm()):
            raise PricesUnconfirmed(surprising)
        diff.check_may_assign(price_setter())
        diff.check_may_change_vat(price_setter())
        for model in LEVELS:
            _change(model, diff.changed(model), on_progress)
            on_progress(diff.unchanged_count(model))
        made = _add(diff, on_progress)
        cells = {entry.pk or made[id(entry)].pk: cell for entry, cell in diff.changed_teachers()}
        if cells:
            assign_teachers(cells, diff.teacher_names)
    return diff


def _add(diff: CatalogueDiff, on_progress: Callable[[int], object]) -> dict[int, Recorded]:
    """Insert the new rows. Returns them by the `id` of their entries."""
    made: dict[int, Recorded] = {}
    new = {model: diff.new(model) for model in LEVELS}
    for model in LEVELS:
        for entry in new[model]:
            made[id(entry)] = _instance(entry, made)
    # Set the counts before the insert: updating every subject later costs as much as the insert.
    for entry in new[Lesson]:
        lesson = made[id(entry)]
        if entry.parent and id(entry.parent) in made and isinstance(lesson, Lesson):
            lesson.subject.active_lessons_count += lesson.status == Lesson.Status.ACTIVE
    for model in LEVELS:
        for batch in _batches(new[model]):
            model._default_manager.bulk_create([made[id(entry)] for entry in batch])
            on_progress(len(batch))
    return made


def _instance(entry: Entry, made: dict[int, Recorded]) -> Recorded:
    row = entry.model(
        **{KEYS[entry.model].attribute: entry.path[-1]},
        **{column.attribute: value for column, value in entry.values.items() if not column.linked},
    )
    if entry.parent:
        field = PARENTS[entry.model]
        new_parent = made.get(id(entry.parent))
        if new_parent:
            setattr(row, field, new_parent)
        else:
            setattr(row, f"{field}_id", entry.parent.pk)
    return row


def _change(
    model: type[Recorded], entries: Sequence[Entry], on_progress: Callable[[int], object]
) -> None:
    # Rows with the same changed columns are written in one batch.
    by_columns: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        by_columns[tuple(change.column.attribute for change in _stored(entry))].append(entry)
    for attributes, group in by_columns.items():
        if not attributes:
            on_progress(len(group))
            continue
        for batch in _batches(group):
            before_after: list[tuple[Recorded, dict[str, Any]]] = [
                (
                    _changed(entry),
                    {c.column.attribute: c.before for c in _stored(entry)},
                )
                for entry in batch
            ]
            change_rows(model, before_after, attributes)
            on_progress(len(batch))


def _stored(entry: Entry) -> list[Change]:
    return [change for change in entry.changes if not change.column.linked]


def _changed(entry: Entry) -> Recorded:
    row = entry.model(**{change.column.attribute: change.after for change in _stored(entry)})
    row.pk = entry.pk
    return row


def _batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    for first in range(0, len(entries), BATCH):
        yield entries[first : first + BATCH]
