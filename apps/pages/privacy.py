"""Export and erasure of a student's opinions."""

from typing import Any

from apps.core.privacy import PersonalData, register_personal_data
from apps.pages.opinions.models import Opinion, OpinionQuerySet
from apps.students.models import Student


def _of(email: str) -> OpinionQuerySet:
    student = Student.objects.with_email(email)
    return Opinion.objects.of_student(student) if student else Opinion.objects.none()


def _export(email: str) -> list[dict[str, Any]]:
    return [
        {
            "asignatura": opinion.subject.name,
            "estado": opinion.get_status_display(),
            "nota": opinion.rating,
            "texto": opinion.text,
            "nombre_que_se_muestra": opinion.shown_name,
            "pedida": opinion.asked_at.isoformat(),
            "recibida": opinion.answered_at.isoformat() if opinion.answered_at else None,
        }
        for opinion in _of(email).select_related("subject").order_by("asked_at")
    ]


def _preview(email: str) -> list[str]:
    count = _of(email).count()
    return [f"Se borran sus opiniones sobre asignaturas: {count}."] if count else []


def _erase(email: str) -> None:
    _of(email).delete()


register_personal_data(PersonalData("opiniones", _export, _preview, _erase))
