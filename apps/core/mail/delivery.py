"""A rendered mail as a message with its headers, and what the mail server says about it."""

import smtplib
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from email.utils import format_datetime

from anymail.exceptions import AnymailRecipientsRefused  # type: ignore[import-untyped]
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.timezone import localtime

from apps.core.mail.registry import RenderedMail
from apps.core.models import SiteSettings

# "No such mailbox", "user not local", "mailbox name not allowed" (RFC 5321, section 4.2.3).
NO_SUCH_MAILBOX = {550, 551, 553}
# A line of plain text that is read without effort (RFC 5322 asks for 78 at most).
TEXT_WIDTH = 76


class ServerUnreachable(Exception):
    """No connection to the mail server, or no sign-in there: no mail's fault."""


def compose(
    rendered: RenderedMail, *, to: str, message_id: str, written_at: datetime
) -> EmailMultiAlternatives:
    """The message as it travels.

    `written_at` is when the mail became due, not when it is tried: a mail that is sent again is
    the same mail. Auto-Submitted keeps holiday notices from answering (RFC 3834).
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
    return message


def _wrapped(line: str) -> str:
    """A paragraph as lines of readable length; links stay whole."""
    if len(line) <= TEXT_WIDTH:
        return line
    return textwrap.fill(
        line,
        TEXT_WIDTH,
        subsequent_indent="  " if line.startswith("- ") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


@contextmanager
def open_connection() -> Iterator[BaseEmailBackend]:
    """A connection to the mail server, open. Raises ServerUnreachable where there is none."""
    connection = get_connection()
    try:
        connection.open()
    # Whatever it is (no route, no TLS, a wrong password): it would befall every mail.
    except Exception as error:
        raise ServerUnreachable(f"{type(error).__name__}: {error}") from error
    try:
        yield connection
    finally:
        # The mail has been taken or not by now; a farewell that fails changes nothing.
        with suppress(Exception):
            connection.close()


def is_refused_for_good(error: Exception) -> bool:
    """Whether the address will never take a mail, so that trying all day would be of no use.

    A server that relays nothing for us (5.7.x) is badly set up, which somebody will mend.
    """
    if isinstance(error, AnymailRecipientsRefused):
        return True
    if not isinstance(error, smtplib.SMTPRecipientsRefused):
        return False
    return all(
        code in NO_SUCH_MAILBOX and b"5.7." not in reason and b"relay" not in reason.lower()
        for code, reason in error.recipients.values()
    )
