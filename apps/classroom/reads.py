from dataclasses import dataclass
from datetime import date

from django.db.models import Q

from apps.catalogue.models import Lesson, Subject
from apps.classroom.models import Enrolment
from apps.core.dates import today
from apps.students.models import Student


@dataclass(frozen=True)
class StudiedSubject:
    """A subject with the lessons that the student is enrolled in, in the subject's sequence."""

    subject: Subject
    complete: bool
    lessons: list[Lesson]
    # The last day on which any of it is open; None means no end.
    ends_on: date | None
    # True if all of it is paused.
    paused: bool

    @property
    def days_left(self) -> int | None:
        """How many days are left, the last one included; None without an end."""
        return None if self.ends_on is None else (self.ends_on - today()).days + 1

    @property
    def has_locked(self) -> bool:
        """Whether lessons are left that the complete subject, if it is sold, would open."""
        return self.subject.active and len(self.lessons) < len(self.subject.lessons.all())


def subjects_of(student: Student) -> list[StudiedSubject]:
    """The student's subjects whose access has not ended, sorted by name. Two queries.

    A paused subject is listed with its lessons, which can't be opened.
    """
    enrolments = (
        Enrolment.objects.filter(student=student)
        .filter(Q(ends_on=None) | Q(ends_on__gte=today()))
        .select_related("subject__degree__university")
        .prefetch_related("subject__lessons")
        .order_by("subject__name_sort", "subject_id")
    )
    by_subject: dict[int, list[Enrolment]] = {}
    for enrolment in enrolments:
        by_subject.setdefault(enrolment.subject_id, []).append(enrolment)
    return [_studied_subject(group) for group in by_subject.values()]


def _studied_subject(enrolments: list[Enrolment]) -> StudiedSubject:
    """Summarize the enrolments in one subject. If some are open, paused ones are left out."""
    subject = enrolments[0].subject
    open_ones = [enrolment for enrolment in enrolments if enrolment.state == Enrolment.State.OPEN]
    listed = open_ones or enrolments
    complete = any(enrolment.lesson_id is None for enrolment in listed)
    lesson_ids = {enrolment.lesson_id for enrolment in listed}
    ends = [enrolment.ends_on for enrolment in listed]
    return StudiedSubject(
        subject,
        complete,
        lessons=[lesson for lesson in subject.lessons.all() if complete or lesson.pk in lesson_ids],
        ends_on=None if None in ends else max(end for end in ends if end),
        paused=not open_ones,
    )
