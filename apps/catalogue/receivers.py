"""Signal receivers that record the price history and refresh the stored counts.

Signals cover every way to change the catalogue: admin, seed, import and shell.
"""

from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.db.models.signals import post_delete, post_save, pre_save

from apps.catalogue.models import Degree, Lesson, Subject
from apps.catalogue.recorded import Recorded
from apps.catalogue.services import (
    lock_universities,
    record_first_prices,
    record_prices,
    refresh_counts,
)
from apps.catalogue.signals import rows_added


def _degree_named_by(row: Recorded) -> QuerySet[Degree]:
    """Return the degree of the row's current parent."""
    match row:
        case Degree():
            return Degree.objects.filter(pk=row.pk)
        case Subject():
            return Degree.objects.filter(pk=row.degree_id)
        case Lesson():
            return Degree.objects.filter(subjects=row.subject_id)
    raise TypeError(f"{row!r} belongs to no degree")


def _degree_in_database(row: Recorded) -> QuerySet[Degree]:
    """Return the degree of the row as last saved: the old one if the row is being moved."""
    match row:
        case Degree():
            return Degree.objects.filter(pk=row.pk)
        case Subject():
            return Degree.objects.filter(subjects=row.pk)
    return Degree.objects.filter(subjects__lessons=row.pk)


def _places(row: Recorded) -> tuple[set[int], set[int]]:
    """Return the ids of the row's universities and degrees, both new and as last saved."""
    university_and_degree_ids = set(_degree_named_by(row).values_list("university", "pk"))
    if row.pk is not None:
        university_and_degree_ids.update(_degree_in_database(row).values_list("university", "pk"))
    universities = {university for university, _ in university_and_degree_ids}
    if isinstance(row, Degree):
        universities.add(row.university_id)
    return universities, {degree for _, degree in university_and_degree_ids}


def _price(row: Recorded) -> Decimal:
    """Return the price as a Decimal, even if it was assigned as a string or an integer."""
    return Decimal(getattr(row, row.price_field))


def remember_before_save(
    sender: type[Recorded], instance: Recorded, *, raw: bool = False, **kwargs: Any
) -> None:
    if raw:  # A fixture includes its own price history and counts.
        return
    universities, instance.affected_degrees = _places(instance)
    instance.affected_universities = lock_universities(universities)
    if instance.price_field:
        instance.price_before = (
            sender._default_manager.filter(pk=instance.pk)
            .values_list(instance.price_field, flat=True)
            .first()
        )


def record_save(
    sender: type[Recorded],
    instance: Recorded,
    *,
    update_fields: frozenset[str] | None = None,
    raw: bool = False,
    **kwargs: Any,
) -> None:
    if raw:
        return
    if instance.price_field and (update_fields is None or instance.price_field in update_fields):
        before, after = instance.price_before, _price(instance)
        if before != after:
            record_prices([(instance, before, after)])
    degrees = instance.affected_degrees
    if isinstance(instance, Degree):
        degrees.add(instance.pk)
    refresh_counts(university_ids=instance.affected_universities, degree_ids=degrees)


def record_added_rows(sender: type[Recorded], rows: list[Recorded], **kwargs: Any) -> None:
    if not rows:
        return
    if sender.price_field:
        record_first_prices(sender, rows)
    refresh_counts()


def record_deletion(sender: type[Recorded], instance: Recorded, **kwargs: Any) -> None:
    universities, degrees = _places(instance)
    refresh_counts(university_ids=universities, degree_ids=degrees)


for model in (Degree, Subject, Lesson):
    pre_save.connect(remember_before_save, sender=model)
    post_save.connect(record_save, sender=model)
    post_delete.connect(record_deletion, sender=model)
    rows_added.connect(record_added_rows, sender=model)
