"""The academy's own words in mails: another subject, and a paragraph at the end of the text.

Staff write them on the page of each sample mail (docs/rules.md, "Mails"). Amounts, links and what
the law asks for stay in the templates.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.db import transaction

from apps.core.models import SiteSettings
from apps.core.text_links import has_link

# The placeholders, and the variable of the mail that each stands for.
PLACEHOLDERS = {"academia": "brand", "nombre": "first_name", "pedido": "order_name"}
LONGEST_PARAGRAPH = 1000
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_ADDRESS = re.compile(r"https?://[^\s<>]*", re.IGNORECASE)
# An IBAN, or nine digits and more: a bank account, a card or a phone.
_NUMBER = re.compile(r"\b[a-z]{2}\d{2}(?:[ .-]?[\da-z]{2,4}){3,}|(?:\d[ .()-]*){9}", re.IGNORECASE)


@dataclass(frozen=True)
class OwnWords:
    """Texts with their placeholders. An empty one leaves the mail as it is."""

    subject: str = ""
    paragraph: str = ""


def own_words(site: SiteSettings, template: str) -> OwnWords:
    return OwnWords(**site.mail_words.get(template, {}))


@transaction.atomic
def store_own_words(template: str, words: OwnWords) -> None:
    """Store the words of one mail; empty ones bring back the original."""
    SiteSettings.current()
    site = SiteSettings.objects.select_for_update(no_key=True).get(pk=1)
    stored = {name: text for name, text in vars(words).items() if text}
    site.mail_words = {**site.mail_words, template: stored}
    if not stored:
        del site.mail_words[template]
    site.save(update_fields=["mail_words"])


def filled(text: str, values: Mapping[str, Any]) -> str:
    """The text with its placeholders. A name that may not be said goes with the space before it."""

    def value(match: re.Match[str]) -> str:
        return str(values.get(PLACEHOLDERS.get(match[1], ""), ""))

    return re.sub(r" +([,.:!?])", r"\1", _PLACEHOLDER.sub(value, text)).strip()


class OwnWordsForm(forms.Form):
    """The words of one mail. `variables` are the names of the mail's variables."""

    subject = forms.CharField(
        label="Asunto",
        max_length=120,
        required=False,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    paragraph = forms.CharField(
        label="Párrafo al final",
        max_length=LONGEST_PARAGRAPH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def __init__(self, *args: Any, variables: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = {"brand": settings.BRAND_NAME, **variables}
        self._offered = [name for name, of in PLACEHOLDERS.items() if of in known]
        offered = ", ".join(f"{{{name}}}" for name in self._offered)
        self.fields["subject"].help_text = f"Vacío: el de siempre. Se puede escribir {offered}."
        self.fields["paragraph"].help_text = "Vacío: ninguno. Admite lo mismo."

    def clean_subject(self) -> str:
        return self._checked(" ".join(self.cleaned_data["subject"].split()))

    def clean_paragraph(self) -> str:
        return self._checked(self.cleaned_data["paragraph"].strip())

    def words(self) -> OwnWords:
        return OwnWords(**self.cleaned_data)

    def _checked(self, text: str) -> str:
        unknown = [name for name in _PLACEHOLDER.findall(text) if name not in self._offered]
        if unknown:
            raise forms.ValidationError(f"Este correo no tiene {{{unknown[0]}}}.")
        if "{" in _PLACEHOLDER.sub("", text) or "}" in _PLACEHOLDER.sub("", text):
            raise forms.ValidationError("Falta una llave: se escribe {nombre}.")
        # A link to a stranger's page, or another account, would carry the academy's name.
        rest = _ADDRESS.sub(lambda match: " " if _is_own(match[0]) else match[0], text)
        if has_link(rest):
            raise forms.ValidationError(
                "Solo se enlazan páginas de este sitio, con https://. Deja un espacio después de "
                "cada punto."
            )
        if _NUMBER.search(rest):
            raise forms.ValidationError(
                "No se escriben cuentas, tarjetas ni teléfonos: los del sitio están en «Ajustes "
                "del sitio»."
            )
        return text


def _is_own(address: str) -> bool:
    own, other = urlsplit(settings.SITE_URL), urlsplit(address)
    return (own.scheme, own.netloc) == (other.scheme, other.netloc)
