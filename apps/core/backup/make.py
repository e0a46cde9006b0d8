"""Makes one archive of the database and of the stored files."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from socket import gethostname
from tarfile import TarFile
from tempfile import SpooledTemporaryFile, TemporaryFile

from django.conf import settings
from django.core.files.storage import storages
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from apps.core.backup import archive, database
from apps.core.backup_record import ONLY_ROW, Backup
from apps.core.storage.file_storage import PICTURES, PRIVATE, all_names

STORED = (PICTURES, PRIVATE)
_IN_MEMORY = 16 * 1024 * 1024


@dataclass(frozen=True)
class MadeBackup:
    path: Path
    size_bytes: int
    files: int
    missing: int


def make_backup(folder: Path, recipient: str) -> MadeBackup:
    """Write `academia-MOMENT.tar…` into the folder, and record it for "Hoy".

    The database is dumped first and the files are copied afterwards, so each file that the dump
    names is in the archive, unless it was deleted meanwhile. `missing` counts those. Raises
    CommandError.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    made_at = timezone.now()
    path = folder / f"academia-{made_at:%Y%m%dT%H%M%SZ}{archive.suffix_for(recipient)}"
    files = missing = 0
    with archive.writing(path, recipient) as target:
        archive.add_json(target, "manifest.json", _manifest(made_at))
        # A file without a name: a killed process leaves nothing behind.
        with TemporaryFile(dir=folder) as dumped:
            database.dump(dumped, folder)
            size = dumped.seek(0, 2)
            dumped.seek(0)
            archive.add(target, database.member_name(), dumped, size)
        for found in _add_files(target):
            files += found
            missing += not found
    size_bytes = path.stat().st_size
    Backup.objects.update_or_create(
        pk=ONLY_ROW,
        defaults={
            "made_at": made_at,
            "archive": path.name,
            "size_bytes": size_bytes,
            "encrypted": bool(recipient),
        },
    )
    return MadeBackup(path, size_bytes, files, missing)


def delete_older(folder: Path, *, keep: int) -> int:
    """Delete all archives of the folder but the newest `keep`. Returns how many."""
    made = sorted(folder.glob("academia-*.tar*"))
    old = made[:-keep]
    for path in old:
        path.unlink()
    return len(old)


def applied_migrations() -> list[str]:
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


def place() -> str:
    """Where this shop keeps its data, to recognise the place in which a backup was made."""
    database_name = connection.settings_dict["NAME"]
    return f"{gethostname()}, {settings.VAR_DIR}, base de datos {database_name}"


def _manifest(made_at: datetime) -> dict[str, object]:
    return {
        "format": archive.FORMAT,
        "made_at": made_at.isoformat(),
        "site": settings.SITE_URL,
        "place": place(),
        "is_rehearsal": settings.REHEARSAL,
        "database": database.member_name(),
        "migrations": applied_migrations(),
    }


def _add_files(target: TarFile) -> Iterator[bool]:
    for alias in STORED:
        storage = storages[alias]
        for name in all_names(storage):
            with SpooledTemporaryFile(max_size=_IN_MEMORY) as copy:
                try:
                    with storage.open(name) as source:
                        for chunk in source.chunks():
                            copy.write(chunk)
                except FileNotFoundError:
                    yield False
                    continue
                size = copy.tell()
                copy.seek(0)
                archive.add(target, f"files/{alias}/{name}", copy, size)
            yield True
