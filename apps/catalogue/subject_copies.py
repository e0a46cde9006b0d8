"""Copying a subject, and the order of its lessons."""

from django.db import transaction

from apps.catalogue.models import Degree, Lesson, Subject
from apps.catalogue.services import lock_universities, price_setter
from apps.catalogue.vat import may_change_vat
from apps.core.errors import Conflict


class NameTaken(Conflict):
    code = "name_taken"
    message = "En ese grado ya hay una asignatura con ese nombre."


@transaction.atomic
def copy_subject(subject: Subject, *, name: str, degree: Degree) -> Subject:
    """Copy a subject with its lessons. The copy is not on sale, and starts without students.

    It has the VAT of a new subject of its degree if who copies it may not choose another.

    Raises NameTaken if the degree has a subject with this name.
    """
    lock_universities([degree.university_id])
    if Subject.objects.filter(name=name, degree=degree).exists():
        raise NameTaken
    may_choose = may_change_vat(price_setter())
    vat = subject.vat if may_choose else Subject.objects.vat_of_new(degree.pk)
    copy = Subject.objects.create(
        name=name,
        degree=degree,
        final_price=subject.final_price,
        total_discounts=subject.total_discounts,
        vat=vat,
        semester=subject.semester,
        code=subject.code,
        language=subject.language,
        hours=subject.hours,
        questions=subject.questions,
        pecs_content=subject.pecs_content,
        exam_content=subject.exam_content,
        complete_only=subject.complete_only,
        videos_count=subject.videos_count,
        active=False,
    )
    Lesson.objects.bulk_create(
        Lesson(
            subject=copy,
            title=lesson.title,
            kind=lesson.kind,
            price=lesson.price,
            syllabus=lesson.syllabus,
            status=lesson.status,
            position=position,
        )
        for position, lesson in enumerate(subject.lessons.all(), start=1)
    )
    return copy


@transaction.atomic
def move_lesson(lesson: Lesson, *, by: int) -> bool:
    """Move a lesson up (-1) or down (1) among those of its subject, and number them from 1.

    Returns False if the subject no longer has this lesson.
    """
    lock_universities([lesson.subject.university_id])
    lessons = list(lesson.subject.lessons.all())
    if lesson not in lessons:
        return False
    place = lessons.index(lesson)
    lessons.insert(min(max(0, place + by), len(lessons) - 1), lessons.pop(place))
    changed = []
    for position, row in enumerate(lessons, start=1):
        if row.position != position:
            row.position = position
            changed.append(row)
    Lesson.objects.bulk_update(changed, ["position"], batch_size=500)
    return True
