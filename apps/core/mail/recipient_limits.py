"""How many mails strangers can cause to one mailbox (docs/rules.md, "Rate limits").

All forms share one budget for each recipient. Links have a reserve, so that others can't use
up a student's links: whenever a link is refused, one that still works is in the mailbox.
"""

from contextlib import suppress
from enum import Enum

from django.conf import settings

from apps.core.errors import TooManyRequests
from apps.core.identity import email_identity
from apps.core.throttle import Limit

HOUR = 3600


class LinkKind(Enum):
    """A one-time link, with the limit of its reserve: one mail in the time that a link works.

    The link to the classroom works for a week. An hour is enough for a second mail.
    """

    SIGN_IN = Limit("mail-reserve-sign-in", times=1, seconds=HOUR // 2)
    CLASSROOM = Limit("mail-reserve-classroom", times=1, seconds=HOUR)


# The mails of both reserves in an hour.
RESERVED = 3


def count_form_mail(email: str) -> None:
    """Count a mail to an address that nobody has verified; raise TooManyRequests above the budget.

    Call it outside a transaction, so that a rollback does not undo the count.
    """
    budget = Limit("mails-to-recipient", settings.MAILS_PER_RECIPIENT - RESERVED, HOUR)
    budget.count_key(email_identity(email))


def may_mail_link(kind: LinkKind, email: str) -> bool:
    """Count a link that somebody asks for, and whether it may be mailed."""
    with suppress(TooManyRequests):
        kind.value.count_key(email_identity(email))
        return True
    with suppress(TooManyRequests):
        count_form_mail(email)
        return True
    return False
