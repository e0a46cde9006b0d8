"""Export and erasure of the classroom's data, and its retention rule."""

import logging
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from apps.classroom.access import withdraw_access
from apps.classroom.backends import current_classroom
from apps.classroom.models import AccessChange, Account, Enrolment, Progress, Provisioning
from apps.classroom.one_sign_in.entry_codes import forget_codes
from apps.classroom.progress import RETENTION as PROGRESS_RETENTION
from apps.core.privacy import (
    CannotErase,
    PersonalData,
    counted,
    erase_all,
    is_in_use,
    register_personal_data,
    register_retention,
)
from apps.students.models import Student

logger = logging.getLogger(__name__)

ACCOUNT_RETENTION = timedelta(days=5 * 365 + 1)


def _export(email: str) -> list[dict[str, Any]]:
    enrolments = Enrolment.objects.filter(student__email=email).select_related("subject", "lesson")
    progress = Progress.objects.filter(student__email=email).select_related("subject", "lesson")
    return [
        {
            "asignatura": row.subject.name,
            "lección": row.lesson.title if row.lesson else None,
            "desde": row.granted_at.isoformat(),
            "hasta": row.ends_on.isoformat() if row.ends_on else None,
        }
        for row in enrolments.order_by("granted_at")
    ] + [
        {
            "progreso en": row.name,
            "actividades hechas": row.done,
            "actividades": row.total,
            "última visita": row.last_access_at.isoformat() if row.last_access_at else None,
        }
        for row in progress.order_by("pk")
    ]


def _preview(email: str) -> list[str]:
    count = Enrolment.objects.filter(student__email=email).count()
    platform = current_classroom().platform
    return [
        f"Se retira el acceso al aula: {text}."
        for text in counted(count, "matrícula", "matrículas")
    ] + (
        [f"La cuenta en {platform} queda sin matrículas; borrarla se hace allí."]
        if platform and Account.objects.filter(student__email=email).exists()
        else []
    )


def _erase(email: str) -> None:
    provisionings = Provisioning.objects.filter(student__email=email)
    # Lock order as in provisioning: provisionings, then the student, then the account.
    locked = list(provisionings.select_for_update(no_key=True, of=("self",)).order_by("pk"))
    Student.objects.select_for_update(no_key=True).filter(email=email).first()
    for row in locked:
        withdraw_access(order_id=row.order_id)
    Enrolment.objects.filter(student__email=email).delete()
    Progress.objects.filter(student__email=email).delete()
    Account.objects.filter(student__email=email).update(
        password="", username="", address="", confirmed_for=""
    )
    # A classroom's error message may contain the address, and staff may have typed anything.
    provisionings.update(last_error="")
    of_student = Q(student__email=email) | Q(student__merged_into__email=email)
    AccessChange.objects.filter(of_student).update(last_error="", note="")


def _purge_accounts(now: datetime) -> int:
    """Erase students whose last access ended 5 years ago, each in a separate transaction.

    Active students are skipped, and so are students who can't be erased yet.
    """
    erased = 0
    for email in _access_ended_before(timezone.localdate(now) - ACCOUNT_RETENTION):
        if is_in_use(email):
            continue
        try:
            erase_all(email)
            erased += 1
        except CannotErase as problem:
            logger.warning("an expired account could not be erased: %s", problem.message)
    return erased


def _purge_progress(now: datetime) -> int:
    deleted, _ = Progress.objects.filter(measured_at__lt=now - PROGRESS_RETENTION).delete()
    return deleted


def _access_ended_before(day: date) -> list[str]:
    """The e-mail addresses of students whose every access ended before a day."""
    ended = Provisioning.objects.filter(ends_on__lt=day)
    running = Provisioning.objects.exclude(ends_on__lt=day)
    return list(
        ended.exclude(student__in=running.values("student"))
        .filter(student__erased_at=None)
        .values_list("student__email", flat=True)
        .distinct()
    )


register_personal_data(PersonalData("aula", _export, _preview, _erase))
register_retention("Códigos de entrada al aula, al día siguiente", forget_codes)
register_retention("Cuentas cuyo acceso terminó hace más de 5 años", _purge_accounts)
register_retention("Progreso en el aula de hace más de un año", _purge_progress)
