"""Finds links in plain text, as mail programs do, and friend codes."""

import re
import unicodedata
from urllib.parse import unquote

from django.core.exceptions import ValidationError

# The beginning of each friend code that the shop makes.
FRIEND_CODE = "AMIGO-"
FRIEND_CODE_REFUSED = (
    "No escribas el código de amigo de un alumno: cobraría por cada compra que llegue de aquí."
)

# Addresses of sites and of mailboxes, of which mail programs make links.
_LINK = re.compile(r"://|www\.|@|\w\.[^\W\d_]{2}", re.IGNORECASE)


def has_link(text: str) -> bool:
    """Whether a mail program would show the text with a link in it."""
    # Browsers read the full stops of Asian scripts in an address as points, too (UTS 46).
    plain = unicodedata.normalize("NFKC", text).replace("\N{IDEOGRAPHIC FULL STOP}", ".")
    return _LINK.search(plain) is not None


def names_friend_code(text: str) -> bool:
    """Whether the text, or a link in it, has a friend code.

    Its owner would be paid for each buyer whom the academy itself has sent.
    """
    return FRIEND_CODE in unquote(text).upper()


def refuse_friend_code(**texts: str) -> None:
    """Raise ValidationError for each of these fields of a form that has a friend code."""
    found = {name: FRIEND_CODE_REFUSED for name, text in texts.items() if names_friend_code(text)}
    if found:
        raise ValidationError(found)
