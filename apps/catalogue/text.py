"""Spanish names as strings that compare and match bytewise, the same on every database."""

import unicodedata

# ñ is a letter of its own, after n: "n" followed by the highest plain character keeps it there.
_ENYE = "n\x7f"


def _plain(text: str) -> str:
    """Lower case without accents; ñ is kept as one composed character."""
    composed = unicodedata.normalize("NFC", text.casefold())
    return "ñ".join(_without_marks(part) for part in composed.split("ñ"))


def _without_marks(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def sort_form(text: str) -> str:
    """The form that sorts in Spanish collation: accents ignored, ñ after n."""
    return " ".join(_plain(text).split()).replace("ñ", _ENYE)[:200]


def search_form(text: str) -> str:
    """The form that is searched: no accents, no capitals; "n" finds "ñ", as people type it."""
    return " ".join(_plain(text).replace("ñ", "n").split())[:200]
