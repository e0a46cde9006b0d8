"""The classroom: its account and rights end with the person's data."""

import logging
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings

from apps.classroom.access import withdraw_access
from apps.classroom.models import AccessChange, Account, Enrolment, Provisioning
from apps.core.privacy import (
    CannotErase,
    Holding,
    counted,
    erase_all,
    is_in_use,
    register_holding,
    register_retention,
)
from apps.students.models import Student

logger = logging.getLogger(__name__)

ACCOUNTS_KEPT = timedelta(days=5 * 365 + 1)


def _export(email: str) -> list[dict[str, Any]]:
    enrolments = Enrolment.objects.filter(student__email=email).select_related("subject", "lesson")
    return [
        {
            "asignatura": row.subject.name,
            "lección": row.lesson.title if row.lesson else None,
            "desde": row.granted_at.isoformat(),
            "hasta": row.ends_on.isoformat() if row.ends_on else None,
        }
        for row in enrolments.order_by("granted_at")
    ]


def _preview(email: str) -> list[str]:
    count = Enrolment.objects.filter(student__email=email).count()
    return [
        f"Se retira el acceso al aula: {what}."
        for what in counted(count, "matrícula", "matrículas")
    ] + (
        ["La cuenta en Moodle queda sin matrículas; borrarla se hace allí."]
        if settings.CLASSROOM == "moodle" and Account.objects.filter(student__email=email).exists()
        else []
    )


def _erase(email: str) -> None:
    mine = Provisioning.objects.filter(student__email=email)
    # All of them before the student's row, which a worker takes after the one that it holds.
    locked = list(mine.select_for_update(of=("self",)).order_by("pk"))
    # And that before the account, as who provides an access does.
    Student.objects.select_for_update().filter(email=email).first()
    for row in locked:
        withdraw_access(reference=row.reference)
    Enrolment.objects.filter(student__email=email).delete()
    Account.objects.filter(student__email=email).update(password="", username="")
    # A classroom that refuses says whom: "Email address already exists: ana@…".
    mine.update(last_error="")
    AccessChange.objects.filter(student__email=email).update(last_error="")


def _purge_accounts(now: datetime) -> int:
    """Students whose last access ended 5 years ago are erased, each in a transaction of their own.

    Who is buying again or has just written is not, and who can't be erased is left for staff.
    """
    erased = 0
    for email in _access_ended_before(now.date() - ACCOUNTS_KEPT):
        if is_in_use(email):
            continue
        try:
            erase_all(email)
            erased += 1
        except CannotErase as problem:
            logger.warning("an account that is over could not be erased: %s", problem.message)
    return erased


def _access_ended_before(day: date) -> list[str]:
    """The addresses of students all of whose access ended before a day."""
    ended = Provisioning.objects.filter(ends_on__lt=day)
    running = Provisioning.objects.exclude(ends_on__lt=day)
    return list(
        ended.exclude(student__in=running.values("student"))
        .filter(student__erased_at=None)
        .values_list("student__email", flat=True)
        .distinct()
    )


register_holding(Holding("aula", _export, _preview, _erase))
register_retention("Cuentas cuyo acceso terminó hace más de 5 años", _purge_accounts)
