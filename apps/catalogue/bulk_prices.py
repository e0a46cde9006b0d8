"""Changing many prices at once, with a preview and one undo (docs/rules.md, "Prices by staff")."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256
from typing import Any

from django.db import models, transaction
from django.utils import timezone

from apps.catalogue.models import Lesson, PriceBatch, Subject
from apps.catalogue.price_questions import PricesUnconfirmed, needs_confirmation
from apps.catalogue.recorded import Recorded
from apps.catalogue.services import change_rows, lock_universities, prices_changed_by
from apps.core.errors import AcademyError
from apps.core.money import format_euros, grouped, half_up, to_cents, to_euros
from apps.core.web.throttle import Limit

# Each row of an UPDATE compares the ids of all rows in it: many small statements are faster.
ROWS_AT_ONCE = 500
# The largest price that the column holds.
HIGHEST_CENTS = 999_999_99
PERCENT_IN_HUNDREDTHS = 100_00
# A web process holds all prices of a batch: each takes it about 2 KB.
MOST_PRICES = 50_000
# Batches that one account applies. Pages of the shop read the prices of the last 60 days.
BATCHES_A_DAY = Limit("price-batches", times=30, seconds=86_400)


class BatchRefused(AcademyError):
    """A batch that can't be applied or undone."""

    status = 409
    code = "batch_refused"
    message = "Los precios han cambiado entretanto. Mira otra vez la vista previa."


class Operation(StrEnum):
    PERCENT_UP = "percent_up"
    PERCENT_DOWN = "percent_down"
    EUROS_UP = "euros_up"
    EUROS_DOWN = "euros_down"
    SET = "set"


@dataclass(frozen=True)
class PriceFormula:
    """A change of a price. `hundredths` are cents, or hundredths of a percent.

    The new price is rounded half up to a multiple of `step_cents`, and is never below 0 €.
    """

    operation: Operation
    hundredths: int
    step_cents: int = 1

    def new_cents(self, cents: int) -> int:
        match self.operation:
            case Operation.PERCENT_UP:
                exact = cents * (PERCENT_IN_HUNDREDTHS + self.hundredths)
            case Operation.PERCENT_DOWN:
                exact = cents * (PERCENT_IN_HUNDREDTHS - self.hundredths)
            case Operation.EUROS_UP:
                exact = (cents + self.hundredths) * PERCENT_IN_HUNDREDTHS
            case Operation.EUROS_DOWN:
                exact = (cents - self.hundredths) * PERCENT_IN_HUNDREDTHS
            case Operation.SET:
                exact = self.hundredths * PERCENT_IN_HUNDREDTHS
        # Rounded once, from the exact value.
        steps = half_up(max(0, exact), PERCENT_IN_HUNDREDTHS * self.step_cents)
        return min(steps * self.step_cents, HIGHEST_CENTS)

    def __str__(self) -> str:
        percent = f"{to_euros(self.hundredths).normalize():f} %".replace(".", ",")
        euros = format_euros(self.hundredths)
        what = {
            Operation.PERCENT_UP: f"Subir un {percent}",
            Operation.PERCENT_DOWN: f"Bajar un {percent}",
            Operation.EUROS_UP: f"Subir {euros}",
            Operation.EUROS_DOWN: f"Bajar {euros}",
            Operation.SET: f"Poner {euros}",
        }[self.operation]
        return what if self.step_cents == 1 else f"{what}, redondeado a {self._step()}"

    def _step(self) -> str:
        return format_euros(self.step_cents)


@dataclass(frozen=True)
class PriceStep:
    """The price of one subject or lesson, from and to."""

    row: Subject | Lesson
    before: Decimal
    after: Decimal

    @property
    def name(self) -> str:
        if isinstance(self.row, Lesson):
            return f"{self.row.subject.name} › {self.row.title}"
        return self.row.name

    @property
    def place(self) -> str:
        subject = self.row.subject if isinstance(self.row, Lesson) else self.row
        return f"{subject.degree.university.acronym} › {subject.degree.name}"

    @property
    def shown_before(self) -> str:
        return format_euros(to_cents(self.before))

    @property
    def shown_after(self) -> str:
        return format_euros(to_cents(self.after))

    @property
    def needs_confirmation(self) -> bool:
        return needs_confirmation(self.before, self.after)


def prepare_batch(
    user: Any, *, subject_ids: Sequence[int] = (), lesson_ids: Sequence[int] = ()
) -> PriceBatch:
    """Store the rows that were chosen. Nothing changes until the batch is applied."""
    return PriceBatch.objects.create(
        created_by=user, subject_ids=list(subject_ids), lesson_ids=list(lesson_ids)
    )


def preview(batch: PriceBatch, formula: PriceFormula, *, with_lessons: bool) -> list[PriceStep]:
    """Return the prices that the batch would change, subjects first. Rows that stay are left out.

    `with_lessons` adds the lessons of the chosen subjects. Raises BatchRefused for more than
    MOST_PRICES rows. Of each row only its price and its names are read: the texts of 60,000 lessons
    would take 760 MB.
    """
    subjects = _named(Subject.objects.filter(pk__in=batch.subject_ids))
    lessons = _lessons(batch, with_lessons=with_lessons)
    if subjects.count() + lessons.count() > MOST_PRICES:
        raise BatchRefused(f"Son más de {grouped(MOST_PRICES)} precios: elige menos asignaturas.")
    rows: list[Subject | Lesson] = [*subjects.order_by("name_sort", "pk")]
    # Not by prefetch_related: SQLite takes at most 1,000 parents of it.
    parents = _named(Subject.objects.filter(pk__in=lessons.values("subject"))).in_bulk()
    for lesson in lessons.only("price", "title", "subject").order_by(
        "subject__name_sort", "subject_id", "position", "pk"
    ):
        lesson.subject = parents[lesson.subject_id]
        rows.append(lesson)
    steps = [_step(row, formula) for row in rows]
    return [step for step in steps if step.before != step.after]


def _named(subjects: models.QuerySet[Subject]) -> models.QuerySet[Subject]:
    """Read the price and the names of subjects alone, with those of degree and university."""
    return subjects.select_related("degree__university").only(
        "name", "final_price", "degree__name", "degree__university__acronym"
    )


def _lessons(batch: PriceBatch, *, with_lessons: bool) -> models.QuerySet[Lesson]:
    chosen = models.Q(pk__in=batch.lesson_ids)
    if with_lessons:
        chosen |= models.Q(subject__in=batch.subject_ids)
    return Lesson.objects.filter(chosen)


def _step(row: Subject | Lesson, formula: PriceFormula) -> PriceStep:
    before: Decimal = getattr(row, row.price_field)
    return PriceStep(row, before, to_euros(formula.new_cents(to_cents(before))))


def fingerprint(steps: Iterable[PriceStep]) -> str:
    """Return a hash that is equal for equal steps."""
    lines = (f"{type(s.row).__name__} {s.row.pk} {s.before} {s.after}" for s in steps)
    return sha256("\n".join(lines).encode()).hexdigest()


@transaction.atomic
def apply_batch(
    *,
    batch_id: int,
    formula: PriceFormula,
    with_lessons: bool,
    expected: str,
    user: Any,
    is_confirmed: bool = False,
) -> PriceBatch:
    """Change the prices as previewed and record who changed them.

    `expected` is the fingerprint of the preview, and `is_confirmed` whether staff have confirmed
    its surprising prices. Raises PricesUnconfirmed if they have not, BatchRefused if prices have
    changed since, or if the batch is applied already, and TooManyRequests above those of a day.
    """
    batch = _locked(batch_id)
    if batch.applied_at:
        raise BatchRefused("Este cambio ya está hecho.")
    steps = preview(batch, formula, with_lessons=with_lessons)
    if not steps or fingerprint(steps) != expected:
        raise BatchRefused
    if not is_confirmed and any(step.needs_confirmation for step in steps):
        raise PricesUnconfirmed(step.name for step in steps if step.needs_confirmation)
    BATCHES_A_DAY.count_key(str(user.pk))
    with prices_changed_by(user):
        _store([(step.row, step.before, step.after) for step in steps], batch)
    batch.summary = str(formula)
    batch.prices_count = len(steps)
    batch.applied_at = timezone.now()
    batch.save(update_fields=["summary", "prices_count", "applied_at"])
    return batch


@transaction.atomic
def undo_batch(*, batch_id: int, user: Any) -> tuple[int, int]:
    """Restore the prices from before the batch. Return how many were restored and how many not.

    A price that was changed again since stays as it is. Raises BatchRefused if the batch is not
    applied, or is undone already.
    """
    batch = _locked(batch_id)
    if not batch.applied_at or batch.undone_at:
        raise BatchRefused("Este cambio ya está deshecho.")
    changes = batch.changes.select_related("subject", "lesson").only(
        "batch", "before", "after",
        "subject__name", "subject__final_price", "lesson__title", "lesson__price",
    )  # fmt: skip
    restored: list[tuple[Subject | Lesson, Decimal, Decimal]] = []
    for change in changes:
        row = change.subject or change.lesson
        if row is not None and change.before is not None:
            now = getattr(row, row.price_field)
            if now == change.after:
                restored.append((row, now, change.before))
    with prices_changed_by(user):
        _store(restored, None)
    batch.undone_at = timezone.now()
    batch.undone_by = user
    batch.save(update_fields=["undone_at", "undone_by"])
    return len(restored), batch.prices_count - len(restored)


def _locked(batch_id: int) -> PriceBatch:
    """Lock all universities, as every change of the catalogue does first, and then the batch."""
    lock_universities()
    return PriceBatch.objects.select_for_update().get(pk=batch_id)


def _store(
    changes: Sequence[tuple[Subject | Lesson, Decimal, Decimal]], batch: PriceBatch | None
) -> None:
    for model in (Subject, Lesson):
        field = model.price_field
        rows: list[tuple[Recorded, dict[str, Any]]] = []
        for row, before, after in changes:
            if isinstance(row, model):
                setattr(row, field, after)
                rows.append((row, {field: before}))
        for first in range(0, len(rows), ROWS_AT_ONCE):
            change_rows(model, rows[first : first + ROWS_AT_ONCE], [field], batch=batch)
