"""Where files are stored: folders of VAR_DIR, or a bucket of an S3-compatible service.

`academy.settings` names the storages: "pictures" for public pictures, "private" for visitors'
attachments. A bucket is private: the shop itself sends pictures, and staff download attachments.
"""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import FileSystemStorage, Storage

PICTURES = "pictures"
PRIVATE = "private"


class FolderStorage(FileSystemStorage):
    """Files in a folder of VAR_DIR."""

    def __init__(self, folder: str, **options: Any) -> None:
        self.folder = folder
        super().__init__(**options)

    @property
    def base_location(self) -> str:
        return str(Path(settings.VAR_DIR) / self.folder)

    @property
    def location(self) -> str:
        return str(Path(self.base_location).resolve())

    def _save(self, name: str, content: Any) -> str:
        try:
            return str(super()._save(name, content))  # type: ignore[misc]
        except OSError:
            # A full disk leaves the beginning of the file.
            self.delete(name)
            raise


def all_names(storage: Storage, folder: str = "") -> list[str]:
    """The names of all files of a storage, with their folders."""
    try:
        folders, files = storage.listdir(folder)
    except FileNotFoundError:
        return []
    prefix = f"{folder}/" if folder else ""
    names = [f"{prefix}{name}" for name in files]
    for name in folders:
        names += all_names(storage, f"{prefix}{name}")
    return sorted(names)
