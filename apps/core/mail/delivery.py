"""Building the e-mail message, connecting to the mail server and reading its errors."""

import smtplib
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from email.utils import format_datetime

from anymail.exceptions import AnymailRecipientsRefused  # type: ignore[import-untyped]
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.timezone import localtime

from apps.core.mail.registry import RenderedMail
from apps.core.models import SiteSettings

# "No such mailbox", "user not local" and "mailbox name not allowed" (RFC 5321, section 4.2.3).
NO_SUCH_MAILBOX = {550, 551, 553}
# RFC 5322 recommends at most 78 characters in a line of plain text.
TEXT_WIDTH = 76
# Mail servers limit the mails of one connection, most of them to 100 or more.
MAILS_PER_CONNECTION = 50
SMTP_OK = 250


class ServerUnreachable(Exception):
    """Connecting or signing in to the mail server failed. No single mail is the cause."""


def compose(
    rendered: RenderedMail, *, to: str, message_id: str, written_at: datetime
) -> EmailMultiAlternatives:
    """Build the message with its headers.

    `written_at` is when the mail was queued, so that every attempt has the same Date header. The
    Auto-Submitted header suppresses automatic replies (RFC 3834).
    """
    headers = {
        "Message-ID": message_id,
        "Date": format_datetime(localtime(written_at)),
        "Auto-Submitted": "auto-generated",
    }
    if rendered.unsubscribe_url:
        headers["List-Unsubscribe"] = f"<{rendered.unsubscribe_url}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message = EmailMultiAlternatives(
        subject=rendered.subject,
        body="".join(f"{_wrapped(line)}\n" for line in rendered.text.splitlines()),
        to=[to],
        reply_to=[rendered.reply_to or SiteSettings.current().support_email],
        headers=headers,
    )
    message.attach_alternative(rendered.html, "text/html")
    for attachment in rendered.attachments:
        message.attach(attachment.name, attachment.make(), "application/pdf")
    return message


def _wrapped(line: str) -> str:
    """Wrap a paragraph into lines; links are not broken."""
    if len(line) <= TEXT_WIDTH:
        return line
    return textwrap.fill(
        line,
        TEXT_WIDTH,
        subsequent_indent="  " if line.startswith("- ") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


class _KeptConnection:
    """The connection to the mail server that the mails of one batch share, once there is one."""

    def __init__(self) -> None:
        self._connection: BaseEmailBackend | None = None
        self._mails = 0

    def take(self) -> BaseEmailBackend:
        """The connection, opened again if it is used up or the server has ended it."""
        if self._connection is None or self._mails >= MAILS_PER_CONNECTION or not self._answers():
            self.close()
            self._connection, self._mails = _opened(), 0
        self._mails += 1
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            _close(self._connection)
            self._connection = None

    def _answers(self) -> bool:
        smtp = getattr(self._connection, "connection", None)
        if not isinstance(smtp, smtplib.SMTP):
            return True
        try:
            return smtp.noop()[0] == SMTP_OK
        except (OSError, smtplib.SMTPException):
            return False


_kept: ContextVar[_KeptConnection | None] = ContextVar("_kept", default=None)


@contextmanager
def keeping_connection() -> Iterator[None]:
    """Within the block the mails share connections: the worker sends those that are due in a row.

    A connection with TLS and a password takes longer than the mail itself.
    """
    kept = _KeptConnection()
    token = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(token)
        kept.close()


@contextmanager
def open_connection() -> Iterator[BaseEmailBackend]:
    """A connection to the mail server, for one mail. Raises ServerUnreachable if there is none.

    It is closed afterwards, or kept for the next mail within `keeping_connection`. After an error
    it is never kept.
    """
    kept = _kept.get()
    connection = _opened() if kept is None else kept.take()
    try:
        yield connection
    except BaseException:
        if kept is not None:
            kept.close()
        raise
    finally:
        if kept is None:
            _close(connection)


def _opened() -> BaseEmailBackend:
    connection = get_connection()
    try:
        connection.open()
    # Any error here (no route, no TLS, a wrong password) would affect every mail.
    except Exception as error:
        raise ServerUnreachable(f"{type(error).__name__}: {error}") from error
    return connection


def _close(connection: BaseEmailBackend) -> None:
    # The mail was accepted or refused before this, so an error on closing doesn't matter.
    with suppress(Exception):
        connection.close()


def is_permanent_refusal(error: Exception) -> bool:
    """Whether the server refuses this address permanently, so that a retry is pointless.

    A refusal to relay (5.7.x) is not permanent: it is a configuration error of the server.
    """
    if isinstance(error, AnymailRecipientsRefused):
        return True
    if not isinstance(error, smtplib.SMTPRecipientsRefused):
        return False
    return all(
        code in NO_SUCH_MAILBOX and b"5.7." not in reason and b"relay" not in reason.lower()
        for code, reason in error.recipients.values()
    )
