"""The front end's files as esbuild named them: `var/static_build/build/manifest.json`."""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


@dataclass(frozen=True)
class Asset:
    """A built file and the chunks that it imports at once, as addresses."""

    url: str
    imports: tuple[str, ...]


def find_asset(name: str) -> Asset:
    """Return the built file of an entry ("main.js") or asset ("favicon.svg").

    The names carry a hash of their own, so no static files storage is asked. Raises
    ImproperlyConfigured where the front end is not built or has no such file.
    """
    manifest = settings.STATIC_BUILD / "build" / "manifest.json"
    try:
        assets = _read(manifest, manifest.stat().st_mtime_ns)
    except FileNotFoundError:
        raise ImproperlyConfigured(
            "El front end no está compilado: ejecuta «npm run build»."
        ) from None
    try:
        return assets[name]
    except KeyError:
        raise ImproperlyConfigured(f"El front end no tiene el archivo «{name}».") from None


@lru_cache(maxsize=1)
def _read(manifest: Path, changed_at_ns: int) -> dict[str, Asset]:
    # The moment of the last change is part of the key: a new build is seen without a restart.
    entries = json.loads(manifest.read_text())
    return {
        name: Asset(
            url=settings.STATIC_URL + entry["file"],
            imports=tuple(settings.STATIC_URL + file for file in entry["imports"]),
        )
        for name, entry in entries.items()
    }
