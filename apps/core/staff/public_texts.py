"""Keeps friend codes and control characters out of what staff write for visitors and customers.

Whoever puts the code of a student into a page would be paid for the academy's own buyers. A control
character is not seen on a page, and makes a record for the tax agency no XML.
"""

import re
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import BaseValidator, MaxLengthValidator
from django.db.models import CharField, Field, TextField
from django.http import HttpRequest

from apps.core.text_links import (
    FRIEND_CODE_REFUSED,
    check_can_be_read,
    check_words,
    names_friend_code,
)

if TYPE_CHECKING:
    from django.contrib.admin.options import BaseModelAdmin

    _Page = BaseModelAdmin[Any]
else:
    _Page = object

# The apps whose rows visitors read.
PUBLIC_APPS = frozenset({"catalogue", "pages", "pricing"})
# Of a text whose field has no limit. A home page of many megabytes would hold a process.
LONGEST_TEXT = 4_000
# Each line of a text becomes an element of a page.
MOST_LINES = 100
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_LINE_END = re.compile("[\t\n\r\u2028\u2029]")


class PublicTexts(_Page):
    """Mixin of a page or of inline rows of the admin."""

    # Whether visitors read its texts. None: if its app is one of these.
    has_public_texts: bool | None = None
    # None: its form checks that itself.
    longest_public_text: int | None = LONGEST_TEXT
    # A placeholder may stand for many names.
    most_placeholders = 5

    def formfield_for_dbfield(
        self, db_field: "Field[Any, Any]", request: HttpRequest | None, **kwargs: Any
    ) -> Any:
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[arg-type]
        is_public = self.has_public_texts
        if is_public is None:
            is_public = self.opts.app_label in PUBLIC_APPS
        if is_public and isinstance(field, forms.CharField):
            placeholders = _PlaceholderLimit(self.most_placeholders)
            field.validators = [*field.validators, check_public_text, placeholders]
            if isinstance(db_field, CharField):
                field.validators.append(check_one_line)
            longest = self.longest_public_text
            if isinstance(db_field, TextField) and longest:
                field.validators.append(check_lines)
                if not db_field.max_length:
                    field.validators.append(MaxLengthValidator(longest))
        return field


def check_public_text(value: object) -> None:
    """Raise ValidationError for a text with a friend code, or with what visitors don't see."""
    if not isinstance(value, str):
        return
    check_can_be_read(value)
    if names_friend_code(value):
        raise ValidationError(FRIEND_CODE_REFUSED)
    if _CONTROL.search(value):
        raise ValidationError(
            "Tiene un carácter que no se ve, quizá de otro programa: bórralo y escríbelo otra vez."
        )


class _PlaceholderLimit(BaseValidator):
    message = "Tiene demasiados huecos «{{ }}»: caben %(limit_value)s."

    def compare(self, count: int, most: int) -> bool:
        return count > most

    def clean(self, text: str) -> int:
        return text.count("{{")


def check_lines(value: object) -> None:
    """Raise ValidationError for a text of so many lines that its page would be slow."""
    if isinstance(value, str) and len(value.splitlines()) > MOST_LINES:
        raise ValidationError(f"Tiene demasiadas líneas: caben {MOST_LINES}.")


def check_one_line(value: object) -> None:
    """Raise ValidationError for a name or title with a line break or a tab."""
    if isinstance(value, str) and _LINE_END.search(value):
        raise ValidationError("Escríbelo en una sola línea, sin tabuladores.")


def check_name(value: object) -> None:
    """Raise ValidationError for a person's name with a link or a friend code.

    Mails call the customer by it.
    """
    if isinstance(value, str):
        check_words(value)
        check_public_text(value)
