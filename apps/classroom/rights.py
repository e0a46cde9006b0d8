"""A student's rights: the sum of what the student's orders opened, paused and withdrew."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Literal

from django.db.models import Q

from apps.catalogue.models import Lesson
from apps.catalogue.services import note_changed_enrolments
from apps.classroom.backends.base import Item, Right
from apps.classroom.models import Enrolment, Provisioning, Semester
from apps.students.models import Student

# Purchases shortly before a semester's end get access until the end of the next one.
SHORTEST_ACCESS = timedelta(days=30)


def access_end(bought_on: date) -> date | None:
    """The last day of access for a purchase on a day; None if no semester is configured."""
    ends = [semester.end_from(bought_on + SHORTEST_ACCESS) for semester in Semester.objects.all()]
    return min(ends, default=None)


def rights_of(
    student: Student,
    *,
    with_order: int | None = None,
    without_order: int | None = None,
    only_opened: bool = False,
) -> list[Right]:
    """The student's current rights, one for each item, from all provisioned orders.

    An order counts once it was tried: the classroom may have opened a part of it, or all, for
    example for an account that takes no links. `with_order` adds an order that is still being
    provisioned, `without_order` leaves one out, and `only_opened` leaves out what is not known to
    be open. If several orders open an item, it is open until the latest of their ends. A student
    who was merged into another has lost it all.
    """
    if student.merged_into is not None:
        return [replace(right, state="withdrawn") for right in rights_of(student.merged_into)]
    rows = [
        row for row in _provided(student, with_order=with_order) if row.order_id != without_order
    ]
    return _rights_in(rows, _lost(student), only_opened=only_opened)


def _provided(student: Student, *, with_order: int | None = None) -> list[Provisioning]:
    rows = Provisioning.objects.filter(student=student).filter(
        ~Q(status=Provisioning.Status.PENDING, last_error="", missing=[]) | Q(order_id=with_order)
    )
    return list(rows.order_by("pk"))


def _items(row: Provisioning) -> list[Item]:
    return [Item(*item) for item in row.items]


def items_left(row: Provisioning) -> list[Item]:
    """The items that the order opens, without those that a refund has withdrawn."""
    return [item for item in _items(row) if list(item) not in row.withdrawn]


def _items_opened(row: Provisioning) -> list[Item]:
    """The items that the classroom has opened, also those that a refund has withdrawn since."""
    if row.status != Provisioning.Status.CREATED and row.missing == []:
        return []
    closed = [item for item in row.missing if item not in row.withdrawn]
    return [item for item in _items(row) if list(item) not in closed]


def _lost(student: Student) -> list[Provisioning]:
    """The accesses that were the student's by mistake."""
    return list(Provisioning.objects.filter(lost_by__student=student))


def _rights_in(
    rows: Iterable[Provisioning], lost: Iterable[Provisioning], *, only_opened: bool = False
) -> list[Right]:
    best = {
        Item(subject_id, lesson_id): Right(Item(subject_id, lesson_id), "withdrawn", row.ends_on)
        for row in lost
        for subject_id, lesson_id in row.items
    }
    for row in rows:
        for item in _items_opened(row) if only_opened else _items(row):
            right = right_in(row, item)
            best[item] = max(best.get(item, right), right, key=Right.priority)
    return [best[item] for item in sorted(best, key=lambda item: (item[0], item[1] or 0))]


def right_in(row: Provisioning, item: Item) -> Right:
    """The right to an item of an order, which the order alone gives."""
    return Right(item, _state(row, item), row.end_of(item))


def _state(row: Provisioning, item: Item) -> Literal["open", "paused", "withdrawn"]:
    if list(item) in row.withdrawn:
        return "withdrawn"
    return "paused" if row.paused_for else "open"


def update_enrolments(student: Student, *, order_id: int) -> tuple[Student, list[Right]]:
    """Make the student's enrolments match their rights, and note which counts change.

    Part of the caller's transaction. New enrolments point to the access of the order `order_id`.
    Returns the student as read under their lock, and the rights.
    """
    # The lock serializes concurrent updates of two orders of one student.
    locked = Student.objects.select_for_update(no_key=True).get(pk=student.pk)
    if locked.merged_into is not None:
        rights = opened = rights_of(locked)
    else:
        rows, lost = _provided(locked), _lost(locked)
        rights = _rights_in(rows, lost)
        # The rest is shown as open once a later attempt succeeds.
        opened = _rights_in(rows, lost, only_opened=True)
    _write_enrolments(locked, opened, order_id)
    return locked, rights


def _write_enrolments(student: Student, rights: Sequence[Right], order_id: int) -> None:
    existing = {
        row_key(Item(row.subject_id, row.lesson_id)): row
        for row in Enrolment.objects.filter(student=student)
    }
    best: dict[tuple[bool, int], Right] = {}
    for right in rights:
        key = row_key(right.item)
        best[key] = max(best.get(key, right), right, key=Right.priority)
    lessons = [right.item.lesson_id for right in best.values() if right.item.lesson_id]
    # A lesson is shown below its subject of today.
    subjects = dict(Lesson.objects.filter(pk__in=lessons).values_list("pk", "subject_id"))
    new: list[Enrolment] = []
    changed: list[Enrolment] = []
    for key, right in best.items():
        row = existing.get(key)
        subject_id = subjects.get(right.item.lesson_id or 0, right.item.subject_id)
        if right.state == "withdrawn":
            if row is not None:
                row.delete()
            continue
        if row is None:
            row = Enrolment(
                student=student,
                lesson_id=right.item.lesson_id,
                provisioning_id=order_id,
            )
            new.append(row)
        elif (row.subject_id, row.state, row.ends_on) == (subject_id, right.state, right.ends_on):
            continue
        else:
            changed.append(row)
        row.subject_id = subject_id
        row.state, row.ends_on = Enrolment.State(right.state), right.ends_on
    Enrolment.objects.bulk_create(new)
    Enrolment.objects.bulk_update(changed, ["subject", "state", "ends_on"])
    note_changed_enrolments({*(right.item.subject_id for right in rights), *subjects.values()})


def row_key(item: Item) -> tuple[bool, int]:
    """The key of a student's enrolment: its lesson alone, which staff move between subjects.

    Who has bought it before and after has two rights, and one enrolment.
    """
    is_whole = item.lesson_id is None
    return is_whole, item.subject_id if item.lesson_id is None else item.lesson_id
