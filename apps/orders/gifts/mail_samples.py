"""Sample data of the mails about gifts (see `apps.core.mail.samples`)."""

from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from apps.classroom.access_links import LINK_LIFETIME
from apps.core.mail.registry import SecretUrl, absolute_url
from apps.core.mail.samples import STUDENT, preview_mail
from apps.core.models import SiteSettings


def gift_sample() -> dict[str, Any]:
    """Sample of the gift in the buyer's confirmation (`gifts.mails.gift_facts`)."""
    return {
        "to": "leo@example.com",
        "deliver_on": timezone.localdate() + timedelta(days=20),
        "is_delivered": False,
        "has_words": True,
    }


def _gift_received() -> dict[str, dict[str, Any]]:
    first = {
        "username": "leo@example.com",
        "access_url": SecretUrl(absolute_url(f"{reverse('aula_acceso')}?enlace=ejemplo")),
        "days": LINK_LIFETIME.days,
        "new_link_url": absolute_url(reverse("aula_enlace")),
        "items": ["Microeconomía", "Estadística descriptiva: PEC 3"],
        "pending": [],
        "has_password": False,
        "existed_before": False,
        "portal_url": absolute_url(SiteSettings.current().portal),
        "recipient_name": "Leo",
        "sender": "Ana",
        "message": "¡Feliz cumpleaños!\nEste semestre lo sacas.",
    }
    nameless = {**first, "recipient_name": "", "sender": "", "message": "", "has_password": True}
    return {"Con mensaje": first, "Pedido gratuito": nameless}


preview_mail(
    "gift_received",
    title="regalo",
    when="El día elegido, cuando el acceso de quien recibe un regalo está listo",
    to=STUDENT,
    samples=_gift_received,
)
preview_mail(
    "gift_moved",
    title="regalo con otro correo",
    when="Cuando el equipo cambia el correo de quien recibe un regalo",
    to=STUDENT,
    samples=lambda: {
        "A quien lo compró": {"number": 1042, "is_buyer": True},
        "A quien lo tenía": {"number": 1042, "is_buyer": False},
    },
)
