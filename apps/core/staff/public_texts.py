"""Keeps friend codes out of the texts that staff write for visitors.

Whoever puts the code of a student into a page would be paid for the academy's own buyers.
"""

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Field
from django.http import HttpRequest

from apps.core.text_links import FRIEND_CODE_REFUSED, names_friend_code

if TYPE_CHECKING:
    from django.contrib.admin.options import BaseModelAdmin

    _Page = BaseModelAdmin[Any]
else:
    _Page = object

# The apps whose rows visitors read.
PUBLIC_APPS = frozenset({"catalogue", "pages", "pricing"})


class PublicTexts(_Page):
    """Mixin of a page or of inline rows of the admin."""

    # Whether visitors read its texts. None: if its app is one of these.
    has_public_texts: bool | None = None

    def formfield_for_dbfield(
        self, db_field: "Field[Any, Any]", request: HttpRequest | None, **kwargs: Any
    ) -> Any:
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[arg-type]
        is_public = self.has_public_texts
        if is_public is None:
            is_public = self.opts.app_label in PUBLIC_APPS
        if is_public and isinstance(field, forms.CharField):
            field.validators = [*field.validators, check_public_text]
        return field


def check_public_text(value: object) -> None:
    """Raise ValidationError for a text with a friend code."""
    if isinstance(value, str) and names_friend_code(value):
        raise ValidationError(FRIEND_CODE_REFUSED)
