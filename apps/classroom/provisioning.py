"""Provisioning: an order grants access, the worker provides it, and a mail announces it.

`orders` refers to a provisioning by the order's id (docs/rules.md, "Access and the classroom").
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, cast

from django.db import transaction
from django.utils import timezone
from django_tasks import task

from apps.classroom.access import Cause, has_no_account
from apps.classroom.backends.base import ClassroomError, NeedsStaff
from apps.classroom.models import ACCESS_MAIL, AccessChange, Provisioning
from apps.classroom.rights import access_end, items_left, rights_of, update_enrolments
from apps.classroom.sync import SendResult, closed_items, queue_sync, send_rights
from apps.core.database import insert_new
from apps.core.dates import today
from apps.core.errors import Conflict, TooManyRequests
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.models import SiteSettings
from apps.core.monitoring.purchase_log import log_step
from apps.students.models import Student

MAX_RESENDS = 3
RESEND_COOLDOWN = timedelta(seconds=180)
# An access is usually provided within seconds.
READY_SOON = timedelta(seconds=30)
NOTHING_LEFT = "Este pedido ya no abre nada en el aula virtual."

AccountStatus = Literal["pending", "created", "failed"]


class AccessNotReady(Conflict):
    code = "access_not_ready"
    message = "Todavía estamos preparando tu acceso. Te enviaremos el email en cuanto esté listo."


@dataclass(frozen=True)
class ResendResult:
    """Seconds until the mail may be sent again, and how many resends are left."""

    seconds_left: int
    attempts_left: int


@transaction.atomic
def grant_access(
    *,
    student: Student,
    items: Iterable[tuple[int, int | None]],
    order_id: int,
    mail: str = ACCESS_MAIL,
    costs_nothing: bool = False,
) -> None:
    """Queue access to (subject id, lesson id or None) items for the student, once per order.

    Part of the caller's transaction. The worker provides the access. A second call for the same
    order changes nothing. `mail` is the registered mail that announces the access; its context is
    {"provisioning_id"}. What `costs_nothing` waits for what was paid.
    """
    # The lock makes a concurrent block wait for this access, and pause it.
    locked = Student.objects.select_for_update(no_key=True).get(pk=student.pk)
    provisioning = Provisioning(
        order_id=order_id,
        student=student,
        items=[list(item) for item in items],
        ends_on=access_end(today()),
        mail=mail,
        costs_nothing=costs_nothing,
        paused_for=[Cause.BLOCKED.value] if locked.blocked_at else [],
    )
    if insert_new(provisioning):
        enqueue_provision(provisioning)


def enqueue_provision(provisioning: Provisioning, *, run_after: datetime | None = None) -> None:
    """Enqueue the task that provides the access, in the caller's transaction."""
    task = provision.using(priority=provisioning.task_priority, run_after=run_after)
    task.enqueue(order_id=provisioning.order_id)


@task(queue_name="access", priority=20)
def provision(order_id: int) -> None:
    """Attempt to provide one order's access."""
    provisioning = Provisioning.claim(order_id=order_id)
    if provisioning is not None:
        try:
            _provide(provisioning)
        # Any error is stored in the row, and the access stays queued for a retry.
        except Exception as error:
            _take_back_if_moved(provisioning)
            needs_staff = isinstance(error, NeedsStaff)
            problem = _problem_of(error)
            held = Provisioning.objects.filter(student=provisioning.student_id)
            held.filter(pk=provisioning.pk).update(problem=problem)
            with transaction.atomic():
                provisioning.schedule_retry(
                    error,
                    lambda due_at: enqueue_provision(provisioning, run_after=due_at),
                    permanent=needs_staff,
                )
                _send_what_came_meanwhile(provisioning)


def _send_what_came_meanwhile(provisioning: Provisioning) -> None:
    """Tell the classroom what was paused or withdrawn before the last attempt had failed."""
    now = Provisioning.objects.select_for_update(no_key=True).get(pk=provisioning.pk)
    if now.status != Provisioning.Status.FAILED or has_no_account(now.student):
        return
    if now.paused_for or now.withdrawn:
        queue_sync(now.student, order_id=now.order_id, reason="Cambio durante el alta")


@transaction.atomic
def _take_back_if_moved(provisioning: Provisioning) -> Provisioning | None:
    """The row under a lock; None if its access is another student's by now.

    It moved after this worker's lease expired. The classroom is told once more.
    """
    locked = Provisioning.objects.select_for_update(no_key=True).get(pk=provisioning.pk)
    if locked.student_id == provisioning.student_id:
        return locked
    reason = "Cambio durante el alta"
    queue_sync(provisioning.student, order_id=provisioning.order_id, reason=reason)
    return None


class CourseMissing(ClassroomError):
    """Some of the order's courses could not be opened."""


def _problem_of(error: Exception) -> str:
    if isinstance(error, NeedsStaff):
        return "account"
    return "course" if isinstance(error, CourseMissing) else ""


def _provide(provisioning: Provisioning) -> None:
    """Create account, enrolments and the access mail. Raises the classroom's errors."""
    student = provisioning.student
    rights = rights_of(student, with_order=provisioning.order_id)
    sent = send_rights(student, rights)
    if student.erased_at is None:
        closed = closed_items(items_left(provisioning))
        _check(provisioning, sent._replace(problems=[*sent.problems, *closed]))

    with transaction.atomic():
        # Another worker may have finished this row after this worker's lease expired.
        locked = _take_back_if_moved(provisioning)
        if locked is None or locked.status == Provisioning.Status.CREATED:
            return
        locked.status = Provisioning.Status.CREATED
        locked.last_error = locked.problem = ""
        locked.missing = []
        locked.leased_until = None
        locked.save(
            update_fields=[
                "status",
                "last_error",
                "problem",
                "missing",
                "leased_until",
                "updated_at",
            ]
        )
        log_step(locked.order_id, "access_given")
        student, rights_now = update_enrolments(student, order_id=locked.order_id)
        if rights_now != rights:
            # Access was paused or withdrawn while the classroom was being updated.
            queue_sync(student, order_id=locked.order_id, reason="Cambio durante el alta")
        elif _leaves_work(student, sent):
            queue_sync(student, order_id=locked.order_id, reason="Grupo pendiente")
        if student.erased_at is None and items_left(locked):
            locked.student = student
            _queue_access_mail(locked)


def _check(provisioning: Provisioning, sent: SendResult) -> None:
    """Raise what keeps the order's access from being complete, after giving what can be given.

    The mail of an incomplete access names what is open, and what is not yet.
    """
    if sent.account_problem:
        raise NeedsStaff(sent.account_problem)
    closed = {item for problem in sent.problems for item in problem.items}
    missing = [list(item) for item in items_left(provisioning) if item in closed]
    if not missing:
        return
    messages = [row.message for row in sent.problems if closed.intersection(row.items)]
    with transaction.atomic():
        locked = Provisioning.objects.select_for_update(no_key=True).get(pk=provisioning.pk)
        has_moved = locked.student_id != provisioning.student_id
        is_part = len(missing) < len(items_left(locked))
        if is_part and not locked.paused_for and not has_moved:
            locked.missing = missing
            locked.save(update_fields=["missing", "updated_at"])
            _queue_access_mail(locked, occasion="part")
    raise CourseMissing(" ".join(messages))


def _leaves_work(student: Student, sent: SendResult) -> bool:
    """Whether something failed that keeps no item closed, and that no change will try again."""
    if all(problem.items for problem in sent.problems):
        return False
    waiting = AccessChange.objects.filter(student=student).exclude(status=AccessChange.Status.DONE)
    return not waiting.exists()


def _queue_access_mail(
    provisioning: Provisioning, *, occasion: str = "", origin: Origin | None = None
) -> bool:
    """Queue the access mail: one for the provisioning and one for each resend."""
    # The access of a gift may have moved to another student, and back: each move adds a newer row.
    newest_loss = provisioning.lost_by.order_by("-pk").values_list("pk", flat=True).first()
    number = f"{newest_loss}-{provisioning.resends}" if newest_loss else provisioning.resends
    mail = queue_mail(
        key=f"classroom-access:{provisioning.order_id}:{occasion or number}",
        template=provisioning.mail,
        to=provisioning.student.email,
        context={"provisioning_id": provisioning.pk, "order_id": provisioning.order_id},
        origin=origin,
    )
    return mail is not None


def account_status(order_id: int) -> AccountStatus:
    """The status of an order's access; "pending" also before it is granted.

    An access that waits for staff is pending, too: a buyer must not learn from it what kind of
    account somebody's address has in the classroom.
    """
    row = Provisioning.objects.filter(order_id=order_id).only("status", "problem").first()
    if row is None or (row.status == Provisioning.Status.FAILED and row.problem):
        return "pending"
    return cast(AccountStatus, row.status)


@transaction.atomic
def resend_access_mail(*, order_id: int) -> ResendResult:
    """Send the access mail again: at most 3 times, once per 180 s.

    Raises AccessNotReady until the access is provided, which takes no attempt. Raises
    TooManyRequests during the cooldown and after the third time. Both errors have `seconds_left`
    and `attempts_left` in the response.
    """
    provisioning = (
        Provisioning.objects.select_for_update(no_key=True).filter(order_id=order_id).first()
    )
    left = MAX_RESENDS - (provisioning.resends if provisioning else 0)
    if provisioning is None or provisioning.status != Provisioning.Status.CREATED:
        seconds = int(READY_SOON.total_seconds())
        raise AccessNotReady(seconds_left=seconds, attempts_left=left)
    if not items_left(provisioning):
        raise AccessNotReady(NOTHING_LEFT, seconds_left=0, attempts_left=0)
    _check_resend_limits(provisioning, left)
    provisioning.resends += 1
    provisioning.last_resend_at = timezone.now()
    provisioning.save(update_fields=["resends", "last_resend_at", "updated_at"])
    _queue_access_mail(provisioning)
    return ResendResult(seconds_left=int(RESEND_COOLDOWN.total_seconds()), attempts_left=left - 1)


@transaction.atomic
def send_access_mail_again(*, order_id: int, occasion: str, origin: Origin) -> bool:
    """Send the access mail once for this occasion, without the buyer's limits.

    False for a repeated occasion. Raises AccessNotReady until the access is provided.
    """
    provisioning = Provisioning.objects.filter(order_id=order_id).first()
    if provisioning is None or provisioning.status != Provisioning.Status.CREATED:
        raise AccessNotReady("El acceso no está listo: primero hay que volver a intentarlo.")
    if not items_left(provisioning):
        raise AccessNotReady(NOTHING_LEFT)
    return _queue_access_mail(provisioning, occasion=occasion, origin=origin)


def _check_resend_limits(provisioning: Provisioning, left: int) -> None:
    if left <= 0:
        raise TooManyRequests(
            int(timedelta(days=1).total_seconds()),
            "Has llegado al máximo de reenvíos. Escríbenos a "
            f"{SiteSettings.current().support_email} y te ayudamos.",
            seconds_left=0,
            attempts_left=0,
        )
    if provisioning.last_resend_at:
        wait = provisioning.last_resend_at + RESEND_COOLDOWN - timezone.now()
        seconds = -(-wait // timedelta(seconds=1))
        if seconds > 0:
            raise TooManyRequests(seconds, seconds_left=seconds, attempts_left=left)


def retry_provisioning(provisioning: Provisioning) -> bool:
    """Retry a provisioning that has failed; False if it has not. For staff."""
    return provisioning.restart(lambda: enqueue_provision(provisioning))


def retry_now(order_id: int) -> bool:
    """Retry an access that has failed or waits for its next attempt; False if it has neither.

    For staff who have fixed the cause of the failure.
    """
    row = Provisioning.objects.filter(order_id=order_id).first()
    if row is None or retry_provisioning(row):
        return row is not None
    return row.bring_forward(lambda: enqueue_provision(row))


def requeue_stuck_provisionings() -> int:
    """Enqueue due provisionings whose task was lost; return how many."""
    return Provisioning.requeue_stuck(provision, "order_id", field="order_id")
