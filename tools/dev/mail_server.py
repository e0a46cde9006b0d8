"""A mail server on a free port of the loopback address, which can fail like a real one.

It speaks just enough SMTP for `smtplib`, and keeps what it takes. aiosmtpd would bring a package
for sixty lines.
"""

import email
import email.policy
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any, ClassVar


class _Conversation(socketserver.StreamRequestHandler):
    server: "MailServer"
    timeout = 20

    def handle(self) -> None:
        self.server.connections += 1
        self.server.answers_at_all.wait()
        self._say(220, "ready")
        recipient = ""
        while line := self.rfile.readline():
            words = line.decode().strip()
            match words.upper().split(":")[0].split(" ")[0]:
                case "EHLO" | "HELO":
                    self._say(250, "8BITMIME")
                case "MAIL" | "RSET" | "NOOP":
                    self._say(250, "OK")
                case "RCPT":
                    recipient = words.partition("<")[2].partition(">")[0]
                    self._say(*self.server.answers.get(recipient, (250, "OK")))
                case "DATA":
                    self._say(354, "go on")
                    self._take(recipient)
                    if self.server.drops:
                        # The mail is accepted, but the sender receives no answer.
                        self.server.drops -= 1
                        return
                    self._say(250, "taken")
                    if self.server.ends_after_a_mail:
                        return
                case "QUIT":
                    self._say(221, "bye")
                    return
                case _:
                    self._say(502, "unknown")

    def _take(self, recipient: str) -> None:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        self.server.taken.append((recipient, b"".join(lines)))

    def _say(self, code: int, text: str) -> None:
        self.wfile.write(f"{code} {text}\r\n".encode())


class MailServer(socketserver.ThreadingTCPServer):
    """`answers` to RCPT by address. The next `drops` mails are accepted without an answer.

    While `answers_at_all` is cleared, connections are accepted, counted and left without an answer.
    With `ends_after_a_mail` it ends the conversation when it has taken a mail.
    """

    allow_reuse_address = True
    daemon_threads = True
    address: ClassVar[str] = "127.0.0.1"

    def __init__(self, port: int = 0) -> None:
        super().__init__((self.address, port), _Conversation)
        self.port = int(self.server_address[1])
        self.answers: dict[str, tuple[int, str]] = {}
        self.drops = 0
        self.ends_after_a_mail = False
        self.taken: list[tuple[str, bytes]] = []
        self.connections = 0
        self.answers_at_all = threading.Event()
        self.answers_at_all.set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have gone away meanwhile."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def messages(self) -> list[EmailMessage]:
        policy = email.policy.default
        return [email.message_from_bytes(raw, policy=policy) for _, raw in self.taken]

    def recipients(self) -> list[str]:
        return [recipient for recipient, _ in self.taken]


@contextmanager
def running_mail_server(port: int = 0) -> Iterator[MailServer]:
    """Run a server inside the block. `port` restarts it on the port of an earlier one."""
    with MailServer(port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
