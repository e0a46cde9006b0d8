"""Pictures that staff upload: checked, bounded, and stored without anything but their pixels."""

import io
import struct
from datetime import timedelta
from threading import Thread
from time import sleep
from unittest.mock import Mock

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from PIL import Image

from apps.catalogue.models import University
from apps.core import public_pictures
from apps.core.models import DeletedRow
from apps.core.staff.recycle_bin import purge
from apps.pages import models as pages
from apps.pages.models import Institution, TeamMember
from tests.helpers.admin import admin_url
from tests.helpers.factories import make_university

pytestmark = pytest.mark.django_db


@pytest.fixture
def carla(client):
    client.force_login(get_user_model().objects.create_superuser("carla"))


def photo(size=(80, 60), kind="PNG", **options) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "teal").save(file, kind, **options)
    return file.getvalue()


def member(content: bytes, name: str = "lucia.png") -> TeamMember:
    return TeamMember(name="Lucía Martín", degree="ADE", photo=ContentFile(content, name))


def sizes(picture) -> list[tuple[int, int]]:
    """The sizes of the whole picture and of those for a place on a page, as stored."""
    paths = [
        picture.name,
        *(url.removeprefix("/imagenes/") for url in (picture.url_1x, picture.url_2x)),
    ]
    return [Image.open(picture.storage.open(path)).size for path in paths]


def stored(picture) -> list[str]:
    """The names of the stored files of an upload."""
    folder, _, name = picture.name.rpartition("/")
    files = picture.storage.listdir(folder)[1]
    return sorted(file for file in files if file.startswith(name.removesuffix(".webp")))


def test_teacher_photo_is_shown_and_cached(client):
    teacher = member(photo())
    teacher.full_clean()
    teacher.save()

    page = client.get("/nosotros").content.decode()
    assert f'src="{teacher.photo.url_1x}" srcset="{teacher.photo.url_2x} 2x"' in page
    assert 'alt="Lucía Martín"' in page
    answer = client.get(teacher.photo.url)
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/webp")
    assert "max-age" in answer["Cache-Control"]
    for outside in ("/imagenes/../db.sqlite3", "/imagenes/%2e%2e/db.sqlite3"):
        assert client.get(outside).status_code in (400, 404)


def test_stored_picture_has_no_metadata_and_no_hidden_bytes():
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


def test_large_picture_is_stored_smaller():
    teacher = member(photo((3000, 1000)))
    teacher.full_clean()
    teacher.save()

    assert sizes(teacher.photo) == [(1600, 533), (96, 96), (192, 192)]


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_photo_is_made_smaller_before_it_is_turned_upright(kind, monkeypatch):
    turned: list[int] = []
    turn = public_pictures.ImageOps.exif_transpose

    def record(picture: Image.Image) -> Image.Image:
        turned.append(max(picture.size))
        return turn(picture)

    monkeypatch.setattr(public_pictures.ImageOps, "exif_transpose", record)
    exif = Image.Exif()
    exif[0x0112] = 6  # The camera was held upright.
    teacher = member(photo((4000, 2000), kind=kind, exif=exif), f"lucia.{kind.lower()}")
    teacher.save()

    assert sizes(teacher.photo)[0] == (800, 1600)
    assert set(turned) == {public_pictures.STORED_SIDE}


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"<svg/>", "foto.png"),
        (b"<svg/>", "foto.svg"),
        (photo(), "foto.html"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "foto.png"),
        (photo()[:-30], "foto.png"),
        (photo((6001, 1)), "foto.png"),
    ],
    ids=["svg named png", "svg", "png named html", "broken", "cut off", "too many pixels"],
)
def test_file_that_is_no_usable_picture_is_refused(content, name):
    with pytest.raises(ValidationError) as refused:
        member(content, name).full_clean()
    (sentence,) = refused.value.messages
    assert "imagen" in sentence


@pytest.mark.parametrize("kind", ["JPEG", "MPO"])
def test_jpeg_with_a_thousand_scans_is_refused_before_it_is_decoded(kind):
    """Of an MPO, as phones write, Pillow opens the first of its pictures."""
    more = {"save_all": True, "append_images": [Image.new("RGB", (8, 8))]} if kind == "MPO" else {}
    honest = photo((600, 600), kind=kind, progressive=True, **more)
    end = honest.index(b"\xff\xd9")
    last_scan = honest[honest.rindex(b"\xff\xda", 0, end) : end]
    forged = honest[:end] + last_scan * 1_000 + honest[end:]
    assert Image.open(io.BytesIO(forged)).format == kind

    member(honest, "lucia.jpg").full_clean()
    with pytest.raises(ValidationError, match="no es una imagen"):
        member(forged, "lucia.jpg").full_clean()


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "JPEG"])
def test_megabytes_of_exif_are_not_read(kind, monkeypatch):
    """A picture of 16 pixels with 2.4 million fractions in its EXIF took 35 s to turn."""
    monkeypatch.setattr(public_pictures.ImageOps, "exif_transpose", None)
    exif = b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<HHHLLL", 1, 0x112, 3, 1, 6, 0)
    long = b"" if kind == "JPEG" else b"\0" * 70_000
    data = photo((16, 9), kind=kind, exif=exif + long)
    if kind == "JPEG":
        # A JPEG has parts of at most 64 KB, which Pillow puts together.
        part = b"\xff\xe1" + struct.pack(">H", 60_008) + b"Exif\0\0" + b"\0" * 60_000
        data = data[:2] + part + part + data[2:]
    member(data, f"lucia.{kind.lower()}").full_clean()


def test_picture_above_the_size_limit_is_refused(monkeypatch):
    monkeypatch.setattr(public_pictures, "MAX_MEGABYTES", 0)
    with pytest.raises(ValidationError, match="MB"):
        member(photo()).full_clean()


def test_logo_lies_whole_in_its_place_and_is_never_enlarged():
    wide = Institution.objects.create(name="Banco", logo=ContentFile(photo((2000, 100)), "b.png"))
    assert sizes(wide.logo) == [(1600, 80), (240, 12), (480, 24)]
    small = TeamMember.objects.create(name="Ana", photo=ContentFile(photo((30, 20)), "a.png"))
    assert sizes(small.photo) == [(30, 20), (20, 20), (20, 20)]


def test_every_place_shows_its_upload_with_its_alternative_text(client):
    file = ContentFile(photo(), "imagen.png")
    rows = [
        make_university(logo=file, alt_text="Un faro azul"),
        Institution.objects.create(name="Hospital", logo=file, alt_text="Una cruz verde"),
        pages.Testimonial.objects.create(
            name="Marta", text="Bien.", photo=file, alt_text="Marta ríe"
        ),
    ]
    page = client.get("/").content.decode()
    for row in rows:
        picture = row.photo if isinstance(row, pages.Testimonial) else row.logo
        assert f'src="{picture.url_1x}" srcset="{picture.url_2x} 2x" alt="{row.alt_text}"' in page
        for url in (picture.url, picture.url_1x, picture.url_2x):
            assert client.get(url).status_code == 200


def test_api_has_the_address_of_the_uploaded_logo_before_an_older_address(client):
    university = make_university(logo_url="/static/una.png")
    assert client.get("/api/universities").json()[0]["logo_url"] == "/static/una.png"
    university.logo = ContentFile(photo(), "una.png")
    university.save()
    assert client.get("/api/universities").json()[0]["logo_url"] == university.logo.url


@pytest.mark.usefixtures("carla")
def test_form_uploads_previews_keeps_replaces_and_removes_a_logo(
    client, django_capture_on_commit_callbacks
):
    university = make_university("Abierta", logo_url="/static/una.png")
    url = admin_url(University, "change", university.pk)
    assert 'name="logo_url"' not in client.get(url).text

    def send(**logo):
        typed = {
            "name": "Abierta", "acronym": "UNA", "status": "open", "students_offset": "0",
            "alt_text": "", "degrees-TOTAL_FORMS": "0", "degrees-INITIAL_FORMS": "0",
        }  # fmt: skip
        with django_capture_on_commit_callbacks(execute=True):
            answer = client.post(url, {**typed, **logo})
        assert answer.status_code == 302
        return University.objects.get().logo

    first = send(logo=SimpleUploadedFile("una.png", photo()))
    page = client.get(url).text
    assert f'<img class="picture-preview" src="{first.url_1x}"' in page
    assert "Quitar</label>" in page
    assert first.url_1x in client.get(admin_url(University, "changelist")).text
    # A file that somebody removed from the folder breaks no other change.
    first.storage.delete(first.name)
    assert send().name == first.name

    second = send(logo=SimpleUploadedFile("una.png", photo()))
    assert second.name != first.name
    assert stored(first) == []
    assert len(stored(second)) == 3
    assert not send(**{"logo-clear": "on"})
    assert stored(second) == []


@pytest.mark.usefixtures("carla")
def test_upload_that_is_no_picture_is_refused_with_a_sentence(client):
    answer = client.post(
        admin_url(pages.Testimonial, "add"),
        {"text": "Bien.", "name": "Marta", "degree": "ADE", "position": "0", "alt_text": "",
         "photo": SimpleUploadedFile("m.png", b"<svg/>")},
    )  # fmt: skip
    assert public_pictures.NOT_A_PICTURE in answer.text
    assert not pages.Testimonial.objects.exists()


@pytest.mark.usefixtures("carla")
def test_deleted_row_keeps_its_photo_until_it_leaves_the_bin(
    client, django_capture_on_commit_callbacks
):
    teacher = member(photo())
    teacher.save()

    def delete() -> None:
        with django_capture_on_commit_callbacks(execute=True):
            client.post(admin_url(TeamMember, "delete", teacher.pk), {"post": "yes"})

    delete()
    assert len(stored(teacher.photo)) == 3
    ticked = {"action": "restore", "_selected_action": [DeletedRow.objects.get().pk]}
    with django_capture_on_commit_callbacks(execute=True):
        client.post(admin_url(DeletedRow, "changelist"), ticked)
    assert TeamMember.objects.get().photo == teacher.photo
    assert len(stored(teacher.photo)) == 3

    delete()
    with django_capture_on_commit_callbacks(execute=True):
        purge(timezone.now() + timedelta(days=31))
    assert stored(teacher.photo) == []


@pytest.mark.usefixtures("carla")
def test_replaced_photo_reads_no_other_rows_of_the_bin(
    client, django_capture_on_commit_callbacks, monkeypatch
):
    """Two thousand rows with many links were 1.6 GB in a web process."""
    for _ in range(3):
        teacher = member(photo())
        teacher.save()
        client.post(admin_url(TeamMember, "delete", teacher.pk), {"post": "yes"})
    assert DeletedRow.objects.count() == 3
    read = Mock(wraps=public_pictures._pictures_in)
    monkeypatch.setattr(public_pictures, "_pictures_in", read)
    teacher = member(photo())
    teacher.save()
    before = teacher.photo
    with django_capture_on_commit_callbacks(execute=True):
        teacher.photo = member(photo()).photo
        teacher.save()
    assert stored(before) == []
    assert not read.called


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("name", ["lucía.png", "学生.png", "50%_a'b.png"])
def test_photo_of_any_name_stays_while_its_row_is_in_the_bin(
    client, django_capture_on_commit_callbacks, name
):
    teacher = member(photo(), name)
    teacher.save()
    with django_capture_on_commit_callbacks(execute=True):
        client.post(admin_url(TeamMember, "delete", teacher.pk), {"post": "yes"})
    assert len(stored(teacher.photo)) == 3


def test_erased_row_takes_its_photo_along(django_capture_on_commit_callbacks):
    teacher = member(photo())
    teacher.save()
    picture = teacher.photo
    assert len(stored(picture)) == 3
    with django_capture_on_commit_callbacks(execute=True):
        TeamMember.objects.all().delete()
    assert stored(picture) == []


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_picture_that_takes_hundreds_of_megabytes_to_decode_is_refused(kind):
    wide, high = 4100, 4000
    assert wide * high > public_pictures.MAX_PIXELS

    with pytest.raises(ValidationError, match="16 millones de píxeles"):
        member(photo((wide, high), kind), f"lucia.{kind.lower()}").full_clean()
    member(photo((wide, high), "JPEG"), "lucia.jpg").full_clean()


def test_pictures_are_decoded_one_at_a_time(monkeypatch):
    """The bitmaps of sixteen threads would fill the memory of the server."""
    decode, busy, together = Image.Image.thumbnail, [], []

    def counted(picture, size):
        busy.append(picture)
        together.append(len(busy))
        sleep(0.01)
        decode(picture, size)
        busy.remove(picture)

    monkeypatch.setattr(Image.Image, "thumbnail", counted)
    content = photo()
    threads = [
        Thread(target=public_pictures._pixels, args=(io.BytesIO(content),)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert together == [1, 1, 1, 1]


def test_picture_is_refused_while_the_disk_is_nearly_full(monkeypatch):
    monkeypatch.setattr(public_pictures, "full_folders", lambda: ["pictures"])
    with pytest.raises(ValidationError, match="Ahora mismo no podemos guardar archivos"):
        member(photo()).full_clean()
