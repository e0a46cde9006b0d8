"""Pictures that staff upload: checked, bounded, and stored without anything but their pixels."""

import io

import pytest
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.test import Client
from PIL import Image

from apps.pages import pictures
from apps.pages.models import TeamMember

pytestmark = pytest.mark.django_db


def photo(size=(80, 60), kind="PNG", **options) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "teal").save(file, kind, **options)
    return file.getvalue()


def member(content: bytes, name: str = "lucia.png") -> TeamMember:
    return TeamMember(name="Lucía Martín", degree="ADE", photo=ContentFile(content, name))


def test_teacher_photo_is_shown_and_cached(client: Client) -> None:
    teacher = member(photo())
    teacher.full_clean()
    teacher.save()

    assert f'src="{teacher.photo.url}"' in client.get("/nosotros").content.decode()
    answer = client.get(teacher.photo.url)
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/webp")
    assert "max-age" in answer["Cache-Control"]
    for outside in ("/imagenes/../db.sqlite3", "/imagenes/%2e%2e/db.sqlite3"):
        assert client.get(outside).status_code in (400, 404)


def test_stored_picture_has_no_metadata_and_no_hidden_bytes() -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    teacher = member(photo(kind="JPEG", exif=exif) + b"<script>hidden</script>", "lucia.jpg")
    teacher.full_clean()
    teacher.save()

    stored = teacher.photo.read()
    assert teacher.photo.name.endswith(".webp")
    assert b"taken at home" not in stored
    assert b"hidden" not in stored
    assert not Image.open(io.BytesIO(stored)).getexif()


def test_large_picture_is_stored_smaller() -> None:
    teacher = member(photo((3000, 1000)))
    teacher.full_clean()
    teacher.save()

    assert Image.open(teacher.photo).size == (1600, 533)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"<svg/>", "foto.png"),
        (b"<svg/>", "foto.svg"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "foto.png"),
        (photo()[:-30], "foto.png"),
        (photo((6001, 1)), "foto.png"),
    ],
    ids=["svg named png", "svg", "broken", "cut off", "too many pixels"],
)
def test_file_that_is_no_usable_picture_is_refused(content: bytes, name: str) -> None:
    with pytest.raises(ValidationError, match=r"imagen|extensión"):
        member(content, name).full_clean()


def test_picture_above_the_size_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_MEGABYTES", 0)
    with pytest.raises(ValidationError, match="MB"):
        member(photo()).full_clean()
