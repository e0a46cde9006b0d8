"""Compares mail samples with the variables of the real builders whenever a test renders a mail.

The previews in the admin and `test_mails.py` see samples alone: they prove something only where a
sample has the same variables as the answer of the builder from rows.
"""

from collections.abc import Iterable
from typing import Any

from apps.core.mail import registry
from apps.core.mail.own_words import Words
from apps.core.mail.samples import mail_preview


def hold_samples_to_builders() -> None:
    render_values = registry.render_values

    def render_and_compare(
        template: str, values: dict[str, Any], words: Words | None = None
    ) -> registry.RenderedMail:
        if preview := mail_preview(template):
            for name, sample in preview.samples().items():
                problems = list(differences(sample, values, template))
                assert not problems, f"sample {name!r}: {'; '.join(problems)}"
        return render_values(template, values, words)

    registry.render_values = render_and_compare


def differences(sample: dict[str, Any], built: dict[str, Any], where: str) -> Iterable[str]:
    """The variables that only one of the two has, including those in rows of lists."""
    for name in sorted(sample.keys() ^ built.keys()):
        yield f"{where}.{name} is only in the {'sample' if name in sample else 'builder'}"
    for name in sample.keys() & built.keys():
        yield from _of_rows(sample[name], built[name], f"{where}.{name}")


def _of_rows(sample: object, built: object, where: str) -> Iterable[str]:
    if isinstance(sample, list | tuple) and isinstance(built, list | tuple):
        if sample and built:
            yield from _of_rows(sample[0], built[0], f"{where}[0]")
        return
    fields = sample if isinstance(sample, dict) else getattr(sample, "__dict__", {})
    if built is None:
        return
    for name in fields:
        if not (name in built if isinstance(built, dict) else hasattr(built, name)):
            yield f"{where}.{name} is only in the sample"
