"""How far students have come, by the classroom's word: fetched by a job, shown to them and staff.

The site's settings switch it on (`classroom_progress`). Switched off, nothing is fetched or shown.
"""

import time
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.classroom.backends import current_classroom
from apps.classroom.backends.base import Item, Seen
from apps.classroom.models import Account, Enrolment, Progress, Provisioning
from apps.classroom.rights import row_key
from apps.core.dates import today
from apps.core.models import SiteSettings
from apps.students.models import Student

# The clock runs one job after another. What is left waits for the next run.
LONGEST_RUN_S = 20.0
MOST_STUDENTS = 500
RETENTION = timedelta(days=365)


def fetch_progress() -> int:
    """Ask the classroom about students with open access, the longest unasked first.

    Returns how many were asked. Raises ClassroomError if the classroom fails or refuses; the next
    run goes on with the next student.
    """
    if not SiteSettings.current().classroom_progress:
        return 0
    ends_at = time.monotonic() + LONGEST_RUN_S
    asked = 0
    for account in _to_ask()[:MOST_STUDENTS]:
        if time.monotonic() > ends_at:
            break
        # Before the call: a student whom the classroom refuses must not hold up the others.
        Account.objects.filter(pk=account.pk).update(progress_at=timezone.now())
        _fetch(account)
        asked += 1
    return asked


def _to_ask() -> QuerySet[Account]:
    running = Enrolment.objects.filter(student=OuterRef("student"), state=Enrolment.State.OPEN)
    accounts = Account.objects.filter(
        Exists(running.filter(Q(ends_on=None) | Q(ends_on__gte=today()))),
        classroom=settings.CLASSROOM,
        student__erased_at=None,
    )
    return accounts.exclude(external_id="").order_by(F("progress_at").asc(nulls_first=True), "pk")


def _fetch(account: Account) -> None:
    open_ones = Enrolment.objects.filter(student=account.student_id, state=Enrolment.State.OPEN)
    items = [Item(*each) for each in open_ones.values_list("subject_id", "lesson_id")]
    _store(account, current_classroom().progress(account.external_id, items))


@transaction.atomic
def _store(account: Account, seen: dict[Item, Seen]) -> None:
    student = Student.objects.select_for_update(no_key=True).get(pk=account.student_id)
    accounts = Account.objects.filter(student=student, external_id=account.external_id)
    # Erased or merged while the classroom answered.
    if student.erased_at is not None or not accounts.exists():
        return
    known = {
        row_key(Item(row.subject_id, row.lesson_id)): row
        for row in Progress.objects.filter(student=student)
    }
    for item, found in seen.items():
        row = known.get(row_key(item)) or Progress(student=student, lesson_id=item.lesson_id)
        row.subject_id = item.subject_id
        row.done, row.total, row.last_access_at = found
        row.measured_at = timezone.now()
        row.save()


def progress_of(student: Student) -> QuerySet[Progress]:
    """The student's progress by the names of subjects and lessons; nothing while it is off."""
    rows = Progress.objects.filter(student=student).select_related("subject", "lesson")
    rows = rows.order_by("subject__name_sort", "subject_id", "lesson__position", "lesson_id")
    return rows if SiteSettings.current().classroom_progress else rows.none()


def proof_of_use(provisioning: Provisioning) -> list[str]:
    """A Spanish sentence on each item of an order of which the classroom has said something."""
    return [f"{row.name}: {row.summary}." for row in progress_by_item(provisioning).values()]


def progress_by_item(provisioning: Provisioning) -> dict[Item, Progress]:
    """The progress in what an order opened, without items of which the classroom said nothing."""
    opened = {Item(*item) for item in provisioning.items}
    rows = {Item(row.subject_id, row.lesson_id): row for row in progress_of(provisioning.student)}
    return {item: row for item, row in rows.items() if item in opened}
