"""The mail of this app: `opinion_request` {"opinion_id"}, to a student whose access has ended."""

from typing import Any

from apps.core.mail.registry import NoLongerDue, SecretUrl, absolute_url, register_mail
from apps.pages.opinions.asking import LINK_DAYS, link_path
from apps.pages.opinions.models import Opinion


def register() -> None:
    register_mail(
        "opinion_request", "¿Qué te ha parecido {{ subject_name|truncatechars:40 }}?", _opinion
    )


def _opinion(ids: dict[str, Any]) -> dict[str, Any]:
    opinion = Opinion.objects.select_related("student", "subject").get(pk=ids["opinion_id"])
    student = opinion.student
    if opinion.status != Opinion.Status.ASKED or student.blocked_at or student.erased_at:
        raise NoLongerDue
    return {
        "first_name": student.first_name,
        "subject_name": opinion.subject.name,
        "link_days": LINK_DAYS,
        "opinion_url": SecretUrl(absolute_url(link_path(opinion))),
    }
