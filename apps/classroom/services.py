"""Access to the classroom: granted by an order, provided by the worker, announced by mail.

The order's side knows a provisioning by its reference ("pedido-12") alone (decisions.md,
"Students and the classroom").
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, cast

from django.db import transaction
from django.utils import timezone
from django_tasks import task

from apps.classroom.access import access_end, bring_to_classroom, rights_of, settle, tell_again
from apps.classroom.models import Provisioning
from apps.core.clock import today
from apps.core.errors import Conflict, TooManyRequests
from apps.core.mail.outbox import queue_mail
from apps.core.models import SiteSettings
from apps.students.models import Student

# Shop spec, section 9: "E-mail resend: at most 3 attempts; cooldown 180 s".
MAX_RESENDS = 3
RESEND_PAUSE = timedelta(seconds=180)

AccountStatus = Literal["pending", "created", "failed"]


class AccessNotReady(Conflict):
    code = "access_not_ready"
    message = "Todavía estamos preparando tu acceso. Te enviaremos el correo en cuanto esté listo."


@dataclass(frozen=True)
class ResendResult:
    """How long until the mail may be sent again, in seconds, and how often still."""

    seconds_left: int
    attempts_left: int


@transaction.atomic
def grant_access(
    *, student: Student, items: Iterable[tuple[int, int | None]], reference: str
) -> None:
    """Owe the student access to (subject id, lesson id or None) items, once per reference.

    Part of the caller's transaction, which makes the access due; the worker provides it. The same
    reference again changes nothing.
    """
    _, is_new = Provisioning.objects.get_or_create(
        reference=reference,
        defaults={
            "student": student,
            "items": [list(item) for item in items],
            "ends_on": access_end(today()),
        },
    )
    if is_new:
        provision.enqueue(reference=reference)


@task
def provision(reference: str) -> None:
    """Try to provide one order's access, then look after those whose task was lost."""
    provisioning = Provisioning.claim(reference=reference)
    if provisioning is not None:
        try:
            _provide(provisioning)
        # Whatever went wrong, the access is still owed: the row says what it was.
        except Exception as error:
            provisioning.put_off(
                error,
                lambda due_at: provision.using(run_after=due_at).enqueue(reference=reference),
            )
    requeue_stuck_provisionings()


def _provide(provisioning: Provisioning) -> None:
    """Account, enrolments, counts and the mail with the link. Raises what the classroom raises."""
    student = provisioning.student
    rights = rights_of(student, and_provided=provisioning.reference)
    bring_to_classroom(student, rights)

    with transaction.atomic():
        # A worker whose lease ran out may be here as well: the first one writes.
        locked = Provisioning.objects.select_for_update().get(pk=provisioning.pk)
        if locked.status == Provisioning.Status.CREATED:
            return
        locked.status = Provisioning.Status.CREATED
        locked.last_error = ""
        locked.leased_until = None
        locked.save()
        settle(student, reference=locked.reference)
        if rights_of(student) != rights:
            # It was paused or taken back while the classroom was being told.
            tell_again(student, reference=locked.reference)
        # Under its lock, which `settle` took.
        student.refresh_from_db()
        if student.erased_at is None:
            _queue_access_mail(locked)


def _queue_access_mail(provisioning: Provisioning) -> None:
    """Owe the mail with the link: one for the provisioning itself and one for each resend."""
    queue_mail(
        key=f"classroom-access:{provisioning.reference}:{provisioning.resends}",
        template="classroom_access",
        to=provisioning.student.email,
        context={"provisioning_id": provisioning.pk},
    )


def account_status(reference: str) -> AccountStatus:
    """Where the access of that order stands; "pending" also before it is granted (api.md)."""
    status = Provisioning.objects.filter(reference=reference).values_list("status", flat=True)
    return cast(AccountStatus, status.first() or Provisioning.Status.PENDING.value)


@transaction.atomic
def resend_access_mail(*, reference: str) -> ResendResult:
    """Send the access mail once more: at most 3 times and once per 180 s (shop spec, section 9).

    Raises AccessNotReady while there is no account, and TooManyRequests, with `seconds_left` and
    `attempts_left` in the answer, when it is too soon or was too often.
    """
    provisioning = Provisioning.objects.select_for_update().filter(reference=reference).first()
    if provisioning is None or provisioning.status != Provisioning.Status.CREATED:
        raise AccessNotReady
    now = timezone.now()
    left = MAX_RESENDS - provisioning.resends
    if left <= 0:
        raise TooManyRequests(
            int(timedelta(days=1).total_seconds()),
            "Has llegado al máximo de reenvíos. Escríbenos a "
            f"{SiteSettings.current().support_email} y te ayudamos.",
            seconds_left=0,
            attempts_left=0,
        )
    if provisioning.last_resend_at:
        wait = provisioning.last_resend_at + RESEND_PAUSE - now
        seconds = -(-wait // timedelta(seconds=1))
        if seconds > 0:
            raise TooManyRequests(seconds, seconds_left=seconds, attempts_left=left)
    provisioning.resends += 1
    provisioning.last_resend_at = now
    provisioning.save(update_fields=["resends", "last_resend_at", "updated_at"])
    _queue_access_mail(provisioning)
    return ResendResult(seconds_left=int(RESEND_PAUSE.total_seconds()), attempts_left=left - 1)


def retry_provisioning(provisioning: Provisioning) -> bool:
    """Try again what was given up; False where it was not. For staff."""
    return provisioning.reopen(lambda: provision.enqueue(reference=provisioning.reference))


def try_now(reference: str) -> bool:
    """Try an access at once that has failed or waits for its next try; False where it has neither.

    For staff who have mended what was in the way.
    """
    row = Provisioning.objects.filter(reference=reference).first()
    if row is None or retry_provisioning(row):
        return row is not None
    with transaction.atomic():
        waits = Provisioning.objects.filter(pk=row.pk, status=row.OPEN, leased_until=None)
        changed = waits.update(due_at=timezone.now())
        if changed:
            provision.enqueue(reference=reference)
    return bool(changed)


def requeue_stuck_provisionings() -> int:
    """Enqueue again what is due and has lost its task (a worker died); return how many."""
    return Provisioning.requeue_stuck(provision, "reference", field="reference")
