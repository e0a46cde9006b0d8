"""Copying a subject, and the order of its lessons."""

from django.db import transaction

from apps.catalogue.models import Degree, Lesson, Subject
from apps.catalogue.services import lock_universities


@transaction.atomic
def copy_subject(subject: Subject, *, name: str, degree: Degree) -> Subject:
    """Copy a subject with its lessons. The copy is not on sale, and starts without students."""
    copy = Subject.objects.create(
        name=name,
        degree=degree,
        final_price=subject.final_price,
        total_discounts=subject.total_discounts,
        vat=subject.vat,
        semester=subject.semester,
        active=False,
    )
    Lesson.objects.bulk_create(
        Lesson(
            subject=copy,
            title=lesson.title,
            price=lesson.price,
            status=lesson.status,
            position=position,
        )
        for position, lesson in enumerate(subject.lessons.all(), start=1)
    )
    return copy


@transaction.atomic
def move_lesson(lesson: Lesson, *, by: int) -> None:
    """Move a lesson up (-1) or down (1) among those of its subject, and number them from 1."""
    lock_universities([lesson.subject.university_id])
    ids = list(lesson.subject.lessons.values_list("pk", flat=True))
    place = ids.index(lesson.pk)
    ids.insert(min(max(0, place + by), len(ids) - 1), ids.pop(place))
    for position, pk in enumerate(ids, start=1):
        Lesson.objects.filter(pk=pk).exclude(position=position).update(position=position)
