"""What a student may study: the sum of what their orders opened, rest and have had taken back.

The order's side pauses, resumes and withdraws by its reference ("pedido-12"). The rows of this site
change in the caller's transaction; another classroom is told by the worker, as often as it takes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from django.conf import settings
from django.db import models, transaction
from django_tasks import task

from apps.catalogue.services import subject_enrolled
from apps.classroom.backends import current_classroom
from apps.classroom.backends.base import ExternalAccount, Item, Right
from apps.classroom.models import AccessChange, Account, Enrolment, Provisioning, Semester
from apps.students.models import Student

# Nobody buys a few days: who buys shortly before a semester's end has access to the next one's.
SHORTEST_ACCESS = timedelta(days=30)


@dataclass(frozen=True)
class PauseNotice:
    """What a student reads in the classroom about a pause, and the link that ends it."""

    sentence: str
    url: str
    label: str


class Cause(models.TextChoices):
    """Why an order's access rests. Several may hold at once; each is lifted on its own."""

    OVERDUE = "overdue", "Plazo sin pagar"
    DISPUTE = "dispute", "Pago en disputa"


# What is said of a pause, by its cause, from the reference of the order: the classroom knows none.
_notices: dict[str, Callable[[str], PauseNotice]] = {}


def register_notice(cause: Cause, tell: Callable[[str], PauseNotice]) -> None:
    """Let the classroom say more of a pause, with a link: whoever pauses registers it."""
    _notices[cause] = tell


def notices_for(student: Student) -> list[PauseNotice]:
    """What there is to say about the student's paused orders."""
    paused = Provisioning.objects.filter(student=student).exclude(paused_for=[])
    return [
        _notices[cause](row.reference)
        for row in paused.order_by("pk")
        for cause in row.paused_for
        if cause in _notices
    ]


def access_end(bought_on: date) -> date | None:
    """The last day of access to what is bought on a day; None where no semester is configured."""
    ends = [semester.end_from(bought_on + SHORTEST_ACCESS) for semester in Semester.objects.all()]
    return min(ends, default=None)


def pause_access(*, reference: str, cause: Cause) -> None:
    """Let an order's access rest for a cause. Safe to repeat; without an access nothing happens."""
    _change(reference, f"Pausa: {cause.label}", lambda row: _with(row, cause, True))


def resume_access(*, reference: str, cause: Cause) -> None:
    """Lift a pause of that cause; the access opens when no other holds. Safe to repeat."""
    _change(reference, f"Fin de la pausa: {cause.label}", lambda row: _with(row, cause, False))


def withdraw_access(
    *, reference: str, items: Iterable[tuple[int, int | None]] | None = None
) -> None:
    """Take back what an order opened: everything, or (subject id, lesson id or None) items.

    What another order of the student opened as well stays open. Safe to repeat.
    """
    gone = None if items is None else {tuple(item) for item in items}

    def take_back(row: Provisioning) -> bool:
        before = len(row.withdrawn)
        row.withdrawn = [
            item
            for item in row.items
            if item in row.withdrawn or gone is None or tuple(item) in gone
        ]
        return len(row.withdrawn) > before

    _change(reference, "Retirada", take_back)


def _with(row: Provisioning, cause: Cause, wanted: bool) -> bool:
    if (cause.value in row.paused_for) == wanted:
        return False
    row.paused_for = (
        [*row.paused_for, cause.value]
        if wanted
        else [kept for kept in row.paused_for if kept != cause.value]
    )
    return True


@transaction.atomic
def _change(reference: str, reason: str, change: Callable[[Provisioning], bool]) -> None:
    row = Provisioning.objects.select_for_update().filter(reference=reference).first()
    if row is None or not change(row):
        return
    row.save(update_fields=["paused_for", "withdrawn", "updated_at"])
    if row.status != Provisioning.Status.CREATED:
        # What is still to be provided will be provided as it stands then.
        return
    settle(row.student)
    tell_again(row.student, reference=reference, reason=reason)


def tell_again(student: Student, *, reference: str, reason: str = "Cambio durante el alta") -> None:
    """Owe the classroom the student's rights as they are now. Part of the caller's transaction."""
    told = AccessChange.objects.create(student=student, reference=reference, reason=reason)
    tell_classroom.enqueue(change_id=told.pk)


def rights_of(student: Student, *, and_provided: str = "") -> list[Right]:
    """The student's rights now, by item. `and_provided` is an order that is being provided.

    An item is open where any order opens it, until the latest end of those that do.
    """
    rows = Provisioning.objects.filter(student=student).filter(
        models.Q(status=Provisioning.Status.CREATED) | models.Q(reference=and_provided)
    )
    best: dict[Item, Right] = {}
    for row in rows.order_by("pk"):
        for subject_id, lesson_id in row.items:
            item = Item(subject_id, lesson_id)
            right = Right(item, _state(row, item), row.ends_on)
            best[item] = max(best.get(item, right), right, key=Right.strength)
    return [best[item] for item in sorted(best, key=lambda item: (item[0], item[1] or 0))]


def _state(row: Provisioning, item: Item) -> Literal["open", "paused", "gone"]:
    if list(item) in row.withdrawn:
        return "gone"
    return "paused" if row.paused_for else "open"


def settle(student: Student, *, reference: str = "") -> None:
    """Write the student's enrolments as their provisionings have them, and count them.

    Part of the caller's transaction. New ones are noted as opened by `reference`.
    """
    # Two orders of one student settle one after the other.
    Student.objects.select_for_update().get(pk=student.pk)
    rights = rights_of(student)
    _write_enrolments(student, rights, reference)
    subject_enrolled(*{right.item.subject_id for right in rights})


def _write_enrolments(student: Student, rights: Sequence[Right], reference: str) -> None:
    there = {
        Item(row.subject_id, row.lesson_id): row
        for row in Enrolment.objects.filter(student=student)
    }
    for right in rights:
        row = there.get(right.item)
        if right.state == "gone":
            if row is not None:
                row.delete()
            continue
        row = row or Enrolment(
            student=student,
            subject_id=right.item.subject_id,
            lesson_id=right.item.lesson_id,
            reference=reference,
        )
        row.state, row.ends_on = Enrolment.State(right.state), right.ends_on
        row.save()


def bring_to_classroom(student: Student, rights: Sequence[Right]) -> None:
    """See to the student's account and rights in the classroom. Runs outside any transaction.

    Raises what the classroom raises.
    """
    # Both may go over the network, and take long: the student may have been forgotten meanwhile.
    student.refresh_from_db()
    if student.erased_at is None:
        current_classroom().apply_rights(account_in_classroom(student).external_id, rights)
        return
    # Who has been forgotten is kept out of the account there was; none is looked for or made.
    known = _known_id(student)
    if known:
        current_classroom().apply_rights(known, rights)


def account_in_classroom(student: Student) -> ExternalAccount:
    """The student's account in the classroom, made where there is none; kept here as well.

    It is asked for each time: the academy may have moved to another classroom since, or somebody
    may have deleted it there. Runs outside any transaction; raises what the classroom raises.
    """
    there = current_classroom().ensure_account(student, _known_id(student))
    with transaction.atomic():
        is_forgotten = Student.objects.select_for_update().get(pk=student.pk).erased_at is not None
        Account.objects.update_or_create(
            student=student,
            defaults={
                "external_id": there.external_id,
                "username": "" if is_forgotten else there.username,
                "classroom": settings.CLASSROOM,
            },
        )
    return there


def _known_id(student: Student) -> str:
    account = Account.objects.filter(student=student).first()
    return account.id_in(settings.CLASSROOM) if account else ""


@task
def tell_classroom(change_id: int) -> None:
    """Bring the classroom to where the student's rights are now."""
    change = AccessChange.claim(pk=change_id)
    if change is None:
        return
    try:
        _bring_up_to_date(change.student)
    # Whatever went wrong, the classroom is still to be told: the row says what it was.
    except Exception as error:
        change.put_off(
            error,
            lambda due_at: tell_classroom.using(run_after=due_at).enqueue(change_id=change_id),
        )
    else:
        AccessChange.objects.filter(pk=change_id).update(
            status=AccessChange.Status.DONE, leased_until=None, last_error=""
        )


def _bring_up_to_date(student: Student) -> None:
    """Tell the classroom the rights until they are still the same after it was told.

    A worker that read them before a change may come to the classroom after the one that tells the
    change: whoever comes last has to notice.
    """
    told: list[Right] | None = None
    while (rights := rights_of(student)) != told:
        bring_to_classroom(student, rights)
        told = rights


def retry_change(change: AccessChange) -> bool:
    """Tell again what was given up; False where it was not. For staff."""
    return change.reopen(lambda: tell_classroom.enqueue(change_id=change.pk))


def requeue_stuck_changes() -> int:
    """Enqueue again what is due and has lost its task (a worker died); return how many."""
    return AccessChange.requeue_stuck(tell_classroom, "change_id")
