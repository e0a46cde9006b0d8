"""The academy's own words in mails: another subject, other sentences, a paragraph at the end.

Staff write them on the page of each sample mail (docs/rules.md, "Mails"). Amounts, links, security
notices and what the law asks for stay in the templates.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.db import transaction
from django.utils import dateformat, timezone

from apps.core.models import SiteSettings
from apps.core.money import format_euros, to_cents
from apps.core.normal_form import normal_form
from apps.core.text_links import FRIEND_CODE_REFUSED, has_link, names_friend_code

# The words of one mail: "subject", "paragraph" or the name of one of its sentences, and its text.
Words = Mapping[str, str]

# The placeholders, and the variables of a mail that each may stand for: the first that it has.
PLACEHOLDERS = {
    "academia": ("brand",),
    "nombre": ("first_name", "recipient_name"),
    "pedido": ("order_name",),
    "fecha": ("paid_at",),
    "total": ("total",),
    "precio": ("full",),
    "fin": ("ends_on",),
    "hasta": ("until",),
    "asignatura": ("subject_name",),
    "universidad": ("university",),
    "descuento": ("percent",),
}
# The sentences that a mail may offer, in the order of its text, with the label of each for staff.
LABELS = {
    "heading": "Titular",
    "greeting": "Saludo",
    "intro": "Primer párrafo",
    "details": "Segundo párrafo",
    "last_payment": "Después del último pago",
    "closing": "Cierre",
}
ONE_LINE = ("subject", "heading", "greeting")
LONGEST_LINE = 120
LONGEST_PARAGRAPH = 1000
# Short values for a number in a mail, and one for other texts. `_refusal` tries each.
_NUMBERS = frozenset({"total", "precio", "descuento"})
_SHORT_NUMBERS, _SHORT_WORD = ("11", "111"), "xx"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# A placeholder with the comma and the spaces before it, which go if its value is empty.
_WITH_COMMA = re.compile(r"(,? *)\{([^{}]*)\}")
# An address of a page ends at the first character that no page of the shop has in its address: mail
# programs end it there, too, and make another link of what follows.
_ADDRESS = re.compile(r"(https?://[\w.:-]+)((?:[/?#][\w/?=&#%+~-]*)?)", re.IGNORECASE | re.ASCII)
# Signs that may stand between the digits of a number: any of these characters, or up to two others
# that are no letters. A euro sign ends a number, as in a list of prices.
_BETWEEN = r"(?:[\s./()_·•|\\*\u2010-\u2015\u2212-]*|[^\w€]{1,2})"
# The beginning of an IBAN, or nine digits: a bank account, a card or a phone. It ends with a fixed
# number of groups: one that looks further takes for ever on a long word.
_NUMBER = re.compile(
    rf"\b[a-z]{{2}}\d{{2}}(?:{_BETWEEN}[\da-z]{{2,4}}){{3}}|(?:\d{_BETWEEN}){{9}}", re.IGNORECASE
)
# Opening hours, with or without a date, are no number: "24/12/2026, 9:00-14:00". Nor is the name of
# a course: "2026-2027".
_HOUR = r"(?:[01]?\d|2[0-3]):[0-5]\d"
_DATE = r"(?:0?[1-9]|[12]\d|3[01])/(?:0?[1-9]|1[0-2])(?:/20\d\d)?"
_FULL_DATE = re.compile(rf"(?<![\d/])(?=[\d/]+/20\d\d){_DATE}(?![\d/])")
_COURSE = r"20\d\d[-–/](?:20)?\d\d"
_TIMES = re.compile(
    rf"(?<![\d:/])(?:(?:{_DATE}[, ]+)?{_HOUR}(?:[-–,; ]+{_HOUR})*|{_COURSE})(?![\d:])"
)
# Characters that nobody sees: marks of the writing direction, zero widths, and marks over others.
_UNSEEN = {"Cf", "Mn", "Me"}
NUMBER_REFUSED = (
    "No escribas números de cuenta, de tarjeta ni de teléfono: los de la academia están en "
    "«Ajustes del sitio»."
)
BETWEEN_PLACEHOLDERS = "Cuenta lo que queda cuando un hueco está vacío o es corto."
BETWEEN_TEXTS = "Cuentan también los textos que el correo enseña uno debajo de otro."


class WordsChanged(Exception):
    """Somebody else has stored other words of this mail since the form was opened: `stored`."""

    def __init__(self, stored: Words) -> None:
        super().__init__()
        self.stored = stored


def own_words(site: SiteSettings, template: str) -> Words:
    """The stored words of a mail. What is missing is as in the code."""
    stored: Words = site.mail_words.get(template, {})
    return stored


def version_of(words: Words) -> str:
    """A digest of the words, by which a form notices that they changed since it was opened."""
    return hashlib.sha256(json.dumps(dict(words), sort_keys=True).encode()).hexdigest()[:16]


@transaction.atomic
def store_own_words(template: str, words: Words, *, version: str) -> None:
    """Store the words of one mail; none bring back the original.

    `version` is that of the words which the form replaces. Raises WordsChanged if others are stored
    by now.
    """
    SiteSettings.current()
    site = SiteSettings.objects.select_for_update(no_key=True).get(pk=1)
    stored = own_words(site, template)
    if version_of(stored) != version:
        raise WordsChanged(stored)
    site.mail_words = {**site.mail_words, template: dict(words)}
    if not words:
        del site.mail_words[template]
    site.save(update_fields=["mail_words"])


def filled(text: str, values: Mapping[str, Any]) -> str:
    """The text with its placeholders. An empty one goes with the comma and space before it."""

    def value(match: re.Match[str]) -> str:
        shown = _shown(_value(match[2], values))
        return match[1] + shown if shown else ""

    return _WITH_COMMA.sub(value, text).strip()


def filled_texts(defaults: Words, words: Words, values: Mapping[str, Any]) -> dict[str, str]:
    """The sentences of a mail by name: the stored ones, and the defaults for the others."""
    return {name: filled(words.get(name) or text, values) for name, text in defaults.items()}


def _value(placeholder: str, values: Mapping[str, Any]) -> Any:
    names = PLACEHOLDERS.get(placeholder, ())
    return next((values[name] for name in names if name in values), None)


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case Decimal():
            return format_euros(to_cents(value))
        case datetime():
            return _shown(timezone.localdate(value))
        case date():
            return dateformat.format(value, r"j \d\e F \d\e Y")
    return str(value)


class OwnWordsForm(forms.Form):
    """The words of one mail. Each field has today's text; empty, it brings back the original.

    `texts` are the sentences of the mail as in the code, `stored` the words that replace some of
    them, and `variables` the mail's variables.
    """

    def __init__(
        self, *args: Any, texts: Words, stored: Words, variables: Mapping[str, Any], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._texts = texts
        known = {"brand": settings.BRAND_NAME, **variables}
        self.offered = [name for name, of in PLACEHOLDERS.items() if known.keys() & set(of)]
        names = ["subject", *(name for name in LABELS if name in texts), "paragraph"]
        for name in names:
            self.fields[name] = self._field(name, stored.get(name, ""))

    def words(self) -> dict[str, str]:
        """The texts that differ from the original."""
        return {
            name: text
            for name, text in self.cleaned_data.items()
            if text and text != self._texts.get(name)
        }

    def tell_stored(self, stored: Words) -> None:
        """Show below each field the text that somebody else has stored meanwhile."""
        for name in self.fields:
            now = stored.get(name) or self._texts.get(name, "")
            self[name].help_text = f"Ahora: «{now}»" if now else "Ahora: vacío."

    def clean(self) -> dict[str, Any]:
        for name in self.fields:
            if name in self.cleaned_data:
                self._clean_text(name)
        if not self.errors:
            # The date that ends one text would count with the number that begins the next.
            shown = _FULL_DATE.sub("(fecha)", self._all_texts())
            if any(map(_has_number, (shown, *_as_mails_show(shown)))):
                raise forms.ValidationError(f"{NUMBER_REFUSED} {BETWEEN_TEXTS}")
        return self.cleaned_data

    def _all_texts(self) -> str:
        """The texts one below the other, as the mail shows them: typed ones or the originals."""
        texts = (self.cleaned_data[name] or self._texts.get(name, "") for name in self.fields)
        return "\n".join(filter(None, texts))

    def _field(self, name: str, stored: str) -> forms.CharField:
        original = self._texts.get(name, "")
        labels = {"subject": "Asunto", "paragraph": "Párrafo al final", **LABELS}
        one_line = name in ONE_LINE
        attrs = {"class": "vTextField"} if one_line else {"class": "vLargeTextField", "rows": 4}
        return forms.CharField(
            label=labels[name],
            initial=stored or original,
            max_length=LONGEST_LINE if one_line else LONGEST_PARAGRAPH,
            required=False,
            widget=forms.TextInput(attrs=attrs) if one_line else forms.Textarea(attrs=attrs),
            help_text=f"Original: «{original}»" if stored and original else "",
        )

    def _clean_text(self, name: str) -> None:
        typed = self.cleaned_data[name]
        one_line = name in ONE_LINE
        text = " ".join(typed.split()) if one_line else "\n".join(typed.splitlines()).strip()
        self.cleaned_data[name] = text
        if reason := self._refusal(text):
            self.add_error(name, reason)

    def _refusal(self, text: str) -> str:
        """Why the text can't be stored, or an empty string."""
        unknown = [name for name in _PLACEHOLDER.findall(text) if name not in self.offered]
        if unknown:
            return f"Este correo no tiene {{{unknown[0]}}}."
        if "{" in _PLACEHOLDER.sub("", text) or "}" in _PLACEHOLDER.sub("", text):
            return "Falta una llave: los huecos se escriben así: {nombre}."
        if reason := _refusal_of_text(text):
            return reason
        refused = filter(None, map(_refusal_of_text, _as_mails_show(text)))
        return next((f"{reason} {BETWEEN_PLACEHOLDERS}" for reason in refused), "")


def _as_mails_show(text: str) -> Iterator[str]:
    """The text as mails may show it, in which a placeholder no longer parts what surrounds it.

    Most are empty in some mails, such as the name of a buyer who has typed none.
    """
    yield filled(text, {})
    yield _PLACEHOLDER.sub(_SHORT_WORD, text)
    for number in _SHORT_NUMBERS:
        yield filled(text, {PLACEHOLDERS[name][0]: number for name in _NUMBERS})


def _refusal_of_text(text: str) -> str:
    """Why the text can't be in a mail, or an empty string."""
    text = _as_read(text)
    if names_friend_code(text):
        return FRIEND_CODE_REFUSED
    # A link to a stranger's page, or another account, would carry the academy's name.
    rest = _ADDRESS.sub(lambda match: " " if _is_own(match[0]) else match[0], text)
    if has_link(rest):
        return (
            "Solo se enlazan páginas de este sitio, con https://. Deja un espacio después de "
            "cada punto."
        )
    return NUMBER_REFUSED if _has_number(text) else ""


def _has_number(text: str) -> bool:
    """Whether the text shows a number of an account, a card or a telephone."""
    text = _as_read(text)
    numbers = _ADDRESS.sub(lambda match: f" {match[2]}" if _is_own(match[0]) else match[0], text)
    return _NUMBER.search(_TIMES.sub("(fecha)", numbers)) is not None


def _as_read(text: str) -> str:
    """The text as people read it: without unseen characters, and with digits as digits."""
    return "".join(map(_as_seen, text))


@lru_cache(maxsize=4_096)
def _as_seen(char: str) -> str:
    """One character as it is read. Some stand for 18."""
    # The normal form of an ordinal sign is a letter, which would part two groups of digits.
    plain = " " if char in "ºª" else normal_form("NFKC", char)
    seen = (each for each in plain if unicodedata.category(each) not in _UNSEEN)
    # The normal form leaves the digits in black circles.
    return "".join(str(unicodedata.digit(each, each)) for each in seen)


def _is_own(address: str) -> bool:
    own, other = urlsplit(settings.SITE_URL), urlsplit(address)
    return (own.scheme, own.netloc) == (other.scheme, other.netloc)
