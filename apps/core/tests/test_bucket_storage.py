"""Files in an S3-compatible bucket, here a small server of this test."""

import errno
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from django.core.files.base import ContentFile

from apps.core.bucket_storage import BucketStorage
from apps.core.file_storage import all_names


class Bucket(BaseHTTPRequestHandler):
    files: dict[str, bytes] = {}
    protocol_version = "HTTP/1.1"

    @property
    def key(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix("/files/")

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            size, _, rest = content.partition(b"\r\n")
            content = rest[: int(size.split(b";")[0], 16)]
        self.files[self.key] = content
        self._answer(200)

    def do_HEAD(self) -> None:
        self._answer(200 if self.key in self.files else 404, self.files.get(self.key, b""))

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "prefix" in query:
            names = [name for name in self.files if name.startswith(query["prefix"][0])]
            found = "".join(f"<Contents><Key>{name}</Key></Contents>" for name in names)
            self._answer(200, f"<ListBucketResult>{found}</ListBucketResult>".encode())
        else:
            self.do_HEAD()

    def do_DELETE(self) -> None:
        self.files.pop(self.key, None)
        self._answer(204)

    def _answer(self, status: int, content: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def address():
    Bucket.files = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def storage(address: str) -> BucketStorage:
    return BucketStorage(
        bucket_name="files",
        endpoint_url=address,
        region_name="eu",
        access_key="key",
        secret_key="secret",
        location="pictures",
        base_url="/imagenes/",
        addressing_style="path",
    )


def test_file_is_stored_read_listed_and_deleted_in_the_bucket(address):
    files = storage(address)
    name = files.save("lucia.webp", ContentFile(b"picture"))

    assert Bucket.files == {"pictures/lucia.webp": b"picture"}
    assert files.url(name) == "/imagenes/lucia.webp"
    with files.open(name) as stored:
        assert stored.read() == b"picture"
    assert all_names(files) == ["lucia.webp"]
    files.delete(name)
    assert Bucket.files == {}
    with pytest.raises(FileNotFoundError):
        files.open(name).read()


def test_bucket_that_does_not_answer_is_like_a_full_disk():
    with pytest.raises(OSError, match="bucket") as refused:
        storage("http://127.0.0.1:9").save("lucia.webp", ContentFile(b"picture"))

    assert refused.value.errno == errno.ENOSPC
