"""Pictures that staff upload for the public pages (docs/rules.md, "Public pictures")."""

import io
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage
from django.core.validators import FileExtensionValidator
from django.db import models
from django.db.models.fields.files import FieldFile
from PIL import Image, ImageOps

EXTENSIONS = ["jpeg", "jpg", "png", "webp"]
FORMATS = ("JPEG", "PNG", "WEBP")
MAX_MEGABYTES = 5
# A picture of few bytes can have so many pixels that decoding it fills the memory.
MAX_SIDE = 6000
# The longest side as stored, in pixels: twice what the widest page shows.
STORED_SIDE = 1600
NOT_A_PICTURE = "El archivo no es una imagen JPG, PNG o WebP."


def picture_storage() -> FileSystemStorage:
    """The folder of public pictures, separate from the private attachments of visitors."""
    return FileSystemStorage(location=settings.VAR_DIR / "pictures", base_url="/imagenes/")


def check_picture(file: FieldFile) -> None:
    """Refuse a file that is too large, has too many pixels, or is no picture. SVG is refused."""
    if file.size > MAX_MEGABYTES * 1024 * 1024:
        raise ValidationError(f"La imagen no puede superar los {MAX_MEGABYTES} MB.")
    file.open()
    encoded_again(file)
    file.seek(0)


def _opened(file: Any) -> Image.Image:
    """The picture of a file, with its pixels not decoded yet. Raises ValidationError."""
    file.seek(0)
    try:
        picture: Image.Image = Image.open(file, formats=FORMATS)
    # Pillow raises many kinds of errors for broken files, and warns of too many pixels.
    except Exception as error:
        raise ValidationError(NOT_A_PICTURE) from error
    if max(picture.size) > MAX_SIDE:
        raise ValidationError(f"La imagen no puede tener más de {MAX_SIDE} píxeles de lado.")
    return picture


def encoded_again(file: Any) -> bytes:
    """The picture as a WebP file of at most STORED_SIDE pixels. Raises ValidationError.

    Only pixels are kept: metadata such as the place of a photo, and bytes hidden in the file, go.
    """
    picture = _opened(file)
    try:
        upright = ImageOps.exif_transpose(picture)
        upright.thumbnail((STORED_SIDE, STORED_SIDE))
        pixels = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    except Exception as error:
        raise ValidationError(NOT_A_PICTURE) from error
    pixels.info.clear()
    result = io.BytesIO()
    pixels.save(result, "WEBP", quality=85)
    return result.getvalue()


class PictureFile(FieldFile):
    def save(self, name: str, content: "File[Any]", save: bool = True) -> None:
        """Store the picture encoded again, under the same name with `.webp`."""
        super().save(
            str(PurePath(name).with_suffix(".webp")), ContentFile(encoded_again(content)), save
        )


class PictureField(models.FileField):
    """A picture of the public pages: checked when a form is validated, encoded again when saved."""

    attr_class = PictureFile
    default_validators = [FileExtensionValidator(EXTENSIONS), check_picture]

    def __init__(self, verbose_name: str | None = None, name: str | None = None, **options: Any):
        super().__init__(verbose_name, name, **{"storage": picture_storage, **options})
