"""What every save and deletion in the catalogue leaves behind: price history and fresh counts.

On the models' signals, so that no path forgets it: admin, seed, import and shell all come by here.
"""

from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.db.models.signals import post_delete, post_save, pre_save

from apps.catalogue.models import Degree, Lesson, Recorded, Subject, University
from apps.catalogue.services import lock_universities, record_prices, refresh_counts
from apps.catalogue.signals import rows_added


def _university_named_by(row: Recorded) -> QuerySet[University]:
    """Where the row belongs by the parent that it names now."""
    match row:
        case Degree():
            return University.objects.filter(pk=row.university_id)
        case Subject():
            return University.objects.filter(degrees=row.degree_id)
        case Lesson():
            return University.objects.filter(degrees__subjects=row.subject_id)
    raise TypeError(f"{row!r} belongs to no university")


def _university_in_database(row: Recorded) -> QuerySet[University]:
    """Where the row belonged when it was last saved; another one when it is being moved."""
    match row:
        case Degree():
            return University.objects.filter(degrees=row.pk)
        case Subject():
            return University.objects.filter(degrees__subjects=row.pk)
    return University.objects.filter(degrees__subjects__lessons=row.pk)


def _price(row: Recorded) -> Decimal:
    """The row's price as a Decimal, also where it was set as a text or a whole number."""
    return Decimal(getattr(row, row.price_field))


def before_a_row_changes(
    sender: type[Recorded], instance: Recorded, *, raw: bool = False, **kwargs: Any
) -> None:
    if raw:  # A fixture brings its own history and counts.
        return
    concerned = set(_university_named_by(instance).values_list("pk", flat=True))
    if instance.pk is not None:
        concerned.update(_university_in_database(instance).values_list("pk", flat=True))
    instance.concerned_universities = lock_universities(concerned)
    if instance.price_field:
        instance.price_before = (
            sender._default_manager.filter(pk=instance.pk)
            .values_list(instance.price_field, flat=True)
            .first()
        )


def after_a_row_changed(
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
    refresh_counts(university_ids=instance.concerned_universities)


def after_rows_were_added(sender: type[Recorded], rows: list[Recorded], **kwargs: Any) -> None:
    if not rows:
        return
    if sender.price_field:
        record_prices((row, None, _price(row)) for row in rows)
    refresh_counts()


def after_a_row_went(sender: type[Recorded], instance: Recorded, **kwargs: Any) -> None:
    refresh_counts(university_ids=_university_named_by(instance).values_list("pk", flat=True))


for model in (Degree, Subject, Lesson):
    pre_save.connect(before_a_row_changes, sender=model)
    post_save.connect(after_a_row_changed, sender=model)
    post_delete.connect(after_a_row_went, sender=model)
    rows_added.connect(after_rows_were_added, sender=model)
