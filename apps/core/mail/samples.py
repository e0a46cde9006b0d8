"""Sample data for every mail, used by the previews in the admin and by the tests.

Each app describes its mails in `mail_samples.py`. A sample holds the variables that the mail's
builder would return, as plain values: no row is read or written. `tests/helpers/mail_contract.py`
compares its variables with the builder's in every test that renders the mail, and `manage.py check`
reports a mail without a sample.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from django.core import checks

from apps.core.mail.own_words import Words
from apps.core.mail.registry import RenderedMail, registered_mails, render_values

# Maps the name of a variant ("A plazos") to the variables that the builder would return.
Samples = Callable[[], dict[str, dict[str, Any]]]

STUDENT = "A quien compra"
VISITOR = "A quien lo pide"
STAFF = "A la academia"


@dataclass(frozen=True)
class MailPreview:
    """A mail's description for staff.

    `title`, `when` and `to` are Spanish phrases without a full stop; `title` begins in lower case.
    """

    template: str
    title: str
    when: str
    to: str
    samples: Samples


_previews: dict[str, MailPreview] = {}


def preview_mail(template: str, *, title: str, when: str, to: str, samples: Samples) -> None:
    """Describe a registered mail: what it is, when it is sent, to whom, and its sample variants."""
    _previews[template] = MailPreview(template, title, when, to, samples)


def mail_preview(template: str) -> MailPreview | None:
    return _previews.get(template)


def mail_title(template: str) -> str:
    """The name of a mail for staff: of one that is no longer registered, its template's name."""
    preview = mail_preview(template)
    return preview.title if preview else template


def mail_previews() -> list[MailPreview]:
    """All previews, ordered by recipient: students first, the academy last."""
    ranks = {STUDENT: 0, VISITOR: 1, STAFF: 2}
    return sorted(_previews.values(), key=lambda mail: (ranks.get(mail.to, 1), mail.template))


def render_sample(template: str, variant: str, words: Words | None = None) -> RenderedMail:
    """Render a mail from a sample, with the stored words or a draft of others.

    Raises KeyError for an unknown mail or variant.
    """
    return render_values(template, _previews[template].samples()[variant], words)


def sample(**values: Any) -> SimpleNamespace:
    """An object with these attributes, in place of a model row in a template ("line.name")."""
    return SimpleNamespace(**values)


@checks.register
def every_mail_has_a_sample(
    app_configs: Sequence[object] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    return [
        checks.Error(
            f"The mail {template!r} has no sample.",
            hint="Describe it with preview_mail() in the mail_samples.py of its app.",
            id="core.E001",
        )
        for template in registered_mails()
        if template not in _previews
    ]
