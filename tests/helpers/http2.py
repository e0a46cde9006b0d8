"""One request over HTTP/2 (RFC 9113), in frames that no library would send."""

import socket

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS = 0, 1, 4
_END_STREAM, _END_HEADERS = 1, 4
_STREAM = 1
# ":status" in the table of HPACK (RFC 7541, appendix A), with the statuses that have an entry.
_STATUS_NAME = 0x48
_STATUSES = {0x88: 200, 0x89: 204, 0x8A: 206, 0x8B: 304, 0x8C: 400, 0x8D: 404, 0x8E: 500}


def status_of(port: int, method: str, path: str, body: bytes = b"") -> int:
    """The status of a request whose body has no Content-Length. At most 16 KB of body."""
    pseudo = {":method": method, ":scheme": "http", ":path": path, ":authority": "127.0.0.1"}
    block = b"".join(b"\0" + _text(name) + _text(value) for name, value in pseudo.items())
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(_PREFACE + _frame(_SETTINGS, 0, b"", stream=0))
        ends = 0 if body else _END_STREAM
        client.sendall(_frame(_HEADERS, _END_HEADERS | ends, block))
        if body:
            client.sendall(_frame(_DATA, _END_STREAM, body))
        with client.makefile("rb") as answer:
            while len(head := answer.read(9)) == 9:
                content = answer.read(int.from_bytes(head[:3]))
                if head[3] == _HEADERS:
                    return _status(content)
    raise ConnectionError("the stream has ended without an answer")


def _text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _frame(kind: int, flags: int, content: bytes, *, stream: int = _STREAM) -> bytes:
    return len(content).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + content


def _status(block: bytes) -> int:
    """The status at the beginning of an answer's headers, which nginx never compresses."""
    return int(block[2:5]) if block[0] == _STATUS_NAME else _STATUSES[block[0]]
