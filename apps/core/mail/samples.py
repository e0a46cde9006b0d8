"""What each mail looks like, from invented data: for the preview in the admin and for the tests.

Beside its mails every app describes them in `mail_samples.py`. A sample is what the mail's builder
would return, made of plain values: no row is read or written for it. That it has the same variables
as the builder's answer is checked in every test that renders the mail
(`academy/tests/mail_contract.py`), and that there is one for every mail by `manage.py check`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from django.core import checks

from apps.core.mail.registry import RenderedMail, registered_mails, render_values

# Name of the variant ("A plazos") → what the builder returns for it.
Samples = Callable[[], dict[str, dict[str, Any]]]

STUDENT = "A quien compra"
VISITOR = "A quien lo pide"
STAFF = "A la academia"


@dataclass(frozen=True)
class MailPreview:
    """What staff read about a mail: `when` and `to` are Spanish, without a full stop."""

    template: str
    when: str
    to: str
    samples: Samples


_previews: dict[str, MailPreview] = {}


def preview_mail(template: str, *, when: str, to: str, samples: Samples) -> None:
    """Describe a registered mail: when it is sent, to whom, and how it may look."""
    _previews[template] = MailPreview(template, when, to, samples)


def mail_preview(template: str) -> MailPreview | None:
    return _previews.get(template)


def mail_previews() -> list[MailPreview]:
    """All of them, by whom they are for: students first, the academy last."""
    ranks = {STUDENT: 0, VISITOR: 1, STAFF: 2}
    return sorted(_previews.values(), key=lambda mail: (ranks.get(mail.to, 1), mail.template))


def render_sample(template: str, variant: str) -> RenderedMail:
    """Render a mail from a sample. Raises KeyError where there is none of that name."""
    return render_values(template, _previews[template].samples()[variant])


def sample(**values: Any) -> SimpleNamespace:
    """A row as templates read it ("line.name"), which is no model and is never saved."""
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
