"""Requests and responses, independent of WSGI."""

import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

SANDBOX_HEADER = ("X-Stripe-Sandbox", "true")
MAX_BODY_BYTES = 1_000_000
# The WSGI variable with the request's socket.
CONNECTION = "stripe_sandbox.connection"
# The WSGI variable with the undecoded path: `%2F` in an id must not become a slash.
RAW_PATH = "stripe_sandbox.path"
STATUS_TEXT = {
    200: "OK",
    204: "No Content",
    303: "See Other",
    400: "Bad Request",
    401: "Unauthorized",
    402: "Request Failed",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    413: "Content Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
}
StartResponse = Callable[..., Any]


@dataclass(frozen=True)
class Request:
    method: str
    path: str  # percent-encoded, without the query
    query: str
    headers: dict[str, str]  # names in lower case
    body: bytes
    id: str = field(default_factory=lambda: "req_" + uuid.uuid4().hex[:14])

    @classmethod
    def from_environ(cls, environ: dict[str, Any]) -> "Request":
        headers = {
            name[5:].replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        headers["content-type"] = environ.get("CONTENT_TYPE") or ""
        length = environ.get("CONTENT_LENGTH") or "0"
        size = min(int(length), MAX_BODY_BYTES + 1) if length.isdigit() else 0
        return cls(
            method=environ["REQUEST_METHOD"],
            path=environ[RAW_PATH],
            query=environ.get("QUERY_STRING") or "",
            headers=headers,
            body=environ["wsgi.input"].read(size) if size else b"",
        )

    @property
    def base_url(self) -> str:
        return f"http://{self.headers.get('host', '127.0.0.1')}"


@dataclass(frozen=True)
class Response:
    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def json(
        cls, content: Any, status: int = 200, headers: Iterable[tuple[str, str]] = ()
    ) -> "Response":
        text = json.dumps(content, indent=2, ensure_ascii=False)
        return cls(text.encode(), status, headers=tuple(headers))

    @classmethod
    def html(cls, text: str, status: int = 200) -> "Response":
        # A page of the sandbox loads files of the sandbox only.
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            "frame-src 'self'; img-src data:; form-action 'none'; base-uri 'none'"
        )
        return cls(
            text.encode(),
            status,
            "text/html; charset=utf-8",
            (("Content-Security-Policy", policy), ("Cache-Control", "no-store")),
        )

    def send(self, start_response: StartResponse) -> list[bytes]:
        start_response(
            f"{self.status} {STATUS_TEXT.get(self.status, 'Status')}",
            [
                ("Content-Type", self.content_type),
                ("Content-Length", str(len(self.body))),
                ("X-Content-Type-Options", "nosniff"),
                SANDBOX_HEADER,
                *self.headers,
            ],
        )
        return [self.body]
