"""The mails about a student's account.

- `sign_in_link` {"link_id"}: the one-time link of /login
- `email_changed` {"student_id", "is_old"}: to the address of before and to the new one
- `erasure_requested` {"student_id"}: to `settings.STAFF_EMAIL`
"""

from typing import Any

from django.urls import reverse
from django.utils import timezone

from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import (
    NoLongerDue,
    absolute_url,
    know_confirmed_addresses,
    register_mail,
)
from apps.students.confirmed import is_confirmed
from apps.students.models import SignInLink, Student
from apps.students.sign_in_links import LINK_LIFETIME, link_url


def register() -> None:
    register_mail(
        "sign_in_link",
        "Tu enlace para entrar en {{ brand }}",
        sign_in_link_context,
        origin=Origin.SIGN_IN_LINK,
        texts={
            "heading": "Entra en tu cuenta",
            "greeting": "Hola:",
            "intro": "Con este enlace entras en tu cuenta sin contraseña:",
        },
    )
    register_mail(
        "erasure_requested",
        "Un alumno pide que se borren sus datos",
        erasure_requested_context,
        origin=Origin.NOTICE,
        is_fixed=True,
    )
    register_mail(
        "email_changed",
        "Ha cambiado el correo de tu cuenta en {{ brand }}",
        email_changed_context,
        origin=Origin.STAFF,
        is_fixed=True,
        texts={
            "heading": "Ha cambiado el correo de tu cuenta",
            "greeting": "Hola:",
        },
    )
    know_confirmed_addresses(is_confirmed)


def sign_in_link_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Build the mail with the link. Raises NoLongerDue if the link was used or has expired."""
    link = SignInLink.objects.select_related("student").get(pk=ids["link_id"])
    if link.used_at is not None or link.created_at < timezone.now() - LINK_LIFETIME:
        raise NoLongerDue
    return {
        "link_url": link_url(link),
        "minutes": int(LINK_LIFETIME.total_seconds() // 60),
    }


def email_changed_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Build the mail to either address. Neither is told the other one, or a name.

    The old address may be that of somebody whom the student does not know.
    """
    return {"is_old": ids["is_old"], "new_link_url": absolute_url(reverse("aula_enlace"))}


def erasure_requested_context(ids: dict[str, Any]) -> dict[str, Any]:
    student = Student.objects.get(pk=ids["student_id"])
    page = reverse("admin:students_student_changelist")
    return {"email": student.email, "admin_url": absolute_url(f"{page}?q={student.email}")}
