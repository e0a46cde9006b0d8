"""Bringing the classroom in line with a student's rights: the account, the rights and retries.

The classroom may be an external site (Moodle), so nothing here runs inside a transaction.
"""

from collections.abc import Sequence

from django.conf import settings
from django.db import transaction
from django_tasks import task

from apps.classroom.backends import current_classroom
from apps.classroom.backends.base import ExternalAccount, Right
from apps.classroom.models import AccessChange, Account
from apps.classroom.rights import rights_of
from apps.core.transactions import require_transaction
from apps.students.models import Student


def queue_sync(
    student: Student, *, order_id: int, reason: str, moves_account: bool = False
) -> None:
    """Queue a task that sends the student's rights to the classroom, in the caller's transaction.

    `order_id` and `reason` are for staff. `moves_account` also gives the account in the classroom
    the student's present address.
    """
    require_transaction("queue_sync")
    change = AccessChange.objects.create(
        student=student, order_id=order_id, reason=reason, moves_account=moves_account
    )
    sync_classroom.enqueue(change_id=change.pk)


@task(queue_name="access", priority=20)
def sync_classroom(change_id: int) -> None:
    """Send a student's current rights to the classroom; retried if the classroom fails."""
    change = AccessChange.claim(pk=change_id)
    if change is None:
        return
    try:
        if change.moves_account:
            _move_account(change.student)
        _sync_until_unchanged(change.student)
    # Any error is stored in the row, and the change stays queued for a retry.
    except Exception as error:
        change.schedule_retry(
            error,
            lambda due_at: sync_classroom.using(run_after=due_at).enqueue(change_id=change_id),
        )
    else:
        AccessChange.objects.filter(pk=change_id).update(
            status=AccessChange.Status.DONE, leased_until=None, last_error=""
        )


def _move_account(student: Student) -> None:
    """Give the student's account in the classroom the student's present address."""
    student.refresh_from_db()
    known_id = _known_id(student)
    if known_id and student.erased_at is None:
        current_classroom().move_account(known_id, student)


def _sync_until_unchanged(student: Student) -> None:
    """Send the student's rights until they have not changed while they were being sent.

    Two workers may reach the classroom in the wrong order. The last one sends the current rights.
    """
    sent: list[Right] | None = None
    while (rights := rights_of(student)) != sent:
        send_rights(student, rights)
        sent = rights


def send_rights(student: Student, rights: Sequence[Right]) -> None:
    """Create the student's account in the classroom if needed, and apply the rights.

    Call this outside any transaction. Raises the classroom's errors.
    """
    # The student may have been erased since the caller read the row.
    student.refresh_from_db()
    if student.erased_at is None:
        current_classroom().apply_rights(ensure_account(student).external_id, rights)
        return
    # For an erased student no account is looked up or created. A known one loses its rights.
    known_id = _known_id(student)
    if known_id:
        current_classroom().apply_rights(known_id, rights)


def ensure_account(student: Student) -> ExternalAccount:
    """Find or create the student's account in the classroom, and store its id and username.

    The classroom is asked every time: the setting `CLASSROOM` may have changed, or the account may
    have been deleted there. Call this outside any transaction. Raises the classroom's errors.
    """
    external = current_classroom().ensure_account(student, _known_id(student))
    with transaction.atomic():
        is_erased = (
            Student.objects.select_for_update(no_key=True).get(pk=student.pk).erased_at is not None
        )
        account = Account(
            student=student,
            external_id=external.external_id,
            username="" if is_erased else external.username,
            classroom=settings.CLASSROOM,
        )
        Account.objects.bulk_create(
            [account],
            update_conflicts=True,
            unique_fields=["student"],
            update_fields=["external_id", "username", "classroom"],
        )
    return external


def _known_id(student: Student) -> str:
    account = Account.objects.filter(student=student).first()
    return account.id_in(settings.CLASSROOM) if account else ""


def retry_change(change: AccessChange) -> bool:
    """Retry a change that has failed; False if it has not. For staff."""
    return change.restart(lambda: sync_classroom.enqueue(change_id=change.pk))


def requeue_stuck_changes() -> int:
    """Enqueue due changes whose task was lost, for example with its worker; return how many."""
    return AccessChange.requeue_stuck(sync_classroom, "change_id")
