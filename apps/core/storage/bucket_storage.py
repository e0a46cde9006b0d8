"""Files in a bucket of an S3-compatible service. Loaded only if S3_BUCKET is set."""

import errno
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from storages.backends.s3 import S3Storage  # type: ignore[import-untyped]


class BucketStorage(S3Storage):  # type: ignore[misc]
    """Private files of a bucket. With `base_url` the shop itself sends them under that path."""

    def __init__(self, *, base_url: str = "", **options: Any) -> None:
        self.base_url = base_url
        super().__init__(default_acl=None, querystring_auth=True, file_overwrite=False, **options)

    def url(self, name: str, **options: Any) -> str:
        return f"{self.base_url}{name}" if self.base_url else str(super().url(name, **options))

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        try:
            return str(super().save(name, content, max_length))
        except (BotoCoreError, ClientError) as error:
            # Visitors get the answer of a full disk: try again later.
            raise OSError(errno.ENOSPC, "The bucket does not accept the file") from error
