"""Limits of the mails that staff send to visitors in their own words."""

from typing import Any

from apps.core.identity import email_identity
from apps.core.web.throttle import Limit

# Numbers that the academy never needs, and a computer that was left unattended could send.
OF_AUTHOR = Limit("answers-of-author", times=200, seconds=86400)
TO_MAILBOX = Limit("answers-to-mailbox", times=10, seconds=3600)


def count_answer(to: str, author: Any) -> None:
    """Count a mail in the author's own words, with a quote, or with a gift that moves to `to`.

    Raises TooManyRequests.
    """
    OF_AUTHOR.count_key(str(author.pk))
    TO_MAILBOX.count_key(email_identity(to))
