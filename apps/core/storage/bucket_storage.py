"""Files in a bucket of an S3-compatible service. Loaded only if S3_BUCKET is set."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any

from boto3.s3.transfer import TransferConfig  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from s3transfer.exceptions import RetriesExceededError  # type: ignore[import-untyped]
from storages.backends.s3 import S3Storage  # type: ignore[import-untyped]

from apps.core.errors import BucketAway

# Botocore's own time-outs are minutes, in which a few requests would hold all threads of the web.
WAITS = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 2})
# Places, of the 16 threads of a web process (Procfile): a slow bucket leaves some free.
MOST_AT_ONCE = 12
_places = BoundedSemaphore(MOST_AT_ONCE)


@contextmanager
def _place() -> Iterator[None]:
    """Hold one of the places. Raises BucketAway where none is free, or the bucket fails."""
    if not _places.acquire(blocking=False):
        raise BucketAway
    try:
        yield
    except (BotoCoreError, ClientError, RetriesExceededError) as error:
        raise BucketAway from error
    finally:
        _places.release()


class BucketStorage(S3Storage):  # type: ignore[misc]
    """Private files of a bucket. With `base_url` the shop itself sends them under that path."""

    client_config: Any

    def __init__(self, *, base_url: str = "", **options: Any) -> None:
        self.base_url = base_url
        options.setdefault("transfer_config", TransferConfig(num_download_attempts=1))
        super().__init__(default_acl=None, querystring_auth=True, file_overwrite=False, **options)
        self.client_config = self.client_config.merge(WAITS)

    def url(self, name: str, **options: Any) -> str:
        return f"{self.base_url}{name}" if self.base_url else str(super().url(name, **options))

    def _open(self, name: str, mode: str = "rb") -> Any:
        """The file, with its whole content read. Raises FileNotFoundError and BucketAway."""
        with _place():
            opened = super()._open(name, mode)
            if "r" in mode:
                _ = opened.file
        return opened

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        try:
            with _place():
                return str(super().save(name, content, max_length))
        except BucketAway as error:
            # Visitors get the answer of a full disk: try again later.
            raise OSError(errno.ENOSPC, "The bucket does not accept the file") from error
