"""Loads an archive into an empty shop."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tarfile import TarFile, TarInfo
from tempfile import gettempdir
from typing import IO, Any

from django.core.files import File
from django.core.files.storage import storages
from django.core.management import CommandError
from django.db.migrations.loader import MigrationLoader

from apps.core.backup import archive, database
from apps.core.backup.make import STORED
from apps.core.storage.file_storage import all_names


@dataclass
class Loaded:
    """The contents of a restored archive. `made_at` is an ISO date with time."""

    made_at: str = ""
    files: int = 0


def load_backup(
    path: Path,
    *,
    identity: str = "",
    over_existing: bool = False,
    allow: Callable[[dict[str, Any]], None],
) -> Loaded:
    """Load the archive. The database and the storages must be empty, unless `over_existing`.

    The archive is opened and its manifest checked before anything is deleted. `allow` gets the
    manifest and raises CommandError if it must not be loaded here. Raises CommandError.
    """
    if not path.is_file():
        raise CommandError(f"No existe el archivo {path}.")
    if not over_existing:
        _refuse_existing()
    loaded = Loaded()
    with archive.reading(path, identity) as source:
        manifest: dict[str, Any] = {}
        for entry in source:
            content = _content(source, entry)
            if entry.name == "manifest.json":
                manifest = _checked(json.load(content))
                allow(manifest)
                loaded.made_at = manifest["made_at"]
            elif not manifest:
                raise CommandError("El archivo no es una copia de la academia.")
            elif entry.name == manifest["database"]:
                database.empty()
                database.load(content, Path(gettempdir()))
                if over_existing:
                    _empty_storages()
            else:
                _store(entry.name, content)
                loaded.files += 1
    if not loaded.made_at:
        raise CommandError("El archivo no es una copia de la academia.")
    return loaded


def _refuse_existing() -> None:
    if database.has_tables():
        raise CommandError(
            "La base de datos no está vacía. --over-existing borra todo lo que hay y lo sustituye."
        )
    for alias in STORED:
        if all_names(storages[alias]):
            raise CommandError(
                f"Ya hay archivos guardados («{alias}»). --over-existing los borra y los sustituye."
            )


def _content(source: TarFile, entry: TarInfo) -> IO[bytes]:
    content = source.extractfile(entry)
    if content is None:
        raise CommandError(f"La copia tiene algo que no es un archivo: {entry.name}.")
    return content


def _checked(manifest: dict[str, Any]) -> dict[str, Any]:
    if manifest.get("format") != archive.FORMAT:
        raise CommandError("La copia es de una versión de este programa que no se puede leer.")
    if manifest["database"] != database.member_name():
        raise CommandError(f"La copia es de otro tipo de base de datos ({manifest['database']}).")
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations or {}}
    if unknown := sorted(set(manifest["migrations"]) - known):
        raise CommandError(
            "La copia es de una versión posterior de este programa, con migraciones que aquí no "
            f"están: {', '.join(unknown[:5])}."
        )
    return manifest


def _empty_storages() -> None:
    for alias in STORED:
        for name in all_names(storages[alias]):
            storages[alias].delete(name)


def _store(member: str, content: IO[bytes]) -> None:
    _, alias, name = member.split("/", 2)
    if alias not in STORED:
        raise CommandError(f"La copia tiene archivos de un lugar desconocido: {alias}.")
    # A storage refuses names that lead out of it.
    stored = storages[alias].save(name, File(content, name=name))
    if stored != name:
        raise CommandError(f"El archivo {name} ya existía.")
