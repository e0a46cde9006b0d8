"""Export and erasure of a student. The anonymized row stays, because orders refer to it."""

from datetime import datetime, timedelta
from typing import Any

from django.db import models

from apps.core.privacy import MOST_ROWS, PersonalData, register_personal_data, register_retention
from apps.students.models import SignIn, SignInLink, Student
from apps.students.services import erase_student

# The consents of a person who never bought, after the erasure.
ERASED_KEPT = timedelta(days=365)
SIGN_IN_RETENTION = timedelta(days=183)


def _export(email: str) -> dict[str, Any] | None:
    student = Student.objects.with_email(email)
    if student is None:
        return None
    return {
        "correo": student.email,
        "nombre": student.first_name,
        "apellidos": student.last_name,
        "teléfono": student.phone,
        "alta": student.created_at.isoformat(),
        "correos_anteriores": [row.email for row in student.former_emails.all()],
        "consentimientos": [
            {
                "qué": consent.get_kind_display(),
                "texto": consent.wording,
                "versión": str(consent.legal_text),
                "cuándo": consent.accepted_at.isoformat(),
                "dónde": f"pedido-{consent.order_id}",
            }
            for consent in student.consents.select_related("legal_text")[:MOST_ROWS]
        ],
        "inicios_de_sesión": [
            {
                "desde": row.started_at.isoformat(),
                "hasta": row.ended_at.isoformat() if row.ended_at else None,
            }
            for row in student.sign_ins.all()[:MOST_ROWS]
        ],
    }


def _preview(email: str) -> list[str]:
    if Student.objects.with_email(email) is None:
        return []
    return ["Se borran correo, nombre, apellidos, teléfono e inicios de sesión del alumno."]


def _erase(email: str) -> None:
    student = Student.objects.with_email(email)
    if student is not None:
        erase_student(student)


def _purge_sign_ins(now: datetime) -> int:
    links = SignInLink.objects.filter(created_at__lt=now - SIGN_IN_RETENTION)
    sign_ins = SignIn.objects.filter(started_at__lt=now - SIGN_IN_RETENTION)
    return links.delete()[0] + sign_ins.delete()[0]


def _purge_erased(now: datetime) -> int:
    """Delete the rows of erased students that nothing refers to, with their consents.

    Any checkout creates a student, so these rows would grow for ever.
    """
    unused = {
        relation.field.related_query_name(): None
        for relation in Student._meta.related_objects
        if getattr(relation, "on_delete", None) is models.PROTECT
    }
    erased = Student.objects.filter(erased_at__lt=now - ERASED_KEPT, **unused)
    return erased.delete()[1].get(Student._meta.label, 0)


register_personal_data(PersonalData("alumno", _export, _preview, _erase))
register_retention("Inicios de sesión de más de 6 meses", _purge_sign_ins)
register_retention("Aceptaciones de quien nunca compró, a los 12 meses", _purge_erased)
