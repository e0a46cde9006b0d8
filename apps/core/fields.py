"""Fields of API input that several apps use."""

import unicodedata
from typing import Any

from rest_framework import serializers

# Letters by their category that are drawn as nothing: Hangul fillers and an empty Braille cell.
_BLANK_LETTERS = "\u115f\u1160\u3164\uffa0\u2800"


class VisibleCharField(serializers.CharField):
    """A text that is empty if nothing of it can be seen, such as one of zero-width spaces."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("help_text", "Un texto en el que se vea algo.")
        super().__init__(**options)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not any(map(_is_visible, data)):
            data = ""
        return super().run_validation(data)


def _is_visible(letter: str) -> bool:
    # Separators, and control, format and other characters without a form.
    return unicodedata.category(letter)[0] not in "ZC" and letter not in _BLANK_LETTERS
