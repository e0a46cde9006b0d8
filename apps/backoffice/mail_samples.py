"""Samples of the mails to staff about their accounts."""

from typing import Any

from django.urls import reverse

from apps.backoffice.accounts.account_changes import CHANGED, INVITED, Change
from apps.backoffice.accounts.password_links import FORGOTTEN, INVITATION, set_password_path
from apps.backoffice.accounts.sign_in import GUESSED, OF_STRANGERS, SLOWED_MINUTES
from apps.core.mail.registry import SecretUrl, absolute_url
from apps.core.mail.samples import STAFF, preview_mail


def _sample() -> dict[str, dict[str, Any]]:
    link = absolute_url(set_password_path("MQ", "ejemplo"))
    return {
        "Ejemplo": {
            "first_name": "Carla",
            "username": "carla@example.com",
            "link_url": SecretUrl(link),
            "admin_url": absolute_url(reverse("admin:index")),
        }
    }


preview_mail(
    INVITATION,
    title="invitación al equipo",
    when="Cuando se invita a una persona a la administración",
    to=STAFF,
    samples=_sample,
)
preview_mail(
    GUESSED,
    title="contraseñas probadas con un usuario del equipo",
    when=f"Cuando se prueban más de {OF_STRANGERS.times} contraseñas en un día con un usuario, "
    "desde dispositivos nuevos",
    to=STAFF,
    samples=lambda: {
        "Ejemplo": {
            "first_name": "Carla",
            "username": "carla@example.com",
            "admin_url": absolute_url(reverse("admin_password_reset")),
            "attempts": OF_STRANGERS.times,
            "minutes": SLOWED_MINUTES,
        }
    },
)
preview_mail(
    CHANGED,
    title="contraseña o correo cambiados en el equipo",
    when="Cuando cambia la contraseña o el correo de una cuenta del panel, al correo anterior",
    to=STAFF,
    samples=lambda: {
        str(change).capitalize(): {
            "first_name": "Carla",
            "username": "carla@example.com",
            "change": str(change),
            "admin_url": absolute_url(reverse("admin_password_reset"))
            if change == Change.PASSWORD
            else "",
        }
        for change in Change
    },
)
preview_mail(
    INVITED,
    title="invitación o cambio de una cuenta del equipo",
    when="Cuando alguien invita a una persona, cambia lo que puede hacer, reactiva su cuenta o da "
    "más permisos a su grupo, a las demás personas que pueden invitar",
    to=STAFF,
    samples=lambda: {
        name: {
            "first_name": "Carla",
            "by": "Olga Prado",
            "invited": "Eva Soto",
            "email": "eva@example.com",
            "is_changed": is_changed,
            "can_enter": True,
            "groups": "Atención",
            "group": group,
            "admin_url": absolute_url(
                reverse(f"admin:auth_{'group' if group else 'user'}_change", args=[1])
            ),
        }
        for name, is_changed, group in (
            ("Invitación", False, ""),
            ("Cambio", True, ""),
            ("Grupo", False, "Atención"),
        )
    },
)
preview_mail(
    FORGOTTEN,
    title="contraseña nueva del equipo",
    when="Cuando alguien del equipo pide una contraseña nueva para la administración",
    to=STAFF,
    samples=_sample,
)
