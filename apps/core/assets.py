"""The files that esbuild built, looked up in `var/static_build/build/manifest.json`."""

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
        raise ImproperlyConfigured("El front end no está compilado: ejecuta «npm run build».")
    assets = _read(_manifest(), changed_at_ns)
    try:
        return assets[name]
    except KeyError:
        raise ImproperlyConfigured(f"El front end no tiene el archivo «{name}».") from None


def manifest_changed_at() -> int:
    """When the front end was last built, in nanoseconds; 0 if it is not built."""
    try:
        return _manifest().stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _manifest() -> Path:
    return Path(settings.STATIC_BUILD, "build", "manifest.json")


@lru_cache(maxsize=1)
def _read(manifest: Path, changed_at_ns: int) -> dict[str, Asset]:
    # The modification time is part of the cache key, so a new build needs no restart.
    entries = json.loads(manifest.read_text())
    return {
        name: Asset(
            url=settings.STATIC_URL + entry["file"],
            imports=tuple(settings.STATIC_URL + file for file in entry["imports"]),
        )
        for name, entry in entries.items()
    }
