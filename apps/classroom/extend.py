"""Extending accesses: staff give an enrolment a later last day, with a reason.

The rules are in docs/rules.md, "Access and the classroom" and "Limits of staff".
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db import transaction

from apps.classroom.backends.base import Item, Right
from apps.classroom.models import Enrolment, Provisioning
from apps.classroom.rights import right_in, update_enrolments
from apps.classroom.sync import queue_sync
from apps.core.dates import today
from apps.core.staff.limits import give_extensions, limits_of

# The farthest new end. A mistyped year is refused.
LONGEST = timedelta(days=2 * 366)
# The most enrolments at once.
MOST = 200


@dataclass(frozen=True)
class Extension:
    """The new end of one enrolment: of which access, both ends, and why it is impossible.

    `refusal` is a Spanish phrase, empty for an extension that can be made.
    """

    enrolment: Enrolment
    access: Provisioning | None
    before: date | None
    until: date
    refusal: str

    @property
    def item(self) -> Item:
        return Item(self.enrolment.subject_id, self.enrolment.lesson_id)

    @property
    def is_given(self) -> bool:
        """Whether it gives the student more days, and does not just correct a later end."""
        return not self.refusal and self.before is not None and self.until > self.before

    @property
    def has_expired(self) -> bool:
        return self.before is not None and self.before < today()


def extensions_of(enrolments: Iterable[Enrolment], until: date, *, user: Any) -> list[Extension]:
    """The changes of an extension by this user, one for each enrolment. Writes nothing."""
    most_days = limits_of(user).extension_days
    rows = list(enrolments)
    accesses = Provisioning.objects.filter(
        student__in={row.student_id for row in rows}, status=Provisioning.Status.CREATED
    )
    by_student: dict[int, list[Provisioning]] = {}
    for access in accesses.order_by("pk"):
        by_student.setdefault(access.student_id, []).append(access)
    return [_extension(row, by_student.get(row.student_id, []), until, most_days) for row in rows]


def _extension(
    enrolment: Enrolment, accesses: Collection[Provisioning], until: date, most_days: int | None
) -> Extension:
    """The extension of the access by which the enrolment is open, or was open last."""
    item = Item(enrolment.subject_id, enrolment.lesson_id)
    rights = [(right_in(access, item), access) for access in accesses if list(item) in access.items]
    kept = [(right, access) for right, access in rights if right.state != "withdrawn"]
    if not kept:
        refusal = "el acceso está retirado o sin abrir"
        return Extension(enrolment, None, enrolment.ends_on, until, refusal)
    right, access = max(kept, key=lambda pair: Right.priority(pair[0]))
    refusal = _refusal(access, item, until, most_days)
    return Extension(enrolment, access, right.ends_on, until, refusal)


def _refusal(access: Provisioning, item: Item, until: date, most_days: int | None) -> str:
    """Why the item can't end on this day. A later end may be corrected, but not the one sold.

    A clerk adds at most `most_days` to what was sold, however often they extend it.
    """
    ends_on, sold_until = access.end_of(item), access.sold_until or access.ends_on
    if ends_on is None or sold_until is None:
        return "su acceso no tiene fin"
    if until == ends_on:
        return "ya termina ese día"
    if until < sold_until:
        return f"se vendió hasta el {sold_until:%d/%m/%Y}"
    if most_days is not None and ends_on < until > sold_until + timedelta(days=most_days):
        last = sold_until + timedelta(days=most_days)
        return f"tu límite llega al {last:%d/%m/%Y}, {most_days} días más de lo vendido"
    return ""


def extend_access(*, enrolment_ids: Collection[int], until: date, reason: str, user: Any) -> int:
    """Let these enrolments end on `until`, and send the rights to the classroom.

    Each order is a transaction of its own and names the new end, the reason and the clerk in its
    timeline. Repeated, it changes nothing more. Returns how many enrolments have a new end. Raises
    OverLimit if the clerk may not extend so many today, and then changes nothing.
    """
    enrolments = Enrolment.objects.filter(pk__in=enrolment_ids).select_related("subject", "lesson")
    by_order: dict[int, list[Extension]] = {}
    for extension in extensions_of(enrolments.order_by("pk"), until, user=user):
        if extension.access is not None and not extension.refusal:
            by_order.setdefault(extension.access.order_id, []).append(extension)
    given = sum(one.is_given for extensions in by_order.values() for one in extensions)
    with transaction.atomic():
        give_extensions(user, given)
    return sum(
        _extend_order(order_id, extensions, until, reason=reason, user=user)
        for order_id, extensions in sorted(by_order.items())
    )


@transaction.atomic
def _extend_order(
    order_id: int, extensions: list[Extension], until: date, *, reason: str, user: Any
) -> int:
    most_days = limits_of(user).extension_days
    access = Provisioning.objects.select_for_update(no_key=True).get(order_id=order_id)
    # A refund or another clerk may have changed it since it was read.
    changed = [
        one
        for one in extensions
        if right_in(access, one.item).state != "withdrawn"
        and not _refusal(access, one.item, until, most_days)
        and access.student_id == one.enrolment.student_id
    ]
    if not changed or access.ends_on is None:
        return 0
    if access.sold_until is None:
        access.sold_until = access.ends_on
        access.item_ends = [[*item, access.ends_on.isoformat()] for item in access.items]
    items = [list(one.item) for one in changed]
    access.item_ends = [
        [*item, until.isoformat() if item in items else day] for *item, day in access.item_ends
    ]
    access.ends_on = max(date.fromisoformat(day) for *_, day in access.item_ends)
    access.save(update_fields=["sold_until", "item_ends", "ends_on", "updated_at"])
    update_enrolments(access.student, order_id=order_id)
    names = ", ".join(f"«{one.enrolment.lesson or one.enrolment.subject}»" for one in changed)
    text = f"Acceso hasta el {until:%d/%m/%Y}, por {user.get_username()}, a {names}"
    queue_sync(access.student, order_id=order_id, reason=text[:600], note=reason)
    return len(changed)
