"""Samples of the mails about a student's account."""

from django.urls import reverse

from apps.core.mail.registry import SecretUrl, absolute_url
from apps.core.mail.samples import STAFF, VISITOR, preview_mail

preview_mail(
    "sign_in_link",
    title="enlace para entrar",
    when="Cuando un alumno pide entrar en su cuenta",
    to=VISITOR,
    samples=lambda: {
        "Ejemplo": {
            "link_url": SecretUrl(absolute_url(f"{reverse('login-link')}?enlace=ejemplo")),
            "minutes": 30,
        }
    },
)
preview_mail(
    "email_changed",
    title="cambio de correo",
    when="Cuando el equipo cambia el correo de un alumno, a los dos correos",
    to=VISITOR,
    samples=lambda: {
        name: {"is_old": is_old, "new_link_url": absolute_url(reverse("aula_enlace"))}
        for name, is_old in (("Al correo anterior", True), ("Al correo nuevo", False))
    },
)
preview_mail(
    "erasure_requested",
    title="petición de borrado",
    when="Cuando un alumno pide en su cuenta que se borren sus datos",
    to=STAFF,
    samples=lambda: {
        "Ejemplo": {
            "email": "ana.ejemplo@example.com",
            "admin_url": absolute_url(reverse("admin:students_student_changelist")),
        }
    },
)
