"""The file of the preview contact: accepted types, storage and download."""

import io
import re
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.core.models import Mail, StaffAction
from apps.core.staff import admin_log
from apps.core.web.throttle import Limit
from apps.leads import attachments, services
from apps.leads.models import Attachment, Lead
from apps.leads.tests.payloads import PDF, VISITOR, preview

pytestmark = pytest.mark.django_db

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF"
TYPE_REFUSED = "Solo se admiten archivos PDF, DOC, DOCX, TXT, JPG, JPEG o PNG"
CONTENT_REFUSED = "El contenido del archivo no corresponde a su extensión"


def archive(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        for name in names:
            zipped.writestr(name, "<x/>")
    return file.getvalue()


# Not a parameter of the test: a zip contains its creation time, so the test's id would differ in
# each worker.
def named(value):
    return value if isinstance(value, str) else f"{len(value)} bytes"


DOCX = archive("[Content_Types].xml", "word/document.xml")


@pytest.mark.parametrize("parts", [12, 1_000])
def test_form_of_many_parts_is_refused_before_their_headers_are_read(parts, monkeypatch):
    """A part's header of 930 semicolons takes Django 4 ms, and 10 MB have 10,000 of them."""
    read = []
    monkeypatch.setattr(
        "django.http.multipartparser.parse_boundary_stream",
        lambda *args: read.append(args) or (None, {}, None),
    )
    part = b"--bound\r\nContent-Disposition: form-data; " + b";" * 900 + b"\r\n\r\n\r\n"
    body = part * parts + b"--bound--\r\n"
    kind = "multipart/form-data; boundary=bound"
    answer = Client().generic("POST", "/api/send-preview-contact", body, kind)
    assert (answer.status_code, answer.json()["code"], read) == (400, "invalid", [])


def test_directory_of_a_forged_zip_is_not_read():
    """zipfile made an object of each of 228,000 entries, in 1.5 seconds."""
    mark, directory = b"PK\5\6", bytes(100_000)
    short = struct.pack("<HHHHLL", 0, 0, 0, 0, 0, 0)
    ends = (
        # A second mark in the numbers of disks would move all that follows by four bytes.
        mark + mark + struct.pack("<HHLLH", 0, 0, 100_000, 0, 0),
        # zipfile looks for a record before a comment, and a bit further back than this check did.
        mark + short + struct.pack("<H", 65_535) + bytes(65_535),
        # The record of a file of more than 4 GB names another directory.
        b"PK\6\7" + bytes(16) + mark + short + bytes(2),
    )
    for end in ends:
        assert not attachments._has_short_directory(io.BytesIO(directory + end))
    assert attachments._has_short_directory(io.BytesIO(DOCX))


@pytest.fixture(autouse=True)
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return tmp_path


def upload(body, **headers):
    answer = Client(raise_request_exception=False).post(
        "/api/send-preview-contact", body, **headers
    )
    return answer.status_code, answer.json()


def kept(var_dir):
    return sorted(path for path in var_dir.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pec.pdf", PDF),
        ("PEC.PDF", PDF),
        ("pec.doc", OLE),
        ("pec.docx", DOCX),
        ("pec.txt", "Apuntes: ñ, ü y €\n".encode()),
        ("foto.jpg", JPEG),
        ("foto.jpeg", JPEG),
        ("foto.png", PNG),
    ],
    ids=named,
)
def test_each_allowed_type_is_stored_unchanged(var_dir, name, content):
    assert upload(preview(name, content)) == (200, {"success": True})

    attachment = Attachment.objects.get()
    assert (attachment.original_name, attachment.size) == (name, len(content))
    assert attachment.lead.kind == "preview"
    assert attachment.lead.email == VISITOR
    assert [row.wording for row in attachment.lead.consents.all()] == [
        "Acepto los términos y condiciones"
    ]
    (path,) = kept(var_dir)
    assert path == var_dir / "private" / "leads" / attachment.stored_name
    assert path.read_bytes() == content
    assert re.fullmatch("[0-9a-f]{32}", attachment.stored_name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_staff_mail_names_the_file_without_attaching_it(work, mailoutbox):
    upload(preview("Mi <PEC>.pdf"))
    work()

    (mail,) = mailoutbox
    assert mail.to == ["equipo@academia.example"]
    assert mail.reply_to == [VISITOR]
    assert "Mi <PEC>.pdf" in mail.body
    assert "Mi &lt;PEC&gt;.pdf" in mail.alternatives[0][0]
    assert not mail.attachments


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("virus.exe", b"MZ\x90\x00", TYPE_REFUSED),
        ("pec", PDF, TYPE_REFUSED),
        (".pdf", PDF, TYPE_REFUSED),
        ("pec.pdf.html", PDF, TYPE_REFUSED),
        ("pagina.svg", b"<svg onload=alert(1)>", TYPE_REFUSED),
        ("pec.docm", DOCX, TYPE_REFUSED),
        ("pec.pdf", b"MZ\x90\x00", CONTENT_REFUSED),
        ("pec.pdf", b"<html>%PDF-", CONTENT_REFUSED),
        ("pec.doc", PDF, CONTENT_REFUSED),
        ("pec.docx", OLE, CONTENT_REFUSED),
        ("pec.docx", archive("word/document.xml"), CONTENT_REFUSED),
        ("pec.docx", archive("[Content_Types].xml", "xl/workbook.xml"), CONTENT_REFUSED),
        ("pec.docx", DOCX[:40], CONTENT_REFUSED),
        ("foto.jpg", PNG, CONTENT_REFUSED),
        ("foto.png", JPEG, CONTENT_REFUSED),
        ("notas.txt", b"\xff\xfe\x00", CONTENT_REFUSED),
        ("notas.txt", "Caf\xe9".encode("latin-1"), CONTENT_REFUSED),
        ("notas.txt", b"nulo\x00", CONTENT_REFUSED),
        ("pec.pdf", b"", "El archivo está vacío"),
    ],
    ids=named,
)
def test_file_whose_content_does_not_match_its_extension_is_refused(var_dir, name, content, said):
    status, answer = upload(preview(name, content))

    assert status == 400
    assert (answer["error"], answer["fields"]) == (said, {"attachment": [said]})
    assert kept(var_dir) == []
    assert not Lead.objects.exists()
    assert not Mail.objects.exists()


def test_attachment_of_10_mb_is_accepted_and_one_byte_more_is_413(var_dir):
    most = PDF + bytes(attachments.MAX_BYTES - len(PDF))
    assert upload(preview(content=most)) == (200, {"success": True})
    status, answer = upload(preview(content=most + b"\0"))

    assert (status, answer["code"]) == (413, "too_large")
    assert answer["error"] == "El archivo no puede superar los 10 MB"
    assert answer["fields"] == {"attachment": ["El archivo no puede superar los 10 MB"]}
    assert len(kept(var_dir)) == 1


def test_huge_upload_is_413_without_reading_the_body():
    status, answer = upload(preview(content=PDF + bytes(attachments.MAX_BYTES + 100_000)))

    assert (status, answer["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../../etc/passwd.pdf", "passwd.pdf"),
        ("..\\..\\windows\\pec.pdf", "pec.pdf"),
        ("/etc/cron.d/pec.pdf", "pec.pdf"),
        ("C:\\pec.pdf", "pec.pdf"),
        ("a" * 300 + ".pdf", "a" * 156 + ".pdf"),
        ('comillas"; filename=x.pdf', None),
        ("línea\r\nX-Header: 1.pdf", None),
        ("\u202efdp.pdf", "fdp.pdf"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_path_tricks_in_a_file_name_have_no_effect(var_dir, name, shown, carla):
    status, _ = upload(preview(name))
    if status == 400:  # Django's parser treats this as no file.
        assert shown is None
        assert kept(var_dir) == []
        return
    attachment = Attachment.objects.get()
    if shown:
        assert attachment.original_name == shown
    assert kept(var_dir) == [var_dir / "private" / "leads" / attachment.stored_name]
    answer = carla.get(download_url(attachment))
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith("attachment; filename")
    assert "X-Header" not in answer.headers
    assert len(answer["Content-Disposition"].splitlines()) == 1


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b"{}", "application/json", 415, "unsupported_media_type"),
        (b"x", "multipart/form-data", 400, "invalid"),
        (b"x", "multipart/form-data; boundary=", 400, "invalid"),
        (b"x", "multipart/form-data; boundary=\xc3\xb1", 400, "invalid"),
        (b"--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\n" + b"x" * 2_000_000
         + b"\r\n--b--\r\n", "multipart/form-data; boundary=b", 413, "too_large"),
        (b"".join(b"--b\r\nContent-Disposition: form-data; name=\"f%d\"\r\n\r\nx\r\n" % n
                  for n in range(1200)) + b"--b--\r\n",
         "multipart/form-data; boundary=b", 400, "invalid"),
        (b"--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\n\x00\r\n--b--\r\n",
         "multipart/form-data; boundary=b", 400, "invalid"),
        (b"--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\n\xff\xfe\r\n--b--\r\n",
         "multipart/form-data; boundary=b", 400, "invalid"),
    ],
    ids=["json", "no boundary", "empty boundary", "odd boundary", "huge field", "many fields",
         "nul", "not utf-8"],
)  # fmt: skip
def test_malformed_uploads_are_refused_in_the_documented_shape(body, content_type, status, code):
    answer = Client(raise_request_exception=False).generic(
        "POST", "/api/send-preview-contact", body, content_type=content_type
    )

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()) == {"success", "error", "code", "fields"}
    assert not Lead.objects.exists()


def test_file_is_removed_if_its_lead_can_not_be_stored(var_dir, monkeypatch):
    def fails(*args, **kwargs):
        raise RuntimeError("the database went away")

    monkeypatch.setattr(services, "open_lead", fails)
    with pytest.raises(RuntimeError):
        services.receive_attachment(email=VISITOR, file=SimpleUploadedFile("a.pdf", PDF))

    assert kept(var_dir) == []


def test_file_is_removed_after_the_deletion_of_its_row_is_committed(
    var_dir, django_capture_on_commit_callbacks
):
    upload(preview())
    with django_capture_on_commit_callbacks() as callbacks:
        Lead.objects.get().delete()
    assert len(kept(var_dir)) == 1, "not before the commit"
    for callback in callbacks:
        callback()

    assert kept(var_dir) == []


# ---------------------------------------------------------------- download


@pytest.fixture
def carla():
    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.create_superuser("carla"))
    return client


def download_url(attachment):
    return f"/admin/leads/lead/adjunto/{attachment.pk}/"


def test_staff_download_attachments_as_opaque_files(carla):
    upload(preview("Mi PEC ñ.pdf"))
    attachment = Attachment.objects.get()
    page = carla.get(f"/admin/leads/lead/{attachment.lead_id}/change/").content.decode()
    assert f'href="{download_url(attachment)}"' in page
    assert attachment.stored_name not in page
    answer = carla.get(download_url(attachment))

    assert b"".join(answer.streaming_content) == PDF
    assert answer["Content-Disposition"] == ("attachment; filename*=utf-8''Mi%20PEC%20%C3%B1.pdf")
    logged = StaffAction.objects.get(kind="exported")
    assert (logged.about, str(attachment.lead_id) in logged.text) == ("leads.lead", True)
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]
    assert "no-store" in answer["Cache-Control"]


def test_account_downloads_a_bounded_number_of_attachments(carla, monkeypatch):
    """Each download is logged: a program would fill the log."""
    monkeypatch.setattr(admin_log, "READINGS", (Limit("few", times=2, seconds=3600),))
    upload(preview())
    url = download_url(Attachment.objects.get())
    assert [carla.get(url).status_code for _ in range(3)] == [200, 200, 429]
    assert StaffAction.objects.filter(kind="exported").count() == 2


@pytest.mark.parametrize("who", ["visitor", "student", "staff of another group"])
def test_attachment_download_requires_the_permission(who):
    upload(preview())
    attachment = Attachment.objects.get()
    client = Client(raise_request_exception=False)
    if who != "visitor":
        user = get_user_model().objects.create_user("bruno", is_staff=who != "student")
        user.user_permissions.add(Permission.objects.get(codename="view_order"))
        client.force_login(user)
    answer = client.get(download_url(attachment))

    assert answer.status_code == (403 if who == "staff of another group" else 302)
    assert PDF not in answer.content


def test_attachments_have_no_public_url(var_dir):
    upload(preview())
    name = Attachment.objects.get().stored_name
    for path in (f"/media/{name}", f"/static/{name}", f"/private/leads/{name}"):
        assert Client().get(path).status_code == 404


def test_download_of_a_missing_file_is_404(carla, var_dir):
    upload(preview())
    for path in kept(var_dir):
        Path(path).unlink()

    assert carla.get(download_url(Attachment.objects.get())).status_code == 404
    assert carla.get(f"/admin/leads/lead/{Lead.objects.get().pk}/change/").status_code == 200
