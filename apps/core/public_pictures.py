"""Pictures that staff upload for the public pages (docs/rules.md, "Public pictures")."""

import io
from functools import partial
from pathlib import PurePath
from threading import Lock
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage, storages
from django.db import models, transaction
from django.db.models.fields.files import FieldFile
from django.db.models.signals import post_delete
from django.utils.crypto import get_random_string
from PIL import Image, ImageOps

from apps.core.errors import StorageFull
from apps.core.models import DeletedRow
from apps.core.monitoring.disk_space import full_folders
from apps.core.storage.file_storage import PICTURES

EXTENSIONS = ["jpeg", "jpg", "png", "webp"]
FORMATS = ("JPEG", "PNG", "WEBP")
MAX_MEGABYTES = 5
# A picture of few bytes can have so many pixels that decoding it fills the memory. A JPEG is made
# smaller while it is decoded; the others take up to 16 bytes for each pixel.
MAX_SIDE = 6000
MAX_PIXELS = 16_000_000
# One picture is decoded at a time in a process.
_DECODING = Lock()
# The longest side of the whole picture as stored, in pixels.
STORED_SIDE = 1600
# Stored sizes, as multiples of the place that a page has for the picture: screens with one pixel
# for each CSS pixel, and those with two or more.
SCALES = (1, 2)
# A progressive JPEG is decoded once for each of its scans: cameras and programs write about 10, and
# a forged file of 5 MB could have 80,000 of 60 bytes, which take half an hour.
MAX_SCANS = 50
# The bytes of EXIF that cameras write, which a part of a JPEG holds at most. Pillow reads all of it
# to turn a picture: 4.7 MB of fractions took 35 s.
MOST_EXIF = 65_536
_SCAN = b"\xff\xda"
LONGEST_STEM = 40
NOT_A_PICTURE = "El archivo no es una imagen JPG, PNG o WebP."


def picture_storage() -> Storage:
    """The storage of public pictures, separate from the private attachments of visitors."""
    return storages[PICTURES]


def check_picture(file: FieldFile) -> None:
    """Refuse a file that is too large, has too many pixels, or is no picture. SVG is refused.

    Its name must end as a picture's, too, because the server tells the type by it.
    """
    # A stored picture was checked when it was uploaded. Its file may be missing by now.
    if getattr(file, "_committed", False):
        return
    if file.size > MAX_MEGABYTES * 1024 * 1024:
        raise ValidationError(f"La imagen no puede superar los {MAX_MEGABYTES} MB.")
    if PurePath(str(file.name)).suffix.lower().removeprefix(".") not in EXTENSIONS:
        raise ValidationError(NOT_A_PICTURE)
    if {"pictures", "temporary"} & set(full_folders()):
        raise ValidationError(StorageFull.message)
    file.open()
    _pixels(file)
    file.seek(0)


def _opened(file: Any) -> Image.Image:
    """The picture of a file, with its pixels not decoded yet. Raises ValidationError."""
    file.seek(0)
    try:
        picture: Image.Image = Image.open(file, formats=FORMATS)
    # Pillow raises many kinds of errors for broken files, and warns of too many pixels.
    except Exception as error:
        raise ValidationError(NOT_A_PICTURE) from error
    file.seek(0)
    # In the compressed data of a JPEG the byte 255 is always followed by 0: it has no such pair.
    # Pillow calls a JPEG with further pictures behind it "MPO". By chance a phone's video behind
    # these has one in 65,536 bytes.
    scans = {"JPEG": MAX_SCANS, "MPO": 3 * MAX_SCANS}.get(picture.format or "")
    if scans is not None and file.read().count(_SCAN) > scans:
        raise ValidationError(NOT_A_PICTURE)
    if max(picture.size) > MAX_SIDE:
        raise ValidationError(f"La imagen no puede tener más de {MAX_SIDE} píxeles de lado.")
    if picture.format != "JPEG" and picture.width * picture.height > MAX_PIXELS:
        most = f"{MAX_PIXELS // 10**6} millones de píxeles"
        raise ValidationError(f"Una imagen PNG o WebP puede tener como mucho {most}.")
    return picture


def _pixels(file: Any) -> Image.Image:
    """The decoded picture, upright and of at most STORED_SIDE pixels. Raises ValidationError.

    Only pixels are kept: metadata such as the place of a photo, and bytes hidden in the file, go.
    """
    picture = _opened(file)
    try:
        # Made smaller before it is turned. Pillow decodes a JPEG at a fraction of its size.
        with _DECODING:
            picture.thumbnail((STORED_SIDE, STORED_SIDE))
            upright = _upright(picture)
        pixels = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    except Exception as error:
        raise ValidationError(NOT_A_PICTURE) from error
    pixels.info.clear()
    return pixels


def _upright(picture: Image.Image) -> Image.Image:
    """The decoded picture, turned as its EXIF says."""
    exif = picture.info.get("exif") or picture.info.get("Raw profile type exif") or b""
    return picture if len(exif) > MOST_EXIF else ImageOps.exif_transpose(picture)


def _webp(picture: Image.Image) -> "ContentFile[bytes]":
    result = io.BytesIO()
    picture.save(result, "WEBP", quality=85)
    return ContentFile(result.getvalue())


def _fitted(picture: Image.Image, box: tuple[int, int], *, crop: bool) -> Image.Image:
    """The picture made smaller for a place of this size: cut to its shape, or whole inside it."""
    if not crop:
        whole = picture.copy()
        whole.thumbnail(box)
        return whole
    scale = min(1, picture.width / box[0], picture.height / box[1])
    return ImageOps.fit(picture, (max(1, int(box[0] * scale)), max(1, int(box[1] * scale))))


class PictureFile(FieldFile):
    field: "PictureField"
    name: str | None

    def save(self, name: str, content: "File[Any]", save: bool = True) -> None:
        """Store the picture as WebP in all its sizes.

        The random part gives each upload an address of its own, because browsers keep pictures.
        """
        picture = _pixels(content)
        stem = PurePath(name).stem[:LONGEST_STEM]
        unique = get_random_string(10, "abcdefghijkmnpqrstuvwxyz23456789")
        super().save(f"{stem}-{unique}.webp", _webp(picture), save=False)
        self._save_sizes(picture)
        if save:
            self.instance.save()

    def delete(self, save: bool = True) -> None:
        if self:
            for scale in SCALES:
                self.storage.delete(self._size_name(scale))
        super().delete(save)

    def _save_sizes(self, picture: Image.Image) -> None:
        for scale in SCALES:
            width, height = self.field.box
            fitted = _fitted(picture, (width * scale, height * scale), crop=self.field.crop)
            name = self._size_name(scale)
            self.storage.delete(name)
            self.storage.save(name, _webp(fitted))

    def _size_name(self, scale: int) -> str:
        path = PurePath(str(self.name))
        return str(path.with_name(f"{path.stem}-{scale}x.webp"))

    @property
    def url_1x(self) -> str:
        return str(self.storage.url(self._size_name(1)))

    @property
    def url_2x(self) -> str:
        return str(self.storage.url(self._size_name(2)))


class PictureField(models.FileField):
    """A picture of the public pages: checked when a form is validated, encoded again when saved.

    `box` is the place on the page in CSS pixels. The picture is stored whole, and in the sizes of
    that place. With `crop` it fills the place; otherwise it lies whole inside it.
    """

    attr_class = PictureFile
    default_validators = [check_picture]

    def __init__(
        self,
        verbose_name: str | None = None,
        name: str | None = None,
        *,
        box: tuple[int, int] = (96, 96),
        crop: bool = False,
        **options: Any,
    ):
        self.box = box
        self.crop = crop
        super().__init__(verbose_name, name, **{"storage": picture_storage, **options})

    def deconstruct(self) -> Any:
        name, path, arguments, options = super().deconstruct()
        return name, path, arguments, {**options, "box": self.box, "crop": self.crop}

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        """Store a new picture. The file that it replaces is deleted once the row is saved."""
        before = None
        if not add and model_instance.pk is not None:
            rows = type(model_instance)._base_manager.filter(pk=model_instance.pk)
            before = rows.values_list(self.attname, flat=True).first()
        file = super().pre_save(model_instance, add)
        if before and before != file.name:
            _delete_after_commit(self, before, model_instance.pk)
        return file


class HasPicture(models.Model):
    """A row with a picture and the text for those who do not see it."""

    alt_text = models.CharField(
        "texto alternativo",
        max_length=160,
        blank=True,
        default="",
        db_default="",
        help_text="Lo que dice la imagen a quien no la ve. Vacío: el nombre.",
    )
    name: Any

    class Meta:
        abstract = True

    @property
    def picture_alt(self) -> str:
        return self.alt_text or str(self.name)


def _picture_fields(model: type[models.Model]) -> list[PictureField]:
    return [field for field in model._meta.concrete_fields if isinstance(field, PictureField)]


def _delete_after_commit(field: PictureField, name: str, pk: Any) -> None:
    transaction.on_commit(partial(_delete_unused, field, name, pk), robust=True)


def _delete_unused(field: PictureField, name: str, pk: Any) -> None:
    """Delete a picture with its sizes, unless a row has it or can bring it back from the bin.

    `pk` is the number of the row that had it. Only that row's own copies in the bin can name it.
    """
    model = field.model
    if model._base_manager.filter(**{field.attname: name}).exists():
        return
    copies = DeletedRow.objects.filter(about=model._meta.label_lower, object_id=str(pk))
    if any((field, name, pk) in _pictures_in(row) for row in copies.iterator(10)):
        return
    row = model()
    setattr(row, field.attname, name)
    getattr(row, field.attname).delete(save=False)


def _pictures_in(deleted: DeletedRow) -> list[tuple[PictureField, str, Any]]:
    """The pictures of a row in the bin, and of the rows that were deleted with it.

    Each is its field, its name and the number of the row that had it.
    """
    found = []
    for stored in deleted.data:
        try:
            fields = _picture_fields(apps.get_model(stored["model"]))
        except LookupError:
            continue
        values = stored["fields"]
        named = [(field, values.get(field.name)) for field in fields]
        found += [(field, name, stored["pk"]) for field, name in named if name]
    return found


def _row_deleted(sender: type[models.Model], instance: models.Model, **kwargs: Any) -> None:
    for field in _picture_fields(sender):
        if name := field.value_from_object(instance).name:
            _delete_after_commit(field, name, instance.pk)


def _bin_row_deleted(sender: Any, instance: DeletedRow, **kwargs: Any) -> None:
    for field, name, pk in _pictures_in(instance):
        _delete_after_commit(field, name, pk)


def register() -> None:
    """Delete the files of deleted rows: at once, or when the row leaves the bin."""
    for model in apps.get_models():
        if _picture_fields(model):
            post_delete.connect(_row_deleted, sender=model)
    post_delete.connect(_bin_row_deleted, sender=DeletedRow)
