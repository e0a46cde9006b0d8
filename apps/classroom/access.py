"""Pausing, resuming and withdrawing the access that an order opened.

`orders` calls these functions with the order's id. The rows of this site change in the caller's
transaction. The worker updates the classroom afterwards, with retries.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db import models, transaction

from apps.classroom.models import Account, Provisioning
from apps.classroom.rights import rights_of, update_enrolments
from apps.classroom.sync import queue_sync
from apps.students.models import Student


@dataclass(frozen=True)
class PauseNotice:
    """A notice in the classroom about a pause, with a link to end it."""

    sentence: str
    url: str
    label: str


class Cause(models.TextChoices):
    """Why an order's access is paused. An order may have several causes at once."""

    OVERDUE = "overdue", "Plazo sin pagar"
    DISPUTE = "dispute", "Pago en disputa"
    BLOCKED = "blocked", "Alumno bloqueado"


# The notice for a paused order, by cause. `orders` registers it: this app can't import `orders`.
_notices: dict[str, Callable[[int], PauseNotice]] = {}


def register_notice(cause: Cause, build: Callable[[int], PauseNotice]) -> None:
    """Register the function that builds the notice for an order id that is paused for `cause`."""
    _notices[cause] = build


def notices_for(student: Student) -> list[PauseNotice]:
    """The notices about the student's paused orders."""
    paused = Provisioning.objects.filter(student=student).exclude(paused_for=[])
    return [
        _notices[cause](row.order_id)
        for row in paused.order_by("pk")
        for cause in row.paused_for
        if cause in _notices
    ]


def pause_access(*, order_id: int, cause: Cause) -> None:
    """Pause an order's access for a cause. Idempotent; without access it does nothing."""
    _change(order_id, f"Pausa: {cause.label}", lambda row: _set_paused(row, cause, paused=True))


def resume_access(*, order_id: int, cause: Cause) -> None:
    """Remove a cause of a pause; access opens when no cause is left. Idempotent."""
    reason = f"Fin de la pausa: {cause.label}"
    _change(order_id, reason, lambda row: _set_paused(row, cause, paused=False))


def withdraw_access(
    *, order_id: int, items: Iterable[tuple[int, int | None]] | None = None
) -> None:
    """Withdraw what an order opened: everything, or (subject id, lesson id or None) items.

    Items that another order of the student opens as well stay open. Idempotent.
    """
    selected = None if items is None else {tuple(item) for item in items}

    def withdraw(row: Provisioning) -> bool:
        before = len(row.withdrawn)
        row.withdrawn = [
            item
            for item in row.items
            if item in row.withdrawn or selected is None or tuple(item) in selected
        ]
        return len(row.withdrawn) > before

    _change(order_id, "Acceso retirado", withdraw)


def open_without(*, student: Student, order_id: int) -> set[tuple[int, int | None]]:
    """The (subject id, lesson id or None) items that the student's other orders keep open."""
    rights = rights_of(student, without_order=order_id, only_opened=True)
    return {(*right.item,) for right in rights if right.state == "open"}


def _set_paused(row: Provisioning, cause: Cause, *, paused: bool) -> bool:
    """Add or remove the cause; False if that changes nothing."""
    if (cause.value in row.paused_for) == paused:
        return False
    others = [other for other in row.paused_for if other != cause.value]
    row.paused_for = [*others, cause.value] if paused else others
    return True


@transaction.atomic
def _change(order_id: int, reason: str, change: Callable[[Provisioning], bool]) -> None:
    row = Provisioning.objects.select_for_update(no_key=True).filter(order_id=order_id).first()
    if row is None or not change(row):
        return
    row.save(update_fields=["paused_for", "withdrawn", "updated_at"])
    if row.status == Provisioning.Status.CREATED or row.missing:
        update_enrolments(row.student, order_id=order_id)
    elif row.status == Provisioning.Status.PENDING or has_no_account(row.student):
        # The next attempt will use the row as it is then.
        return
    queue_sync(row.student, order_id=order_id, reason=reason)


def has_no_account(student: Student) -> bool:
    """Whether the classroom has no account for the student, but one that waits for staff."""
    return Account.objects.filter(student=student, external_id="").exclude(held_id="").exists()
