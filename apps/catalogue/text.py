"""Forms of Spanish names that every database sorts and searches alike, byte by byte."""

import unicodedata

from apps.core.normal_form import normal_form

# In Spanish ñ is a letter after n. "n" plus the highest ASCII character sorts there.
_ENYE = "n\x7f"


def _plain(text: str) -> str:
    """Return lower case without accents. ñ stays, as one composed character."""
    composed = normal_form("NFC", text.casefold())
    return "ñ".join(_without_marks(part) for part in composed.split("ñ"))


def _without_marks(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in normal_form("NFD", text) if not unicodedata.combining(c))


def sort_form(text: str) -> str:
    """Return the form for sorting: accents ignored, ñ after n."""
    return " ".join(_plain(text).split()).replace("ñ", _ENYE)[:200]


def search_form(text: str) -> str:
    """Return the form for searching: no accents or capitals, and "n" also finds "ñ"."""
    return " ".join(_plain(text).replace("ñ", "n").split())[:200]


def searched_from_sorted(name_sort: str) -> str:
    """Return the form for searching of a name that is stored in its form for sorting."""
    return name_sort.replace(_ENYE, "n")
