"""Samples of the classroom's mails."""

from typing import Any

from django.urls import reverse

from apps.classroom.access_links import LINK_LIFETIME
from apps.core.mail.registry import SecretUrl, absolute_url
from apps.core.mail.samples import STUDENT, VISITOR, preview_mail
from apps.core.models import SiteSettings


def _greeting() -> dict[str, Any]:
    return {
        "username": "ana.ejemplo@example.com",
        "access_url": SecretUrl(absolute_url(f"{reverse('aula_acceso')}?enlace=ejemplo")),
        "days": LINK_LIFETIME.days,
        "new_link_url": absolute_url(reverse("aula_enlace")),
    }


def _access() -> dict[str, dict[str, Any]]:
    first_purchase = {
        **_greeting(),
        "items": ["Microeconomía", "Estadística descriptiva: PEC 3"],
        "pending": [],
        "has_password": False,
        "existed_before": False,
        "without_password": False,
        "portal_url": absolute_url(SiteSettings.current().portal),
    }
    return {
        "Primera compra": first_purchase,
        "Ya tiene contraseña": {**first_purchase, "has_password": True},
        "Entra con su cuenta de la tienda": {
            **first_purchase,
            "has_password": True,
            "without_password": True,
            "portal_url": absolute_url(reverse("aula_entrar")),
        },
        "Su cuenta ya existía": {
            **first_purchase,
            "username": "ana.ejemplo",
            "access_url": "",
            "has_password": True,
            "existed_before": True,
        },
        "Falta una parte": {
            **first_purchase,
            "items": ["Microeconomía"],
            "pending": ["Estadística descriptiva: PEC 3"],
        },
    }


preview_mail(
    "classroom_access",
    title="acceso al aula",
    when="Cuando el acceso al aula de un pedido pagado está listo, y cuando se reenvía",
    to=STUDENT,
    samples=_access,
)
preview_mail(
    "classroom_link",
    title="enlace para poner la contraseña",
    when="Cuando un alumno pide en /aula/enlace un enlace nuevo para su contraseña",
    to=VISITOR,
    samples=lambda: {"Ejemplo": _greeting()},
)
preview_mail(
    "classroom_confirm",
    title="confirmación de una cuenta del aula",
    when="Cuando se pide un enlace para una cuenta del aula que ya existía antes de la compra",
    to=STUDENT,
    samples=lambda: {
        "Ejemplo": {
            "username": "ana.ejemplo",
            "confirm_url": SecretUrl(absolute_url(f"{reverse('aula_confirmar')}?enlace=ejemplo")),
            "days": LINK_LIFETIME.days,
        }
    },
)
