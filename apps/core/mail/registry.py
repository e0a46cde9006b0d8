"""The registry of mails, and their rendering.

A `Mail` row stores ids, not text. The text is built when the mail is rendered, so one-time links
and tokens are never stored. Each app registers its mails in `ready()`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import urljoin

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.template import Context, Engine

from apps.core.mail.own_words import Words, filled, filled_texts, own_words
from apps.core.mail.recipient_limits import RESERVES, Origin
from apps.core.models import Mail, SiteSettings

# A builder turns the ids in `Mail.context` into the template's variables.
Build = Callable[[dict[str, Any]], dict[str, Any]]
# The origin of a template's mails, where it depends on the ids of each mail.
FindOrigin = Callable[[dict[str, Any]], Origin]
# The id of the student whom a mail is about, found from its ids. None if there is none.
FindStudent = Callable[[dict[str, Any]], int | None]


class NoLongerDue(Exception):
    """Raised by a builder when the mail is out of date and must not be sent."""


class CannotShow(Exception):
    """A mail that staff cannot read any more. The text is a Spanish sentence that says why."""


# The length of a subject line that every mail program shows.
SUBJECT_WIDTH = 78

HIDDEN = "[enlace personal, solo en el correo]"


class SecretUrl(str):
    """A link that grants access to whoever has it. It is hidden from staff."""


class AccountUrl(SecretUrl):
    """A link that opens somebody's account. Its mail is sent to the account's address alone."""

    address: str

    def __new__(cls, url: str, *, address: str) -> Self:
        link = super().__new__(cls, url)
        link.address = address
        return link


class TypedText(str):
    """A text that a visitor typed, such as a name.

    It is left out unless the mail is about a payment and its recipient has confirmed the address.
    Otherwise anybody could make the shop send words of their own to a stranger.
    """


class BuyersText(TypedText):
    """A buyer's text that a mail about a payment carries to an unconfirmed address, too.

    That is the message of a gift that was paid, and the address to which the gift goes.
    """


def absolute_url(path: str) -> str:
    """Return the absolute URL of a path of this site; an absolute URL stays as it is."""
    return str(urljoin(settings.SITE_URL, path))


@dataclass(frozen=True)
class MailTemplate:
    name: str
    subject: str
    build: Build
    origin: Origin | FindOrigin
    student: FindStudent | None
    texts: Words
    is_fixed: bool

    @property
    def path(self) -> str:
        """The path of its files in `templates`, without their ending."""
        app = self.build.__module__.split(".")[1]
        return f"{app}/emails/{self.name}"


@dataclass(frozen=True)
class Attachment:
    """A PDF that is attached to a mail. It is made when the mail is sent, not for a preview."""

    name: str
    make: Callable[[], bytes]


@dataclass(frozen=True)
class RenderedMail:
    """A rendered mail: a one-line subject, plain text and an HTML document.

    An empty `reply_to` means the academy's support address. `unsubscribe_url` is empty for mails
    that the recipient's own action triggered.
    """

    subject: str
    text: str
    html: str
    reply_to: str = ""
    unsubscribe_url: str = ""
    attachments: tuple[Attachment, ...] = ()


_templates: dict[str, MailTemplate] = {}


def register_mail(
    template: str,
    subject: str,
    build: Build,
    *,
    origin: Origin | FindOrigin,
    student: FindStudent | None = None,
    texts: Words = MappingProxyType({}),
    is_fixed: bool = False,
) -> None:
    """Register a mail whose templates are `templates/<app>/emails/<template>.{txt,html}`.

    The app is the one that has the function `build`. `subject` is a template string ("Tu pedido
    {{ reference }}"). `build` gets the row's context and returns the variables of subject and
    templates. Links that grant access are `SecretUrl`s, those that open an account are
    `AccountUrl`s, and what a visitor has typed is `TypedText`, except in mails to staff. Four
    variables are special: `reply_to`, `attachments`, `only_to`, the one address that may get the
    mail, and `unsubscribe_url`, which unsubscribes on a bare POST (RFC 8058).
    The builder raises NoLongerDue when the mail must not be sent any more.
    `origin` says who causes the mail, or finds it out from the row's context. `student` finds the
    student whose new address a waiting mail follows; without it, the mail stays with the address to
    which it was queued. `texts` are the sentences that staff may replace, by their names in
    `own_words.LABELS`, with its placeholders ("Hola, {nombre}:"); the templates have them as
    `texts.NAME`. `is_fixed` is for a security notice, which tells somebody what others did with an
    account, gift or money: it has no own words, or whoever did it could write it so that nobody
    notices. So is each mail to `STAFF_EMAIL`, and an acknowledgement that is proof.
    """
    _templates[template] = MailTemplate(template, subject, build, origin, student, texts, is_fixed)


def texts_of(template: str) -> Words:
    """The sentences of a mail that staff may replace, as in the code."""
    return _templates[template].texts


def is_fixed(template: str) -> bool:
    """Whether this mail has no words of the academy's own."""
    return _templates[template].is_fixed


def words_of(site: SiteSettings, template: str) -> Words:
    """The academy's own words of a mail. Those that are stored for a fixed one are ignored."""
    return {} if is_fixed(template) else own_words(site, template)


def origin_of(template: str, context: dict[str, Any]) -> Origin:
    """Return who causes this mail. Raises what a `FindOrigin` raises for a deleted row."""
    origin = _templates[template].origin
    return origin if isinstance(origin, Origin) else origin(context)


def student_of(template: str, context: dict[str, Any]) -> int | None:
    """The id of the student whose address this mail follows, if any."""
    registered = _templates.get(template)
    return registered.student(context) if registered and registered.student else None


# The app that knows whose address is confirmed replaces it (`know_confirmed_addresses`).
_is_confirmed: Callable[[str], bool] = lambda email: False  # noqa: E731


def know_confirmed_addresses(is_confirmed: Callable[[str], bool]) -> None:
    """Give the answer to "has the owner of this address confirmed it by a mailed link?"."""
    global _is_confirmed
    _is_confirmed = is_confirmed


def _left_out(template: str, context: dict[str, Any], to: str) -> tuple[type[TypedText], ...]:
    """The kinds of typed text that this mail must not carry to this address."""
    if origin_of(template, context) is not Origin.PAYMENT:
        return (TypedText, BuyersText)
    return () if _is_confirmed(to) else (TypedText,)


def _without_typed_text(value: Any, left_out: tuple[type[TypedText], ...]) -> Any:
    """The value with an empty text for each typed one, in rows of lists, too."""
    if isinstance(value, TypedText):
        return "" if type(value) in left_out else value
    if isinstance(value, dict):
        return {key: _without_typed_text(item, left_out) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_without_typed_text(item, left_out) for item in value)
    return value


def is_registered(template: str) -> bool:
    return template in _templates


def is_link(template: str) -> bool:
    """Whether the mail brings a link that somebody waits for, and that works for a time."""
    return is_registered(template) and _templates[template].origin in RESERVES


def registered_mails() -> list[str]:
    """The names of all registered mails."""
    return sorted(_templates)


def render_mail(
    template: str,
    context: dict[str, Any],
    *,
    reveal: bool,
    to: str = "",
    words: Words | None = None,
) -> RenderedMail:
    """Render a registered mail from the ids in `context`.

    Without `reveal` its secret links are replaced by a note. Raises what the builder raises, for
    example DoesNotExist for a deleted order. `to` is the address that the mail is sent to: texts
    that visitors typed are left out unless it may get them. `words` are the academy's own; without
    them, the stored ones are used. With `reveal` it raises NoLongerDue if
    the account that the mail opens, or the cart that it is about, has another address by now.
    """
    values = _templates[template].build(context)
    owners = {v.address for v in values.values() if isinstance(v, AccountUrl)}
    owners |= {values["only_to"]} if "only_to" in values else set()
    if reveal and to and {owner.lower() for owner in owners} - {to.lower()}:
        raise NoLongerDue
    values = _without_typed_text(values, _left_out(template, context, to))
    if not reveal:
        values = {k: HIDDEN if v and isinstance(v, SecretUrl) else v for k, v in values.items()}
    return render_values(template, values, words)


def render_for_staff(mail: Mail) -> RenderedMail:
    """Render a mail as staff may read it: without its secret links.

    A sent one has the academy's own words of its day, and the data of today: its text is not
    stored. Raises CannotShow if it cannot be built any more.
    """
    try:
        return render_mail(
            mail.template, mail.context, reveal=False, to=mail.to, words=mail.sent_words
        )
    except ObjectDoesNotExist:
        raise CannotShow("Los datos de este correo ya no existen.") from None
    except NoLongerDue:
        raise CannotShow(
            "Este correo ya no se puede mostrar: lo que decía ya no está pendiente."
        ) from None


def render_values(
    template: str, values: Mapping[str, Any], words: Words | None = None
) -> RenderedMail:
    """Render a registered mail from the variables that its builder returns.

    `words` are a draft of the academy's own, or those of a sent mail; without them, the stored ones
    are used.
    """
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
    engine, registered = Engine.get_default(), _templates[template]
    # Plain text must not be HTML-escaped: "Álgebra & Cálculo".
    plain = Context(values, autoescape=False)
    words = words_of(contact, template) if words is None else words
    values["texts"] = plain["texts"] = filled_texts(registered.texts, words, values)
    own_subject = filled(words.get("subject", ""), values)
    paragraph = filled(words.get("paragraph", ""), values)
    subject = _one_line(own_subject or engine.from_string(registered.subject).render(plain))
    plain["own_paragraph"] = values["own_paragraph"] = paragraph
    text = engine.get_template(f"{registered.path}.txt").render(plain)
    html = engine.get_template(f"{registered.path}.html").render(
        Context({**values, "subject": subject})
    )
    return RenderedMail(
        subject=subject,
        text=text.strip() + "\n",
        # Keep "n.º" and its number on one line: "pedido n.º 12".
        html=html.replace("n.º ", "n.º\N{NO-BREAK SPACE}"),
        reply_to=str(values.get("reply_to", "")),
        unsubscribe_url=str(values.get("unsubscribe_url", "")),
        attachments=tuple(values.get("attachments", ())),
    )


def _one_line(subject: str) -> str:
    """Collapse whitespace, so that a line break can't inject a header, and cut a long subject."""
    subject = " ".join(subject.split())
    if len(subject) <= SUBJECT_WIDTH:
        return subject
    return subject[: SUBJECT_WIDTH - 1].rstrip() + "…"
