"""Bringing the classroom in line with a student's rights: the account, the rights and retries.

The classroom may be an external site (Moodle), so nothing here runs inside a transaction.
"""

from collections.abc import Sequence
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django_tasks import task

from apps.classroom.backends import current_classroom
from apps.classroom.backends.base import (
    AccountHasPowers,
    ClassroomError,
    ExternalAccount,
    Item,
    Known,
    NeedsStaff,
    Problem,
    Right,
)
from apps.classroom.models import AccessChange, Account, Provisioning
from apps.classroom.rights import items_left, rights_of
from apps.core.database import require_transaction
from apps.students.models import Student

# The mail that announces the access of a purchase.
PRIORITY = 20


class SendResult(NamedTuple):
    """The outcome of sending rights: the account's problem, if any, and those of the rights."""

    account_problem: str
    problems: list[Problem]


def queue_sync(
    student: Student,
    *,
    order_id: int,
    reason: str,
    note: str = "",
    moves_account: bool = False,
    priority: int | None = None,
) -> None:
    """Queue a task that sends the student's rights to the classroom, in the caller's transaction.

    `order_id`, `reason` and `note`, which staff typed, are for staff. `moves_account` also gives
    the account in the classroom the student's present address. `priority` is that of its task, None
    for the usual one.
    """
    require_transaction("queue_sync")
    change = AccessChange.objects.create(
        student=student,
        order_id=order_id,
        reason=reason,
        note=note,
        moves_account=moves_account,
    )
    sync_classroom.using(priority=priority).enqueue(change_id=change.pk)


@task(queue_name="access", priority=PRIORITY)
def sync_classroom(change_id: int) -> None:
    """Send a student's current rights to the classroom; retried if the classroom fails."""
    change = AccessChange.claim(pk=change_id)
    if change is None:
        return
    try:
        _sync(change)
    # Any error is stored in the row, and the change stays queued for a retry.
    except Exception as error:
        change.schedule_retry(
            error,
            lambda due_at: sync_classroom.using(run_after=due_at).enqueue(change_id=change_id),
            permanent=isinstance(error, NeedsStaff),
        )
    else:
        AccessChange.objects.filter(pk=change_id).update(
            status=AccessChange.Status.DONE, leased_until=None, last_error=""
        )


def _sync(change: AccessChange) -> None:
    """Move the account if asked, and send the rights. Raises what was refused."""
    refusal = None
    if change.moves_account:
        try:
            _move_account(change.student)
        except ClassroomError as error:
            # The rights have to be sent all the same.
            refusal = error
    problems = _sync_until_unchanged(change.student).problems
    waiting = _items_of_unfinished(change.student, but=change.order_id)
    # An order that is still being provided reports its own problems.
    own = [row for row in problems if not row.items or not waiting.issuperset(row.items)]
    if refusal is not None:
        raise refusal
    if own:
        raise ClassroomError(" ".join(row.message for row in own))


def _move_account(student: Student) -> None:
    """Give the student's account in the classroom the student's present address."""
    student.refresh_from_db()
    known = known_account(student)
    if known.external_id and student.erased_at is None:
        current_classroom().move_account(student, known)


def _items_of_unfinished(student: Student, *, but: int) -> set[Item]:
    """The items whose problems an access that waits, or has failed, reports itself.

    No attempt follows for an access that has failed: a change of the order `but` reports the
    problems of that order's items.
    """
    rows = list(Provisioning.objects.filter(student=student))
    pending, failed = (
        {item for row in rows if row.status == status for item in items_left(row)}
        for status in (Provisioning.Status.PENDING, Provisioning.Status.FAILED)
    )
    own = {Item(*item) for row in rows if row.order_id == but for item in row.items}
    return pending | (failed - own)


def _sync_until_unchanged(student: Student) -> SendResult:
    """Send the student's rights until they have not changed while they were being sent.

    Two workers may reach the classroom in the wrong order. The last one sends the current rights.
    """
    sent: list[Right] | None = None
    outcome = SendResult("", [])
    while (rights := rights_of(student)) != sent:
        outcome = send_rights(student, rights)
        sent = rights
    return outcome


def send_rights(student: Student, rights: Sequence[Right]) -> SendResult:
    """Create the student's account in the classroom if needed, and apply the rights.

    Call this outside any transaction. Raises the classroom's errors.
    """
    # The student may have been erased since the caller read the row.
    student.refresh_from_db()
    if student.erased_at is None and any(right.state != "withdrawn" for right in rights):
        external = ensure_account(student)
        problems = current_classroom().apply_rights(student, external.external_id, rights)
        return SendResult(external.problem, problems)
    # No account is looked up or created for a student who has no right, or who was erased.
    known_id = known_account(student).external_id
    return SendResult("", current_classroom().apply_rights(student, known_id, rights))


def closed_items(items: Sequence[Item]) -> list[Problem]:
    """The items that the classroom opens to none of their students yet.

    Call this outside any transaction. Raises the classroom's errors.
    """
    return current_classroom().closed_items(items)


def ensure_account(student: Student) -> ExternalAccount:
    """Find or create the student's account in the classroom, and store its id and username.

    The classroom is asked every time: the setting `CLASSROOM` may have changed, or the account may
    have been deleted there. Call this outside any transaction. Raises the classroom's errors.
    """
    known = known_account(student)
    try:
        external = current_classroom().ensure_account(student, known)
    except AccountHasPowers as refusal:
        _hold(student, refusal.external_id)
        raise
    with transaction.atomic():
        locked = Student.objects.select_for_update(no_key=True).get(pk=student.pk)
        is_erased = locked.erased_at is not None
        account = Account(
            student=student,
            external_id=external.external_id,
            username="" if is_erased else external.username,
            address="" if is_erased else external.address,
            made_by_shop=external.made_by_shop,
            classroom=settings.CLASSROOM,
        )
        if known.external_id != external.external_id and settings.CLASSROOM != "local":
            # Another account has a password and a confirmation of its own, or none.
            Account.objects.filter(student=student).update(confirmed_for="", password="")
        Account.objects.bulk_create(
            [account],
            update_conflicts=True,
            unique_fields=["student"],
            update_fields=["external_id", "username", "address", "made_by_shop", "classroom"],
        )
        if locked.email != student.email and not is_erased:
            # The address was changed while the account was being created for the former one.
            queue_sync(locked, order_id=0, reason="Correo cambiado", moves_account=True)
    return external


def _hold(student: Student, external_id: str) -> None:
    """Store the account with powers that has the student's address, for staff to decide."""
    held = Account(student=student, held_id=external_id, classroom=settings.CLASSROOM)
    Account.objects.bulk_create(
        [held], update_conflicts=True, unique_fields=["student"], update_fields=["held_id"]
    )


def known_account(student: Student) -> Known:
    """The stored facts about the student's account in the present classroom."""
    account = Account.objects.select_related("student").filter(student=student).first()
    if account is None or account.classroom != settings.CLASSROOM:
        return Known()
    return Known(
        external_id=account.external_id,
        address=account.address,
        made_by_shop=account.made_by_shop,
        is_confirmed=account.confirmed_for != "",
        allowed_id=account.allowed_id,
        password_is_ended=account.password_is_ended,
    )


def retry_change(change: AccessChange) -> bool:
    """Retry a change that has failed or waits for its next attempt; False if it has neither.

    For staff who have mended the cause.
    """

    def enqueue() -> object:
        return sync_classroom.enqueue(change_id=change.pk)

    return change.restart(enqueue) or change.bring_forward(enqueue)


def requeue_stuck_changes() -> int:
    """Enqueue due changes whose task was lost, for example with its worker; return how many."""
    return AccessChange.requeue_stuck(sync_classroom, "change_id")
