"""Normal forms of Unicode texts, at a cost that grows with the text and not with its square."""

import unicodedata
from collections.abc import Iterator
from typing import Literal

# No language writes more marks on one letter (Unicode Standard Annex 15, "Stream-Safe").
MOST_MARKS = 30
# All shorter texts take less than a millisecond.
_SHORT = 500


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """The text in a normal form, without the marks after the thirtieth on one letter.

    `unicodedata.normalize` alone puts the marks of a letter in order one by one, while no other
    thread runs: 60,000 of them take 17 seconds.
    """
    if len(text) > _SHORT and not text.isascii():
        text = "".join(_without_heaps(text))
    return unicodedata.normalize(form, text)  # noqa: TID251


def _without_heaps(text: str) -> Iterator[str]:
    marks = 0
    for char in text:
        # Some letters, such as U+FF9E, become marks.
        parts = unicodedata.normalize("NFKD", char)  # noqa: TID251
        marks = marks + len(parts) if unicodedata.combining(parts[0]) else 0
        if marks <= MOST_MARKS:
            yield char
