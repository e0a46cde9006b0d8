"""The mail of this app: `opinion_request` {"opinion_id"}, to a student whose access has ended."""

from typing import Any

from apps.classroom.models import Enrolment
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import NoLongerDue, SecretUrl, absolute_url, register_mail
from apps.orders.mails import was_paid
from apps.pages.opinions.asking import LINK_DAYS, link_path
from apps.pages.opinions.models import Opinion


def register() -> None:
    register_mail(
        "opinion_request",
        "¿Qué te ha parecido {{ subject_name|truncatechars:40 }}?",
        _opinion,
        origin=_origin,
        student=_student,
        texts={
            "heading": "¿Qué te ha parecido {asignatura}?",
            "greeting": "Hola:",
            "intro": "Ya has terminado {asignatura} con nosotros. ¿Nos dices qué te ha parecido?",
        },
    )


def _origin(ids: dict[str, Any]) -> Origin:
    """PAYMENT if an access was paid. A stranger can cause a free one with any address."""
    opinion = Opinion.objects.get(pk=ids["opinion_id"])
    rights = Enrolment.objects.filter(student=opinion.student_id, subject=opinion.subject_id)
    paid = any(was_paid(order_id) for order_id in rights.values_list("provisioning", flat=True))
    return Origin.PAYMENT if paid else Origin.PACED


def _student(ids: dict[str, Any]) -> int | None:
    opinions = Opinion.objects.filter(pk=ids["opinion_id"])
    return opinions.values_list("student_id", flat=True).first()


def _opinion(ids: dict[str, Any]) -> dict[str, Any]:
    opinion = Opinion.objects.select_related("student", "subject").get(pk=ids["opinion_id"])
    student = opinion.student
    if opinion.status != Opinion.Status.ASKED or student.blocked_at or student.erased_at:
        raise NoLongerDue
    return {
        "subject_name": opinion.subject.name,
        "link_days": LINK_DAYS,
        "opinion_url": SecretUrl(absolute_url(link_path(opinion))),
    }
