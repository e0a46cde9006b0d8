"""Static files with hashed names, which browsers may cache forever."""

from typing import IO, Any

from whitenoise.storage import (  # type: ignore[import-untyped]
    CompressedManifestStaticFilesStorage,
)


class BuiltStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Hashes file names, except those of files that esbuild has already hashed.

    Chunks import each other by esbuild's names, so renaming them would break the imports.
    """

    def file_hash(self, name: str | None, content: IO[Any] | None = None) -> str:
        # For the manifest itself `name` is None.
        if name is not None and name.startswith("build/"):
            return ""
        return str(super().file_hash(name, content))
