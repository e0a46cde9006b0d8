"""Sample data of the mail of this app (see `apps.core.mail.samples`)."""

from apps.core.mail.registry import SecretUrl, absolute_url
from apps.core.mail.samples import STUDENT, preview_mail
from apps.pages.opinions.asking import LINK_DAYS

preview_mail(
    "opinion_request",
    title="petición de opinión",
    when="Cuando acaba el acceso a una asignatura, una sola vez, para pedir una opinión",
    to=STUDENT,
    samples=lambda: {
        "Ejemplo": {
            "subject_name": "Microeconomía",
            "link_days": LINK_DAYS,
            "opinion_url": SecretUrl(absolute_url("/opinion?enlace=ejemplo")),
        }
    },
)
