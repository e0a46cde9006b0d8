"""Giving the access of an order to another student: its address was mistyped."""

from django.db import transaction
from django.utils import timezone

from apps.classroom.access import Cause
from apps.classroom.models import LostAccess, Provisioning
from apps.classroom.provisioning import enqueue_provision
from apps.classroom.rights import update_enrolments
from apps.classroom.sync import queue_sync
from apps.core.errors import Conflict
from apps.students.models import Student


class BeingProvided(Conflict):
    message = "Ahora mismo se está dando el acceso: vuelve a intentarlo en un minuto."


def is_being_provided(order_id: int) -> bool:
    """Whether a worker provides the order's access at the moment."""
    return Provisioning.being_provided().filter(order_id=order_id).exists()


@transaction.atomic
def transfer_access(*, order_id: int, to: Student, reason: str) -> None:
    """Withdraw an order's access from its student, and provide it to `to`, with the mail.

    `reason` is for staff. An access that was refunded moves without being provided, or mailed.
    Idempotent. Raises BeingProvided while a worker provides it.
    """
    row = Provisioning.objects.select_for_update(no_key=True).get(order_id=order_id)
    before = row.student
    if before == to:
        return
    if is_being_provided(order_id):
        raise BeingProvided
    is_refunded = all(item in row.withdrawn for item in row.items)
    was_open = row.status == Provisioning.Status.CREATED or row.missing != []
    LostAccess.objects.filter(provisioning=row, student=to).delete()
    LostAccess.objects.get_or_create(provisioning=row, student=before)
    row.student = to
    if not is_refunded:
        causes = [cause for cause in row.paused_for if cause != Cause.BLOCKED]
        row.status, row.missing = Provisioning.Status.PENDING, []
        row.problem = row.last_error = ""
        row.paused_for = [*causes, Cause.BLOCKED.value] if to.blocked_at else causes
        row.attempts, row.resends, row.due_at, row.leased_until = 0, 0, timezone.now(), None
    row.save()
    if was_open:
        update_enrolments(before, order_id=order_id)
    # Each attempt may have opened a part in the classroom, also one that has failed.
    queue_sync(before, order_id=order_id, reason=reason, priority=row.task_priority)
    if not is_refunded:
        enqueue_provision(row)
