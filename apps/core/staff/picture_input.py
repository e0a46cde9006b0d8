"""How the admin shows an uploaded picture: above its file field, and in lists."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.widgets import AdminFileWidget
from django.db.models import Model
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.public_pictures import EXTENSIONS, PictureFile

NO_PICTURE = "–"


class PictureInput(AdminFileWidget):
    """A file field below the stored picture."""

    clear_checkbox_label = "Quitar"
    initial_text = "Ahora"
    input_text = "Cambiar"

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        accept = ",".join(f".{extension}" for extension in EXTENSIONS)
        super().__init__({"accept": accept, **(attrs or {})})

    def render(self, name: str, value: Any, *args: Any, **kwargs: Any) -> SafeString:
        field = super().render(name, value, *args, **kwargs)
        # A form that is shown again after an error holds the new file, which is not stored yet.
        if not isinstance(value, PictureFile) or not value.name:
            return field
        return format_html("{}{}", _image(value, "picture-preview"), field)


def _image(picture: PictureFile, css_class: str) -> SafeString:
    width, height = picture.field.box
    return format_html(
        '<img class="{}" src="{}" srcset="{} 2x" alt="" width="{}" height="{}">',
        css_class, picture.url_1x, picture.url_2x, width, height,
    )  # fmt: skip


def picture_column(field: str, label: str) -> Callable[[Model], str]:
    """A list column that shows the picture of each row."""

    @admin.display(description=label)
    def shown(row: Model) -> str:
        picture: PictureFile = getattr(row, field)
        return _image(picture, "picture-small") if picture else NO_PICTURE

    # Django names the column's CSS class after the function.
    shown.__name__ = field
    return shown
