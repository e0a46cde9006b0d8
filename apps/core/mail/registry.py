"""Which mails there are, and how each becomes text.

A row keeps ids, not texts: what the mail says is built when it is rendered, so that one-time links
and tokens are never stored. Each app registers its mails in `ready()`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.template import Context, Engine

from apps.core.models import SiteSettings

# What a builder makes of the ids in Mail.context: the template's variables.
Build = Callable[[dict[str, Any]], dict[str, Any]]


class NoLongerDue(Exception):
    """Raised by a builder: what the mail is about has been overtaken, and nothing is sent."""


# What every mail reader shows of a subject.
SUBJECT_WIDTH = 78

HIDDEN = "[enlace personal, solo en el correo]"


class SecretUrl(str):
    """A link that opens something for whoever has it. Staff do not see it."""

    __slots__ = ()


def absolute_url(path: str) -> str:
    """A path of this site, or an address that is whole already, as a mail needs it."""
    return str(urljoin(settings.SITE_URL, path))


@dataclass(frozen=True)
class MailTemplate:
    name: str
    subject: str
    build: Build


@dataclass(frozen=True)
class RenderedMail:
    """A mail as it reads: one line of subject, plain text, HTML document.

    `reply_to` is empty where answers go to the academy's support address, `unsubscribe_url` where
    the mail is about something that its reader began.
    """

    subject: str
    text: str
    html: str
    reply_to: str = ""
    unsubscribe_url: str = ""


_templates: dict[str, MailTemplate] = {}


def register_mail(template: str, subject: str, build: Build) -> None:
    """Make `templates/emails/<template>.{txt,html}` a mail.

    `subject` is template text as well ("Tu pedido {{ reference }}"). `build` gets the row's
    context and returns the variables of subject and templates; links that open something for
    whoever has them are `SecretUrl`s. A variable `reply_to` is where answers to the mail go;
    `unsubscribe_url` ends mails of its kind by a POST without anything else (RFC 8058). The
    builder raises NoLongerDue where the mail should not be sent any more.
    """
    _templates[template] = MailTemplate(template, subject, build)


def is_registered(template: str) -> bool:
    return template in _templates


def registered_mails() -> list[str]:
    """The names of all mails of the shop."""
    return sorted(_templates)


def render_mail(template: str, context: dict[str, Any], *, reveal: bool) -> RenderedMail:
    """Render a registered mail from the ids in `context`.

    Without `reveal` its secret links are left out. Raises what the builder raises, for instance
    DoesNotExist where the order is gone.
    """
    values = _templates[template].build(context)
    if not reveal:
        values = {k: HIDDEN if isinstance(v, SecretUrl) else v for k, v in values.items()}
    return render_values(template, values)


def render_values(template: str, values: dict[str, Any]) -> RenderedMail:
    """Render a registered mail from what its builder returns."""
    contact = SiteSettings.current()
    values = {
        "brand": settings.BRAND_NAME,
        "site_url": settings.SITE_URL,
        "support_email": contact.support_email,
        "support_phone": contact.support_phone,
        "legal_name": contact.legal_name,
        "legal_address": contact.legal_address,
        "tax_id": contact.tax_id,
        **values,
    }
    engine = Engine.get_default()
    # Plain text is not HTML: "Álgebra & Cálculo" stays as it is.
    plain = Context(values, autoescape=False)
    subject = _one_line(engine.from_string(_templates[template].subject).render(plain))
    text = engine.get_template(f"emails/{template}.txt").render(plain)
    html = engine.get_template(f"emails/{template}.html").render(
        Context({**values, "subject": subject})
    )
    return RenderedMail(
        subject=subject,
        text=text.strip() + "\n",
        # The number stays on the line of its sign: "pedido n.º 12".
        html=html.replace("n.º ", "n.º\N{NO-BREAK SPACE}"),
        reply_to=str(values.get("reply_to", "")),
        unsubscribe_url=str(values.get("unsubscribe_url", "")),
    )


def _one_line(subject: str) -> str:
    """A name with a line break in it must not become a header, nor a long one hide the rest."""
    subject = " ".join(subject.split())
    if len(subject) <= SUBJECT_WIDTH:
        return subject
    return subject[: SUBJECT_WIDTH - 1].rstrip() + "…"
