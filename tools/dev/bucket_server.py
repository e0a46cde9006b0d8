"""An S3-compatible bucket on a free port of the loopback address. It keeps files in memory.

It speaks just enough of S3 for django-storages. moto would bring Flask and 20 packages.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

NAME = "files"


class _Request(BaseHTTPRequestHandler):
    server: "BucketServer"
    protocol_version = "HTTP/1.1"

    @property
    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix(f"/{NAME}/")

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            content = _unchunked(content)
        self.server.files[self._key] = content
        self._answer(200)

    def do_HEAD(self) -> None:
        found = self.server.files.get(self._key)
        self._answer(404 if found is None else 200, found or b"")

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "prefix" in query:
            names = [name for name in self.server.files if name.startswith(query["prefix"][0])]
            found = "".join(f"<Contents><Key>{escape(name)}</Key></Contents>" for name in names)
            self._answer(200, f"<ListBucketResult>{found}</ListBucketResult>".encode())
        else:
            self.do_HEAD()

    def do_DELETE(self) -> None:
        self.server.files.pop(self._key, None)
        self._answer(204)

    def _answer(self, status: int, content: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


def _unchunked(content: bytes) -> bytes:
    """The content of a body in chunks: each has a line with its size in hexadecimal digits."""
    parts = []
    while content:
        line, _, content = content.partition(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if not size:
            break
        parts.append(content[:size])
        content = content[size + 2 :]
    return b"".join(parts)


class BucketServer(ThreadingHTTPServer):
    """`files` has each file by its key."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.files: dict[str, bytes] = {}
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def running_bucket() -> Iterator[BucketServer]:
    """Run a server inside the block. Its bucket is called NAME."""
    with BucketServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
