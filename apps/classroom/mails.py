"""The classroom's mails. Their one-time links are created when the mail is rendered.

- `classroom_access` {"provisioning_id"}: when an order's access is provided, and on resend
- `classroom_link` {"account_id"}: a new link, requested on /aula/enlace
"""

from typing import Any

from django.urls import reverse

from apps.catalogue.models import Lesson, Subject
from apps.classroom.access_links import LINK_LIFETIME, access_url
from apps.classroom.models import Account, Provisioning
from apps.core.mail.registry import absolute_url, register_mail
from apps.core.models import SiteSettings


def register() -> None:
    register_mail("classroom_access", "Tu acceso al aula de {{ brand }}", access_context)
    register_mail("classroom_link", "Tu enlace para el aula de {{ brand }}", link_context)


def access_context(ids: dict[str, Any]) -> dict[str, Any]:
    """The items that the order opens, and a link to set the password if there is none."""
    provisioning = Provisioning.objects.get(pk=ids["provisioning_id"])
    account = Account.objects.select_related("student").get(student=provisioning.student_id)
    return {
        **_greeting(account),
        "items": _names(provisioning),
        "has_password": bool(account.password),
        "portal_url": absolute_url(SiteSettings.current().portal),
    }


def link_context(ids: dict[str, Any]) -> dict[str, Any]:
    return _greeting(Account.objects.select_related("student").get(pk=ids["account_id"]))


def _greeting(account: Account) -> dict[str, Any]:
    return {
        "first_name": account.student.first_name,
        "username": account.username or account.student.email,
        "access_url": access_url(account),
        "days": LINK_LIFETIME.days,
        "new_link_url": absolute_url(reverse("aula_enlace")),
    }


def _names(provisioning: Provisioning) -> list[str]:
    """Names like "Microeconomía" or "Microeconomía: PEC 3", in the sequence of the items."""
    subjects = Subject.objects.in_bulk([subject_id for subject_id, _ in provisioning.items])
    lessons = Lesson.objects.in_bulk(
        [lesson_id for _, lesson_id in provisioning.items if lesson_id]
    )
    return [
        f"{subjects[subject_id].name}: {lessons[lesson_id].title}"
        if lesson_id
        else subjects[subject_id].name
        for subject_id, lesson_id in provisioning.items
    ]
