"""A plan carried out: everything in one transaction, or nothing."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from apps.catalogue.exchange.columns import KEYS, LEVELS, PARENTS
from apps.catalogue.exchange.plan import Entry, Plan, make_plan
from apps.catalogue.exchange.reading import Line
from apps.catalogue.models import Lesson, Recorded
from apps.catalogue.services import change_rows, counts_at_the_end

BATCH = 1000


class PlanChanged(Exception):
    """Since it was looked at, the file would do something else: somebody changed the catalogue."""


def import_lines(
    lines: Iterable[Line],
    *,
    expected: str = "",
    on_progress: Callable[[int], object] = lambda _: None,
) -> Plan:
    """Make the catalogue as the lines say, and return what was done. Deletes nothing.

    Prices are recorded as changed by whom `services.prices_changed_by` names. `expected` is the
    fingerprint of the plan that was looked at. `on_progress` is told how many rows were dealt with
    since the last time. Raises BadFile or PlanChanged, and then nothing has changed.
    """
    with counts_at_the_end():
        plan = make_plan(lines)
        if expected and plan.fingerprint() != expected:
            raise PlanChanged
        for model in LEVELS:
            _change(model, plan.changed(model), on_progress)
            on_progress(plan.unchanged_count(model))
        _add(plan, on_progress)
    return plan


def _add(plan: Plan, on_progress: Callable[[int], object]) -> None:
    made: dict[int, Recorded] = {}
    new = {model: plan.new(model) for model in LEVELS}
    for model in LEVELS:
        for entry in new[model]:
            made[id(entry)] = _instance(entry, made)
    # Counted beforehand: to write every subject a second time costs as much as to add it.
    for entry in new[Lesson]:
        lesson = made[id(entry)]
        if entry.above and id(entry.above) in made and isinstance(lesson, Lesson):
            lesson.subject.active_lessons_count += lesson.status == Lesson.Status.ACTIVE
    for model in LEVELS:
        for batch in _batches(new[model]):
            model._default_manager.bulk_create([made[id(entry)] for entry in batch])
            on_progress(len(batch))


def _instance(entry: Entry, made: dict[int, Recorded]) -> Recorded:
    row = entry.model(
        **{KEYS[entry.model].attribute: entry.path[-1]},
        **{column.attribute: value for column, value in entry.values.items()},
    )
    if entry.above:
        parent = PARENTS[entry.model]
        above = made.get(id(entry.above))
        if above:
            setattr(row, parent, above)
        else:
            setattr(row, f"{parent}_id", entry.above.pk)
    return row


def _change(
    model: type[Recorded], entries: Sequence[Entry], on_progress: Callable[[int], object]
) -> None:
    # Rows in which the same columns change are written together.
    alike: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        alike[tuple(change.column.attribute for change in entry.changes)].append(entry)
    for attributes, group in alike.items():
        for batch in _batches(group):
            before_after: list[tuple[Recorded, dict[str, Any]]] = [
                (
                    _changed(entry),
                    {c.column.attribute: c.before for c in entry.changes},
                )
                for entry in batch
            ]
            change_rows(model, before_after, attributes)
            on_progress(len(batch))


def _changed(entry: Entry) -> Recorded:
    row = entry.model(**{change.column.attribute: change.after for change in entry.changes})
    row.pk = entry.pk
    return row


def _batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    for first in range(0, len(entries), BATCH):
        yield entries[first : first + BATCH]
