"""The space that is left where the shop writes files."""

import shutil
import tempfile
from collections.abc import Iterable
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


def free_megabytes() -> dict[str, int]:
    """The megabytes that are left for each folder. A folder is created when it is needed."""
    return {
        name: shutil.disk_usage(_existing(folder)).free // 1024**2
        for name, folder in written_folders().items()
    }


def full_folders() -> list[str]:
    """The names of the folders that have less than DISK_MIN_FREE_MB left."""
    free = free_megabytes()
    return sorted(name for name, left in free.items() if left < settings.DISK_MIN_FREE_MB)


def _existing(folder: Path) -> Path:
    folders: Iterable[Path] = (folder, *folder.parents)
    return next(each for each in folders if each.is_dir())
