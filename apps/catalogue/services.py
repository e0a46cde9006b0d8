"""Stored counts and price history of the catalogue."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import connection, models, transaction
from django.db.models import F, Func, OuterRef, Subquery, Value
from django.utils import timezone

from apps.catalogue.models import (
    Degree,
    Lesson,
    PriceBatch,
    PriceChange,
    StaleCount,
    Subject,
    University,
)
from apps.catalogue.price_limits import check_lowered
from apps.catalogue.recorded import Recorded

# SQLite allows at most 32,766 parameters in a statement.
COPIED_AT_ONCE = 10_000

_price_setter: ContextVar[AbstractBaseUser | AnonymousUser | None] = ContextVar(
    "_price_setter", default=None
)
_counts_deferred: ContextVar[bool] = ContextVar("_counts_deferred", default=False)


@contextmanager
def prices_changed_by(user: AbstractBaseUser | AnonymousUser) -> Iterator[None]:
    """Record price changes within the block as made by `user`. Without it they name nobody."""
    token = _price_setter.set(user)
    try:
        yield
    finally:
        _price_setter.reset(token)


def price_setter() -> AbstractBaseUser | AnonymousUser | None:
    """The user of `prices_changed_by`."""
    return _price_setter.get()


def record_prices(
    changes: Iterable[tuple[Recorded, Decimal | None, Decimal]], batch: PriceBatch | None = None
) -> None:
    """Store price changes (row, before, after). `before` is None for a first price.

    Raises OverLimit if the user may not lower a price so far; the caller's transaction then ends.
    """
    user = _price_setter.get()
    changes = list(changes)
    check_lowered(user, changes)
    PriceChange.objects.bulk_create(
        PriceChange(
            subject=row if isinstance(row, Subject) else None,
            lesson=row if isinstance(row, Lesson) else None,
            before=before,
            after=after,
            changed_by_id=user.pk if user else None,
            batch=batch,
        )
        for row, before, after in changes
    )


def change_rows(
    model: type[Recorded],
    rows: Sequence[tuple[Recorded, dict[str, Any]]],
    attributes: Sequence[str],
    *,
    batch: PriceBatch | None = None,
) -> None:
    """Update these attributes of many rows at once, and record the price history.

    Each row comes with its previous values. A row needs only its id and these attributes. Call this
    within `deferred_counts`, which refreshes the counts, unless only prices change: no count
    depends on them. The history names `batch`, if the prices are changed by one.
    """
    written = {*attributes}
    if "name" in written:
        for row, _ in rows:
            row.compute_columns()
        written.update(model.computed_columns)
    # Not through RecordedQuerySet, which refuses to update prices without their history.
    model._base_manager.bulk_update([row for row, _ in rows], written)
    if model.price_field in written:
        record_prices(
            (
                (row, before[model.price_field], getattr(row, model.price_field))
                for row, before in rows
            ),
            batch,
        )


def record_first_prices(model: type[Recorded], rows: Iterable[Recorded]) -> None:
    """Record the first prices of rows of one model that were just inserted.

    The database copies the prices: creating an object for each took as long as the insert. Raises
    OverLimit as `record_prices` does.
    """
    user = _price_setter.get()
    rows = list(rows)
    check_lowered(user, [(row, None, Decimal(getattr(row, row.price_field))) for row in rows])
    ids = [row.pk for row in rows]
    column = {field.name: str(field.column) for field in PriceChange._meta.concrete_fields}
    into = [column[name] for name in (model.__name__.lower(), "after", "changed_by", "changed_at")]
    for first in range(0, len(ids), COPIED_AT_ONCE):
        prices = (
            model._base_manager.filter(pk__in=ids[first : first + COPIED_AT_ONCE])
            .order_by("pk")
            .annotate(
                user=Value(user.pk if user else None, output_field=models.BigIntegerField()),
                now=Value(timezone.now(), output_field=models.DateTimeField()),
            )
            .values_list("pk", model.price_field, "user", "now")
        )
        select, params = prices.query.get_compiler(connection=connection).as_sql()
        quoted = [connection.ops.quote_name(name) for name in (PriceChange._meta.db_table, *into)]
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {quoted[0]} ({', '.join(quoted[1:])}) {select}", params)


@transaction.atomic
def set_lesson_status(lessons: models.QuerySet[Lesson], status: Lesson.Status) -> list[int]:
    """Set the status of many lessons, refresh the counts and return the ids of those changed."""
    lock_universities(
        University.objects.filter(degrees__subjects__lessons__in=lessons.values("pk"))
        .order_by()
        .values_list("pk", flat=True)
    )
    changed = Lesson.objects.filter(pk__in=lessons.values("pk")).exclude(status=status)
    ids = list(changed.order_by("pk").values_list("pk", flat=True))
    Lesson.objects.filter(pk__in=ids).update(status=status)
    refresh_counts_of_degrees(Degree.objects.filter(subjects__lessons__in=ids))
    return ids


def note_changed_enrolments(subject_ids: Iterable[int]) -> None:
    """Note that the students of these subjects are to be counted again, in the same transaction.

    A purchase does not count them itself: it would lock the university, and each purchase would
    count all of the university's students. `refresh_noted_counts` does it for many purchases.
    """
    if not _counts_deferred.get():
        StaleCount.objects.bulk_create(StaleCount(subject_id=pk) for pk in sorted(set(subject_ids)))


@transaction.atomic
def refresh_noted_counts() -> int:
    """Refresh the counts of all noted subjects, and return how many subjects these were.

    The notes are read first. A purchase that is committed during the count adds a note of its own,
    which the next call finds.
    """
    noted = dict(StaleCount.objects.order_by("pk").values_list("pk", "subject_id"))
    if not noted:
        return 0
    subject_ids = set(noted.values())
    refresh_counts_of_degrees(Degree.objects.filter(subjects__in=subject_ids))
    StaleCount.objects.filter(pk__in=noted).delete()
    return len(subject_ids)


def refresh_counts_of_degrees(degrees: models.QuerySet[Degree]) -> None:
    """Refresh the counts of these degrees, their subjects and their universities."""
    places = set(degrees.order_by().values_list("pk", "university").distinct())
    refresh_counts(
        university_ids={university for _, university in places},
        degree_ids={degree for degree, _ in places},
    )


@contextmanager
def held_counts() -> Iterator[None]:
    """Run the block without refreshing any count: the caller refreshes them afterwards."""
    token = _counts_deferred.set(True)
    try:
        yield
    finally:
        _counts_deferred.reset(token)


@contextmanager
def deferred_counts() -> Iterator[None]:
    """Run the block in one transaction and refresh all counts once, at its end.

    All universities are locked from the start, so nobody else refreshes counts in between.
    """
    with transaction.atomic():
        lock_universities()
        with held_counts():
            yield
        # Without fresh statistics the planner believes that the new rows do not exist.
        refresh_statistics()
        refresh_counts()


@transaction.atomic
def refresh_counts(
    *, university_ids: Iterable[int] | None = None, degree_ids: Iterable[int] | None = None
) -> None:
    """Recompute the stored counts of universities, their degrees and subjects; None means all.

    `degree_ids` limits the work to these degrees and their subjects: a university may have twenty
    thousand subjects.

    Safe to repeat: it writes only rows with wrong counts. `subjects_count` counts active subjects
    with an active lesson. A student with several enrolments counts once.
    """
    if _counts_deferred.get():
        return
    locked = lock_universities(university_ids)
    degrees = Degree.objects.filter(university__in=locked)
    subjects = Subject.objects.filter(degree__university__in=locked)
    if degree_ids is not None:
        affected = set(degree_ids)
        degrees = degrees.filter(pk__in=affected)
        subjects = subjects.filter(degree__in=affected)
    _refresh_subjects(subjects)
    _refresh_degrees(degrees)
    _refresh_universities(University.objects.filter(pk__in=locked))


def _refresh_subjects(subjects: models.QuerySet[Subject]) -> None:
    _store_counts(
        subjects,
        active_lessons_count=_count(
            Lesson.objects.filter(subject=OuterRef("pk"), status=Lesson.Status.ACTIVE)
        ),
        # The relation belongs to the classroom app, which this app may not import.
        enrolled_counted=_count(
            Subject.objects.filter(pk=OuterRef("pk")), distinct="enrolments__student"
        ),
        # A degree may have moved to another university together with its subjects.
        university=Subquery(Degree.objects.filter(pk=OuterRef("degree")).values("university")),
    )


def _refresh_degrees(degrees: models.QuerySet[Degree]) -> None:
    _store_counts(
        degrees,
        subjects_count=_count(Subject.objects.findable().filter(degree=OuterRef("pk"))),
        students_counted=_count(
            Subject.objects.filter(degree=OuterRef("pk")), distinct="enrolments__student"
        ),
    )


def _refresh_universities(universities: models.QuerySet[University]) -> None:
    _store_counts(
        universities,
        degrees_count=_count(Degree.objects.filter(university=OuterRef("pk"))),
        subjects_count=_count(Subject.objects.findable().filter(university=OuterRef("pk"))),
        students_counted=_count(
            Subject.objects.filter(university=OuterRef("pk")), distinct="enrolments__student"
        ),
    )


def lock_universities(university_ids: Iterable[int] | None = None) -> list[int]:
    """Lock universities in the order of their ids and return the ids; None means all.

    Every change of the catalogue takes this lock first. The counts run in a later
    statement, because only that one sees the commit of the transaction that held the lock before.
    """
    universities = University.objects.all()
    if university_ids is not None:
        universities = universities.filter(pk__in=set(university_ids))
    return list(
        universities.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True)
    )


def _count(rows: models.QuerySet[models.Model], *, distinct: str = "") -> Subquery:
    """Return a subquery that counts rows, or distinct values, and gives 0 for no rows.

    Django's Count would add GROUP BY and give NULL for no rows.
    """
    counted = Func(
        F(distinct or "pk"),
        function="COUNT",
        template=f"%(function)s({'DISTINCT ' if distinct else ''}%(expressions)s)",
        output_field=models.IntegerField(),
    )
    return Subquery(rows.order_by().annotate(counted=counted).values("counted"))


def _store_counts(rows: models.QuerySet[models.Model], **counts: Subquery) -> None:
    fresh = {f"{field}_now": count for field, count in counts.items()}
    correct = {field: F(f"{field}_now") for field in counts}
    rows.annotate(**fresh).exclude(**correct).update(**counts)


def refresh_statistics() -> None:
    """Run ANALYZE or VACUUM on the catalogue's tables now; autovacuum would wait a minute.

    Without fresh statistics and visibility maps PostgreSQL does not use the catalogue's indexes.
    """
    if connection.vendor != "postgresql":
        return
    # VACUUM can't run inside a transaction.
    command = "ANALYZE" if connection.in_atomic_block else "VACUUM (ANALYZE)"
    with connection.cursor() as cursor:
        for model in (University, Degree, Subject, Lesson, PriceChange):
            cursor.execute(f"{command} {connection.ops.quote_name(model._meta.db_table)}")
