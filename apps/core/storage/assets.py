"""The files that esbuild built, looked up in the manifest `build/manifest.json` of FRONT_END.

In production a process keeps the manifest that it has read first: its pages go on naming the files
that belong to its code while the next release is built in the same place. In development the
manifest is read again after each build.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


@dataclass(frozen=True)
class Asset:
    """The URL of a built file and the URLs of the chunks that it imports statically."""

    url: str
    imports: tuple[str, ...]


def find_asset(name: str) -> Asset:
    """Return the built file of an entry ("main.js") or asset ("favicon.svg").

    The file names already contain a hash, so the static files storage is not involved. Raises
    ImproperlyConfigured if the front end is not built or has no such file.
    """
    changed_at_ns = manifest_changed_at()
    if not changed_at_ns:
        raise ImproperlyConfigured(
            "El front end no está compilado: ejecuta «npm run build» y, en producción, "
            "«manage.py collectstatic»."
        )
    assets = _read(_manifest(), changed_at_ns)
    try:
        return assets[name]
    except KeyError:
        raise ImproperlyConfigured(f"El front end no tiene el archivo «{name}».") from None


def manifest_changed_at() -> int:
    """When this process's front end was built, in nanoseconds; 0 if it is not built."""
    manifest = _manifest()
    try:
        if settings.FRONT_END == settings.STATIC_ROOT:
            return _first_change(manifest)
        return manifest.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _manifest() -> Path:
    return _manifest_in(settings.FRONT_END)


@lru_cache(maxsize=2)
def _manifest_in(front_end: Path) -> Path:
    # Building a path takes longer than finding it here, and a page names a dozen files.
    return Path(front_end, "build", "manifest.json")


@lru_cache(maxsize=1)
def _first_change(manifest: Path) -> int:
    changed_at_ns = manifest.stat().st_mtime_ns
    _read(manifest, changed_at_ns)
    return changed_at_ns


@lru_cache(maxsize=1)
def _read(manifest: Path, changed_at_ns: int) -> dict[str, Asset]:
    # The modification time is part of the cache key, so a new build is noticed.
    entries = json.loads(manifest.read_text())
    return {
        name: Asset(
            url=settings.STATIC_URL + entry["file"],
            imports=tuple(settings.STATIC_URL + file for file in entry["imports"]),
        )
        for name, entry in entries.items()
    }
