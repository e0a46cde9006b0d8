"""Files that visitors attach to a form: which types are accepted, and where they are stored."""

import logging
import os
import secrets
import zipfile
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import IO, Any

from django.conf import settings
from django.core.files.storage import Storage, storages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Sum

from apps.core.errors import StorageFull
from apps.core.monitoring.disk_space import full_folders
from apps.core.storage.file_storage import PRIVATE
from apps.leads.models import Attachment, Lead

logger = logging.getLogger(__name__)

MEGABYTE = 1024 * 1024
MAX_MEGABYTES = 10
MAX_BYTES = MAX_MEGABYTES * MEGABYTE
LONGEST_NAME = 160
_LONGEST_ZIP_DIRECTORY = 64 * 1024
# The record at the end of a zip file, and what stands before it in one of more than 4 GB.
_ZIP_END_BYTES = 22
_ZIP64_LOCATOR_BYTES = 20


def extension(name: str) -> str:
    """Return ".pdf" for "Mi PEC.PDF", or an empty string without an extension."""
    return PurePosixPath(name).suffix.lower()


def is_allowed_name(name: str) -> bool:
    return extension(name) in CONTENTS


def content_matches_extension(file: "UploadedFile[Any]") -> bool:
    """Whether the content is of the type that the extension names."""
    content: IO[bytes] = file
    try:
        content.seek(0)
        return CONTENTS[extension(file.name or "")](content)
    finally:
        content.seek(0)


def _begins_with(*signatures: bytes) -> Callable[[IO[bytes]], bool]:
    return lambda content: content.read(16).startswith(signatures)


def _is_word_document(content: IO[bytes]) -> bool:
    """Whether the zip has the entries of a Word document. Nothing is unpacked."""
    if not _has_short_directory(content):
        return False
    try:
        with zipfile.ZipFile(content) as archive:
            names = archive.namelist()
    # zipfile raises any of these for a truncated or forged file.
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, OverflowError):
        return False
    return "[Content_Types].xml" in names and any(name.startswith("word/") for name in names)


def _has_short_directory(content: IO[bytes]) -> bool:
    """Whether the zip's directory is as short as that of a document.

    zipfile makes an object of each entry, and 10 MB hold 200,000 entries.
    """
    size = content.seek(0, os.SEEK_END)
    content.seek(max(0, size - _ZIP64_LOCATOR_BYTES - _ZIP_END_BYTES))
    end = content.read()
    record, locator = end[-_ZIP_END_BYTES:], end[:-_ZIP_END_BYTES]
    # No program writes a comment behind the record of a document, where zipfile would look, too.
    has_comment = not record.startswith(b"PK\x05\x06") or record[-2:] != b"\0\0"
    if has_comment or locator.startswith(b"PK\x06\x07"):
        return False
    return int.from_bytes(record[12:16], "little") <= _LONGEST_ZIP_DIRECTORY


def _is_text(content: IO[bytes]) -> bool:
    text = content.read()
    try:
        return "\0" not in text.decode("utf-8")
    except UnicodeDecodeError:
        return False


CONTENTS: dict[str, Callable[[IO[bytes]], bool]] = {
    ".pdf": _begins_with(b"%PDF-"),
    ".doc": _begins_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ".docx": _is_word_document,
    ".txt": _is_text,
    ".jpg": _begins_with(b"\xff\xd8\xff"),
    ".jpeg": _begins_with(b"\xff\xd8\xff"),
    ".png": _begins_with(b"\x89PNG\r\n\x1a\n"),
}


def shown_name(name: str) -> str:
    """Return the visitor's file name for staff: without folders, shortened, extension kept."""
    base = "".join(
        letter for letter in PurePosixPath(name.replace("\\", "/")).name if letter.isprintable()
    )
    ending = PurePosixPath(base).suffix
    return base[: len(base) - len(ending)][: LONGEST_NAME - len(ending)] + ending


def waiting_bytes() -> int:
    """The size of all attachments of forms that nobody has answered or closed."""
    waiting = Attachment.objects.filter(lead__in=Lead.objects.unanswered())
    return int(waiting.aggregate(size=Sum("size"))["size"] or 0)


def check_disk_space(size: int) -> None:
    """Raise StorageFull if a file of this size does not fit (docs/rules.md, "Forms").

    Strangers send files, and the database is usually on the same disk.
    """
    used_folders = {"temporary"} if settings.S3_BUCKET else {"temporary", "private"}
    if used_folders & set(full_folders()):
        logger.error("an attachment was refused: less than DISK_MIN_FREE_MB is left")
        raise StorageFull
    if waiting_bytes() + size > settings.ATTACHMENTS_MAX_MB * MEGABYTE:
        logger.error("an attachment was refused: those that wait take ATTACHMENTS_MAX_MB")
        raise StorageFull


def attachment_storage() -> Storage:
    return storages[PRIVATE]


def store(file: "UploadedFile[Any]") -> str:
    """Store the file under a random name and return the name. Only the shop can read it."""
    return attachment_storage().save(secrets.token_hex(16), file)


def remove(stored_name: str) -> None:
    attachment_storage().delete(stored_name)


def remove_file_after_commit(instance: Attachment, **kwargs: Any) -> None:
    """Remove the file of a deleted row (post_delete), unless the transaction rolls back."""
    transaction.on_commit(lambda: remove(instance.stored_name))
