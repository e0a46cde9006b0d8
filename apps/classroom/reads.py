from dataclasses import dataclass
from datetime import date

from django.db.models import Q

from apps.catalogue.models import Lesson, Subject
from apps.classroom.backends.base import Item
from apps.classroom.models import Enrolment
from apps.core.clock import today
from apps.students.models import Student


@dataclass(frozen=True)
class StudiedSubject:
    """A subject with the lessons of it that the student may open, in the subject's order."""

    subject: Subject
    complete: bool
    lessons: list[Lesson]
    # The last day on which something of it may be opened; None where it does not end.
    ends_on: date | None
    # Whether nothing of it may be opened for the time being.
    paused: bool


def item_name(item: Item) -> str:
    """ "Microeconomía" or "Microeconomía: PEC 3"."""
    subject = Subject.objects.get(pk=item.subject_id).name
    if item.lesson_id is None:
        return subject
    return f"{subject}: {Lesson.objects.get(pk=item.lesson_id).title}"


def subjects_of(student: Student) -> list[StudiedSubject]:
    """What the student is enrolled in and has not ended, by subject name. Two queries.

    A paused subject is listed with its lessons, none of which may be opened.
    """
    enrolments = (
        Enrolment.objects.filter(student=student)
        .filter(Q(ends_on=None) | Q(ends_on__gte=today()))
        .select_related("subject__degree__university")
        .prefetch_related("subject__lessons")
        .order_by("subject__name_sort", "subject")
    )
    by_subject: dict[int, list[Enrolment]] = {}
    for enrolment in enrolments:
        by_subject.setdefault(enrolment.subject_id, []).append(enrolment)
    studied = []
    for mine in by_subject.values():
        subject = mine[0].subject
        open_ones = [enrolment for enrolment in mine if enrolment.state == Enrolment.State.OPEN]
        # Of a subject that is open in part, what rests is not listed.
        mine = open_ones or mine
        complete = any(enrolment.lesson_id is None for enrolment in mine)
        own = {enrolment.lesson_id for enrolment in mine}
        lessons = [lesson for lesson in subject.lessons.all() if complete or lesson.pk in own]
        ends = [enrolment.ends_on for enrolment in mine]
        studied.append(
            StudiedSubject(
                subject,
                complete,
                lessons,
                ends_on=None if None in ends else max(end for end in ends if end),
                paused=all(enrolment.state == Enrolment.State.PAUSED for enrolment in mine),
            )
        )
    return studied
