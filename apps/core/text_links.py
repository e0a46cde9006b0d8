"""Finds links in plain text, as mail programs do, and friend codes."""

import re
import unicodedata
from functools import lru_cache
from html import unescape
from urllib.parse import unquote

from django.core.exceptions import ValidationError

from apps.core.normal_form import normal_form

# The beginning of each friend code that the shop makes. Eight characters follow.
FRIEND_CODE = "AMIGO-"
# Stands for a placeholder whose letters are part of the code.
_FILLED = "\0"
_BEGUN = "|".join(
    FRIEND_CODE[:first] + _FILLED + FRIEND_CODE[last:]
    for first in range(1, len(FRIEND_CODE))
    for last in range(first, len(FRIEND_CODE) + 1)
)
_FRIEND_CODE = re.compile(
    rf"(?:{FRIEND_CODE}|(?<![0-9A-Z])(?:{_BEGUN}))[0-9A-Z]{{8}}(?![0-9A-Z])|{FRIEND_CODE}[0-9A-Z]{{0,7}}{_FILLED}",
    re.ASCII,
)
FRIEND_CODE_REFUSED = (
    "No escribas el código de amigo de un alumno: cobraría por cada compra que llegue de aquí."
)

# Legal texts have so many at most. Django runs all validators of a field, also of a text of 1 MB.
_MOST_READ = 100_000
# Characters whose forms are kept: those of several scripts.
_MOST_KEPT = 4_096
# An address may be encoded for a link, and that link for HTML.
_ENCODED_TIMES = 3
_PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}|\{[^{}]*\}")
_TAG = re.compile(r"<[^<>]*>")
# The number of a character, encoded for HTML, that no character has. Python raises an error for one
# of more than 4,300 digits.
_NO_CHARACTER = re.compile(r"&#\d{8,}")
# The first characters of encoded characters, placeholders and tags, and control characters.
_HIDES = re.compile(r"[%&{<\x00-\x1f\x7f]")
# Addresses of sites and of mailboxes, of which mail programs make links.
_LINK = re.compile(r"://|www\.|@|\w\.[^\W\d_]{2}", re.IGNORECASE)


def has_link(text: str) -> bool:
    """Whether a mail program would show the text with a link in it."""
    return _LINK.search("".join(map(_as_in_domains, text))) is not None


# Both are asked character by character: one may stand for 18 (U+FDFA), and is looked at once.
@lru_cache(maxsize=_MOST_KEPT)
def _as_in_domains(char: str) -> str:
    """The character as in an address, where emoji and vowel signs count as letters."""
    # Browsers read the full stops of Asian scripts in an address as points, too (UTS 46).
    plain = normal_form("NFKC", char).replace("\N{IDEOGRAPHIC FULL STOP}", ".")
    found = ((each, unicodedata.category(each)) for each in plain)
    return "".join("x" if kind == "So" else each for each, kind in found if kind[0] != "M")


def check_can_be_read(text: str) -> None:
    """Raise ValidationError for a text in which looking for links and codes would take seconds."""
    if len(text) > _MOST_READ or sum(map(len, map(_as_typed, text))) > 2 * _MOST_READ:
        raise ValidationError("El texto es demasiado largo.")
    if _NO_CHARACTER.search(text):
        raise ValidationError("Hay caracteres que no se pueden enviar.")


def check_words(text: str) -> None:
    """Raise ValidationError for a text that mail programs would show with a link in it.

    Whoever typed it could otherwise send links to anybody in the academy's name.
    """
    check_can_be_read(text)
    if has_link(text):
        raise ValidationError(
            "No puede llevar direcciones web ni de correo. Deja un espacio después de cada punto."
        )
    if not all(letter.isprintable() or letter == "\n" for letter in text):
        raise ValidationError("Hay caracteres que no se pueden enviar.")


def names_friend_code(text: str) -> bool:
    """Whether the text, or a link in it, shows a friend code.

    A placeholder may be empty, or stand for a part of the code. The owner of the code would be paid
    for each buyer whom the academy itself has sent.
    """
    if text.isascii() and not _HIDES.search(text):
        return _FRIEND_CODE.search(text.upper()) is not None
    for _ in range(_ENCODED_TIMES):
        text = unquote(unescape(_NO_CHARACTER.sub("", text)))
    shown = "".join(map(_as_typed, text)).upper()
    return any(
        _FRIEND_CODE.search(_PLACEHOLDER.sub(filled, each))
        for each in (shown, _TAG.sub("", shown))
        for filled in ("", _FILLED)
    )


@lru_cache(maxsize=_MOST_KEPT)
def _as_typed(char: str) -> str:
    """The character as a reader types it: nothing for unseen ones, "-" for each kind of dash."""
    found = ((each, unicodedata.category(each)) for each in normal_form("NFKC", char))
    # Browsers drop line breaks and tabs from an address, and show nothing for other control ones.
    return "".join(
        "-" if kind == "Pd" or each == "\N{MINUS SIGN}" else each
        for each, kind in found
        if kind not in ("Cc", "Cf", "Mn", "Me")
    )
