"""Files in an S3-compatible bucket, here a small server."""

import errno
from contextlib import ExitStack

import pytest
from django.core.files.base import ContentFile

from apps.core.errors import BucketAway
from apps.core.storage import bucket_storage
from apps.core.storage.bucket_storage import MOST_AT_ONCE, BucketStorage
from apps.core.storage.file_storage import all_names
from tools.dev.bucket_server import NAME, running_bucket


@pytest.fixture
def bucket():
    with running_bucket() as server:
        yield server


def storage(address: str) -> BucketStorage:
    return BucketStorage(
        bucket_name=NAME,
        endpoint_url=address,
        region_name="eu",
        access_key="key",
        secret_key="secret",
        location="pictures",
        base_url="/imagenes/",
        addressing_style="path",
    )


def test_file_is_stored_read_listed_and_deleted_in_the_bucket(bucket):
    files = storage(bucket.url)
    name = files.save("lucia.webp", ContentFile(b"picture"))

    assert bucket.files == {"pictures/lucia.webp": b"picture"}
    assert files.url(name) == "/imagenes/lucia.webp"
    with files.open(name) as stored:
        assert stored.read() == b"picture"
    assert all_names(files) == ["lucia.webp"]
    files.delete(name)
    assert bucket.files == {}
    with pytest.raises(FileNotFoundError):
        files.open(name).read()


def test_bucket_that_does_not_answer_is_like_a_full_disk():
    with pytest.raises(OSError, match="bucket") as refused:
        storage("http://127.0.0.1:9").save("lucia.webp", ContentFile(b"picture"))

    assert refused.value.errno == errno.ENOSPC


def test_bucket_that_does_not_answer_is_no_missing_file():
    """A missing one is a 404 that caches keep; this is a 503 (apps/pages/site_files.py)."""
    with pytest.raises(BucketAway):
        storage("http://127.0.0.1:9").open("lucia.webp")


def test_slow_bucket_holds_some_threads_of_a_process_only(bucket):
    files = storage(bucket.url)
    name = files.save("lucia.webp", ContentFile(b"picture"))
    with ExitStack() as others:
        for _ in range(MOST_AT_ONCE):
            others.enter_context(bucket_storage._places)
        with pytest.raises(BucketAway):
            files.open(name)
        with pytest.raises(OSError, match="does not accept"):
            files.save("otra.webp", ContentFile(b"picture"))
    assert files.open(name).read() == b"picture"


def test_file_of_several_chunks_arrives_whole(bucket):
    picture = bytes(range(256)) * 16_384  # 4 MB
    name = storage(bucket.url).save("large.webp", ContentFile(picture))

    assert bucket.files == {f"pictures/{name}": picture}
