from dataclasses import dataclass

from apps.catalogue.models import Lesson, Subject
from apps.classroom.models import Enrolment
from apps.students.models import Student


@dataclass(frozen=True)
class StudiedSubject:
    """A subject with the lessons of it that the student may open, in the subject's order."""

    subject: Subject
    complete: bool
    lessons: list[Lesson]


def subjects_of(student: Student) -> list[StudiedSubject]:
    """What the student is enrolled in, by subject name. Two queries."""
    enrolments = (
        Enrolment.objects.filter(student=student)
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
        complete = any(enrolment.lesson_id is None for enrolment in mine)
        own = {enrolment.lesson_id for enrolment in mine}
        lessons = [lesson for lesson in subject.lessons.all() if complete or lesson.pk in own]
        studied.append(StudiedSubject(subject, complete, lessons))
    return studied
