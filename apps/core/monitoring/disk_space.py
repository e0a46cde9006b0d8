"""The space that is left where the shop writes files."""

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings


def written_folders() -> dict[str, Path]:
    """Every folder that the shop writes to, by the name that the monitor shows."""
    var = Path(settings.VAR_DIR)
    return {
        "var": var,
        "private": var / "private" / "leads",
        "pictures": var / "pictures",
        "mail": Path(settings.EMAIL_FILE_PATH),
        "backups": Path(settings.BACKUP_DIR),
        "temporary": Path(tempfile.gettempdir()),
    }


def watched_folders() -> dict[str, Path]:
    """The folders that the shop writes to, and that of PostgreSQL if it is on this machine."""
    database = {"database": Path(settings.DATABASE_DIR)} if settings.DATABASE_DIR else {}
    return written_folders() | database


@dataclass(frozen=True)
class Room:
    """The bytes that a disk has, and those that are left."""

    total: int
    free: int


def disk_room() -> dict[str, Room]:
    """The room of the disk of each watched folder. A folder is created when it is needed."""
    usage = {name: shutil.disk_usage(_existing(path)) for name, path in watched_folders().items()}
    return {name: Room(total=disk.total, free=disk.free) for name, disk in usage.items()}


def free_megabytes() -> dict[str, int]:
    """The megabytes that are left for each folder."""
    return {name: room.free // 1024**2 for name, room in disk_room().items()}


def full_folders() -> list[str]:
    """The names of the folders that have less than DISK_MIN_FREE_MB left."""
    free = free_megabytes()
    return sorted(name for name, left in free.items() if left < settings.DISK_MIN_FREE_MB)


def _existing(folder: Path) -> Path:
    folders: Iterable[Path] = (folder, *folder.parents)
    return next(each for each in folders if each.is_dir())
