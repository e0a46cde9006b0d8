"""Sends GET requests over kept connections as fast as they are answered, and counts the answers.

    python -m tools.dev.bench_load PORT SECONDS CONNECTIONS PATH [HEADER…]

It is a process of its own and prints one line of JSON. `{n}` in path and headers is the number of
the request.
"""

import json
import selectors
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

READ_AT_ONCE = 1 << 18
# Answers of the first part are not counted: connections are opened and caches are filled.
WARM_UP = 0.15


@dataclass
class Connection:
    """A kept connection and the answer that it waits for."""

    socket: socket.socket
    head: bytes = b""
    # Bytes of the answer in all, known after its head.
    expected: int = 0
    received: int = 0
    sent_at: float = 0.0


class Load:
    def __init__(self, port: int, path: str, headers: list[str]) -> None:
        self._port = port
        if not any(header.startswith("Host:") for header in headers):
            headers = [f"Host: 127.0.0.1:{port}", *headers]
        self._request = "\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""])
        self._selector = selectors.DefaultSelector()
        self._number = 0
        self.seconds: list[float] = []
        self.refused = 0

    def run(self, seconds: float, connections: int) -> float:
        """Send for so many seconds. Returns the number of seconds that were counted."""
        for _ in range(connections):
            self._open()
        started_at = monotonic()
        counted_from, end = started_at + seconds * WARM_UP, started_at + seconds
        while (now := monotonic()) < end:
            for key, _ in self._selector.select(1):
                self._read(key.data, counts=now >= counted_from)
        return end - counted_from

    def _open(self) -> None:
        opened = socket.create_connection(("127.0.0.1", self._port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setblocking(False)
        connection = Connection(opened)
        self._selector.register(opened, selectors.EVENT_READ, connection)
        self._ask(connection)

    def _ask(self, connection: Connection) -> None:
        self._number += 1
        connection.head, connection.expected, connection.received = b"", 0, 0
        connection.sent_at = monotonic()
        request = self._request.replace("{n}", str(self._number)).encode()
        with suppress(ConnectionError):  # Reading then opens another connection.
            connection.socket.send(request)

    def _read(self, connection: Connection, *, counts: bool) -> None:
        try:
            data = connection.socket.recv(READ_AT_ONCE)
        except ConnectionError:
            data = b""
        if not data:  # The server ends a connection after some time.
            self._selector.unregister(connection.socket)
            connection.socket.close()
            self._open()
            return
        connection.received += len(data)
        if not connection.expected:
            connection.head += data
            connection.expected = self._length(connection.head)
        if connection.expected and connection.received >= connection.expected:
            if counts:
                self.seconds.append(monotonic() - connection.sent_at)
                self.refused += not connection.head.startswith(b"HTTP/1.1 200")
            self._ask(connection)

    @staticmethod
    def _length(start: bytes) -> int:
        """The bytes of the whole answer; 0 before its head has come."""
        head, end, _ = start.partition(b"\r\n\r\n")
        if not end:
            return 0
        _, _, length = head.lower().partition(b"content-length:")
        return len(head) + 4 + int(length.partition(b"\r\n")[0])


def main(port: str, seconds: str, connections: str, path: str, *headers: str) -> None:
    load = Load(int(port), path, list(headers))
    counted_s = load.run(float(seconds), int(connections))
    times = sorted(load.seconds) or [0.0]
    print(
        json.dumps(
            {
                "per_second": len(load.seconds) / counted_s,
                "refused": load.refused,
                "p50_ms": times[len(times) // 2] * 1000,
                "p95_ms": times[len(times) * 95 // 100] * 1000,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
