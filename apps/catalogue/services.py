"""What changes in the catalogue beside what staff type: stored counts, and who set a price."""

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
    PriceChange,
    Recorded,
    Subject,
    University,
)

# SQLite has no more than 32,766 parameters in a statement.
COPIED_AT_ONCE = 10_000

_price_setter: ContextVar[AbstractBaseUser | AnonymousUser | None] = ContextVar(
    "_price_setter", default=None
)
_counts_put_off: ContextVar[bool] = ContextVar("_counts_put_off", default=False)


@contextmanager
def prices_changed_by(user: AbstractBaseUser | AnonymousUser) -> Iterator[None]:
    """Within it, price changes are kept as that user's; outside, as nobody's (seed, import)."""
    token = _price_setter.set(user)
    try:
        yield
    finally:
        _price_setter.reset(token)


def record_prices(changes: Iterable[tuple[Recorded, Decimal | None, Decimal]]) -> None:
    """Keep (row, before, after) of subjects and lessons; before is None for a first price."""
    user = _price_setter.get()
    PriceChange.objects.bulk_create(
        PriceChange(
            subject=row if isinstance(row, Subject) else None,
            lesson=row if isinstance(row, Lesson) else None,
            before=before,
            after=after,
            changed_by_id=user.pk if user else None,
        )
        for row, before, after in changes
    )


def change_rows(
    model: type[Recorded],
    rows: Sequence[tuple[Recorded, dict[str, Any]]],
    attributes: Sequence[str],
) -> None:
    """Write these attributes of many rows at once, each given with its values before.

    Within `counts_at_the_end`, which counts what follows from them. The rows need but their id and
    these attributes. Keeps the price history as a save does.
    """
    written = {*attributes}
    if "name" in written:
        for row, _ in rows:
            row.fill_in()
        written.update(model.filled_in)
    # Past RecordedQuerySet, which refuses to change prices without their history.
    model._base_manager.bulk_update([row for row, _ in rows], written)
    if model.price_field in written:
        record_prices(
            (row, before[model.price_field], getattr(row, model.price_field))
            for row, before in rows
        )


def record_first_prices(model: type[Recorded], rows: Iterable[Recorded]) -> None:
    """Keep the prices that these rows of one model have just been added with.

    Copied within the database: to make an object of each took as long as adding the rows.
    """
    user = _price_setter.get()
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
def set_lesson_status(lessons: models.QuerySet[Lesson], status: Lesson.Status) -> int:
    """Open or expire many lessons, with the counts that follow; returns how many changed."""
    lock_universities(
        University.objects.filter(degrees__subjects__lessons__in=lessons.values("pk"))
        .order_by()
        .values_list("pk", flat=True)
    )
    changed = Lesson.objects.filter(pk__in=lessons.values("pk")).exclude(status=status)
    ids = list(changed.values_list("pk", flat=True))
    Lesson.objects.filter(pk__in=ids).update(status=status)
    refresh_counts_of_degrees(Degree.objects.filter(subjects__lessons__in=ids))
    return len(ids)


def subject_enrolled(*subject_ids: int) -> None:
    """Count the students again where these subjects belong, after a change of enrolments.

    To be called in the transaction that enrols, once for all its subjects: universities are locked
    in the order of their ids, so that two purchases can't wait for each other.
    """
    refresh_counts_of_degrees(Degree.objects.filter(subjects__in=subject_ids))


def refresh_counts_of_degrees(degrees: models.QuerySet[Degree]) -> None:
    """`refresh_counts` of these degrees and their universities alone."""
    places = set(degrees.order_by().values_list("pk", "university").distinct())
    refresh_counts(
        university_ids={university for _, university in places},
        degree_ids={degree for degree, _ in places},
    )


@contextmanager
def counts_at_the_end() -> Iterator[None]:
    """Within it many rows are added and changed, in one transaction, and counted once: at its end.

    Locks every university from the start, so that nobody's purchase is counted in between.
    """
    with transaction.atomic():
        lock_universities()
        token = _counts_put_off.set(True)
        try:
            yield
        finally:
            _counts_put_off.reset(token)
        # The planner takes tables that have just been filled for empty ones.
        after_many_changes()
        refresh_counts()


@transaction.atomic
def refresh_counts(
    *, university_ids: Iterable[int] | None = None, degree_ids: Iterable[int] | None = None
) -> None:
    """Set what is stored of these universities, their degrees and subjects; None: of all.

    `degree_ids`: where only some of their degrees, with the subjects of these, can have changed. A
    purchase waits for this, and a university may have twenty thousand subjects.

    Can be repeated; writes only rows whose counts were wrong. `subjects_count` counts what a
    visitor finds: active subjects with an active lesson. Students are counted once each.
    """
    if _counts_put_off.get():
        return
    locked = lock_universities(university_ids)
    degrees = Degree.objects.filter(university__in=locked)
    subjects = Subject.objects.filter(degree__university__in=locked)
    if degree_ids is not None:
        concerned = set(degree_ids)
        degrees = degrees.filter(pk__in=concerned)
        subjects = subjects.filter(degree__in=concerned)
    _settle(
        subjects,
        active_lessons_count=_count(
            Lesson.objects.filter(subject=OuterRef("pk"), status=Lesson.Status.ACTIVE)
        ),
        # The relation is the classroom's, which may import us but not the other way round.
        enrolled_counted=_count(
            Subject.objects.filter(pk=OuterRef("pk")), distinct="enrolments__student"
        ),
        # A degree may have moved to another university, with its subjects.
        university=Subquery(Degree.objects.filter(pk=OuterRef("degree")).values("university")),
    )
    findable = Subject.objects.findable()
    _settle(
        degrees,
        subjects_count=_count(findable.filter(degree=OuterRef("pk"))),
        students_counted=_count(
            Subject.objects.filter(degree=OuterRef("pk")), distinct="enrolments__student"
        ),
    )
    _settle(
        University.objects.filter(pk__in=locked),
        degrees_count=_count(Degree.objects.filter(university=OuterRef("pk"))),
        subjects_count=_count(findable.filter(university=OuterRef("pk"))),
        students_counted=_count(
            Subject.objects.filter(university=OuterRef("pk")), distinct="enrolments__student"
        ),
    )


def lock_universities(university_ids: Iterable[int] | None = None) -> list[int]:
    """Lock them in the order of their ids until the transaction ends; None: all. Returns the ids.

    Whoever changes catalogue or enrolments takes this lock first. The counts are then taken in a
    later statement: only that one sees what the transaction before us has committed.
    """
    universities = University.objects.all()
    if university_ids is not None:
        universities = universities.filter(pk__in=set(university_ids))
    return list(
        universities.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True)
    )


def _count(rows: models.QuerySet[models.Model], *, distinct: str = "") -> Subquery:
    """How many rows, or how many different values, as a subquery that always has an answer.

    A plain function, since Django's aggregate would group, and give NULL where there are no rows.
    """
    counted = Func(
        F(distinct or "pk"),
        function="COUNT",
        template=f"%(function)s({'DISTINCT ' if distinct else ''}%(expressions)s)",
        output_field=models.IntegerField(),
    )
    return Subquery(rows.order_by().annotate(counted=counted).values("counted"))


def _settle(rows: models.QuerySet[models.Model], **counts: Subquery) -> None:
    fresh = {f"{field}_now": count for field, count in counts.items()}
    as_they_should_be = {field: F(f"{field}_now") for field in counts}
    rows.annotate(**fresh).exclude(**as_they_should_be).update(**counts)


def after_many_changes() -> None:
    """Tell PostgreSQL at once what autovacuum would find out in a minute.

    Without fresh statistics and visibility the catalogue's indexes are there and not used.
    """
    if connection.vendor != "postgresql":
        return
    # VACUUM can't run inside a transaction.
    order = "ANALYZE" if connection.in_atomic_block else "VACUUM (ANALYZE)"
    with connection.cursor() as cursor:
        for model in (University, Degree, Subject, Lesson, PriceChange):
            cursor.execute(f"{order} {connection.ops.quote_name(model._meta.db_table)}")
