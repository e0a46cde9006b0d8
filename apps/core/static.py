"""Static files with hashed names, for ever cacheable."""

from typing import IO, Any

from whitenoise.storage import (  # type: ignore[import-untyped]
    CompressedManifestStaticFilesStorage,
)


class BuiltStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Leaves the names alone that esbuild has hashed itself.

    Chunks import each other by those names; renaming them again would break the imports.
    """

    def file_hash(self, name: str | None, content: IO[Any] | None = None) -> str:
        # The manifest itself is hashed without a name.
        if name is not None and name.startswith("build/"):
            return ""
        return str(super().file_hash(name, content))
