"""The student: the row stays as a number behind orders, without anything of the person."""

from datetime import datetime, timedelta
from typing import Any

from apps.core.privacy import Holding, register_holding, register_retention
from apps.students.models import SignIn, SignInLink, Student
from apps.students.services import erase_student

SIGN_INS_KEPT = timedelta(days=183)


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
        "consentimientos": [
            {
                "qué": consent.get_kind_display(),
                "texto": consent.wording,
                "versión": str(consent.legal_text),
                "cuándo": consent.accepted_at.isoformat(),
                "dónde": consent.source,
            }
            for consent in student.consents.select_related("legal_text").order_by("accepted_at")
        ],
        "inicios_de_sesión": [
            {
                "desde": row.started_at.isoformat(),
                "hasta": row.ended_at.isoformat() if row.ended_at else None,
            }
            for row in student.sign_ins.order_by("started_at")
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
    links = SignInLink.objects.filter(created_at__lt=now - SIGN_INS_KEPT)
    sign_ins = SignIn.objects.filter(started_at__lt=now - SIGN_INS_KEPT)
    return links.delete()[0] + sign_ins.delete()[0]


register_holding(Holding("alumno", _export, _preview, _erase))
register_retention("Inicios de sesión de más de 6 meses", _purge_sign_ins)
