"""Sending students' rights to Moodle again, after Moodle was restored from a backup of its own.

The shop remembers what Moodle was told (`MoodleEnrolment`) and sends only changes. Here it forgets
that for the students concerned, and queues a change for each. Students get no mail.
"""

from collections.abc import Collection

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django_tasks import task
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from apps.classroom.models import AccessChange, Enrolment, MoodleCourse, MoodleEnrolment
from apps.classroom.sync import queue_sync
from apps.core.dates import today
from apps.core.errors import Conflict
from apps.core.staff.admin_buttons import Repeated
from apps.students.models import Student

REASON = "Acceso enviado otra vez"
# Below what purchases, refunds and blocks queue.
PRIORITY = 0
BATCH = 100


class NoMoodle(Conflict):
    code = "no_moodle"
    message = "El aula de esta tienda no es un Moodle (CLASSROOM=moodle)."


def check_is_moodle() -> None:
    if settings.CLASSROOM != "moodle":
        raise NoMoodle


def sharing_course(row: MoodleCourse) -> list[int]:
    """The entries of all subjects and lessons that have the same course in Moodle."""
    same = MoodleCourse.objects.filter(course_id=row.course_id)
    return sorted(same.values_list("pk", flat=True))


def students_with_access(entries: Collection[int] | None = None) -> QuerySet[Student]:
    """Students with an open or paused right; with `entries`, to something in those courses."""
    running = Enrolment.objects.exclude(ends_on__lt=today())
    if entries is not None:
        items = Q(pk__in=())
        for row in MoodleCourse.objects.filter(pk__in=entries):
            items |= Q(subject=row.subject_id, lesson=row.lesson_id)
        running = running.filter(items)
    return Student.objects.filter(pk__in=running.values("student")).order_by("pk")


@transaction.atomic
def send_again(students: Collection[Student], entries: Collection[int] | None = None) -> int:
    """Queue what these students may enter to be sent again; return for how many it was queued.

    With `entries`, only the enrolments in those courses. A student whose rights wait to be sent
    already gets no second change.
    """
    # The lock makes a second click wait, and find the changes of the first.
    locked = list(
        Student.objects.select_for_update(no_key=True)
        .filter(pk__in=[student.pk for student in students])
        .order_by("pk")
    )
    told = MoodleEnrolment.objects.filter(student__in=locked)
    if entries is not None:
        courses = MoodleCourse.objects.filter(pk__in=entries).values("course_id")
        told = told.filter(course_id__in=courses)
    told.update(state="", group="")
    # A worker that holds a change may have read the rows before. It can't take these meanwhile.
    waiting = set(
        AccessChange.objects.select_for_update(no_key=True)
        .filter(student__in=locked, status=AccessChange.Status.PENDING, leased_until=None)
        .order_by("pk")
        .values_list("student_id", flat=True)
    )
    left = [student for student in locked if student.pk not in waiting]
    for student in left:
        queue_sync(student, order_id=0, reason=REASON, priority=PRIORITY)
    return len(left)


def send_many_again(entries: list[int] | None = None) -> int:
    """Begin to send the rights of all students, or of those in some courses; return how many.

    Raises Repeated while a batch of the same kind waits in the queue.
    """
    check_is_moodle()
    batches = DBTaskResult.objects.filter(
        task_path=send_batch_again.module_path, status=TaskResultStatus.READY
    )
    if any(batch.args_kwargs["kwargs"]["entries"] == entries for batch in batches):
        raise Repeated("Ya se están enviando otra vez.")
    count = students_with_access(entries).count()
    if count:
        send_batch_again.enqueue(entries=entries, after=0)
    return count


@task(queue_name="access", priority=PRIORITY)
def send_batch_again(entries: list[int] | None, after: int) -> None:
    """Queue the students whose number is greater than `after`, some at a time.

    The next batch waits in the same queue behind the changes of this one.
    """
    batch = list(students_with_access(entries).filter(pk__gt=after)[:BATCH])
    if not batch:
        return
    with transaction.atomic():
        send_again(batch, entries)
        send_batch_again.enqueue(entries=entries, after=batch[-1].pk)
