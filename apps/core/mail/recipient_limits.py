"""How many mails strangers can cause to one mailbox (docs/rules.md, "Rate limits").

`queue_mail` asks here before it queues a mail, so no form and no job can forget it. All mails that
a visitor can cause share one budget for each mailbox. Links have a reserve, so that others can't
use up a student's links: whenever a link of a customer is withheld, one that still works is in the
mailbox.
"""

from enum import Enum

from django.conf import settings

from apps.core.errors import TooManyRequests
from apps.core.identity import email_identity
from apps.core.web.throttle import Limit

HOUR = 3600
DAY = 24 * HOUR


class Origin(Enum):
    """The cause of a mail. It decides whether the mail can be withheld.

    Mails of staff, of the owner of the address, and about a payment or the access that was paid are
    never withheld.
    """

    STAFF = "staff"
    # The owner of the address, shown by a link of its mailbox or an earlier sign-in on this device.
    OWNER = "owner"
    PAYMENT = "payment"
    # A visitor has typed the address into a form and waits for the answer, which may be 429.
    FORM = "form"
    # The same, but what the visitor asks for is done without the mail, too.
    ORDER = "order"
    # As FORM, but this visitor has shown that the address is theirs.
    OWNER_FORM = "owner-form"
    # As ORDER, by such a visitor.
    OWNER_ORDER = "owner-order"
    # A visitor who typed the address causes it later, or without asking for a mail.
    EVENT = "event"
    # As EVENT, by a job that has a limit of its own for all mailboxes together.
    PACED = "paced"
    # Notices to the academy about what visitors send. Each of them is also a row in the admin.
    NOTICE = "notice"
    SIGN_IN_LINK = "sign-in-link"
    CLASSROOM_LINK = "classroom-link"
    STAFF_LINK = "staff-link"


# The reserves: one mail in the time that a link works. The link to the classroom works for a week,
# that of staff for three days. An hour is enough for a second mail.
RESERVES = {
    Origin.SIGN_IN_LINK: Limit("mail-reserve-sign-in", times=1, seconds=HOUR // 2),
    Origin.CLASSROOM_LINK: Limit("mail-reserve-classroom", times=1, seconds=HOUR),
    Origin.STAFF_LINK: Limit("mail-reserve-staff", times=1, seconds=HOUR),
}
# The mails of the reserves of a student in an hour.
RESERVED = 3
NOTICES = Limit("mail-notices", times=60, seconds=HOUR)
# The mails of forms to all mailboxes together: the academy must not become a sender of spam.
ALL_FORMS = Limit("mails-of-all-forms", times=300, seconds=HOUR)
# The same for what strangers cause without a form. An order that costs nothing has three mails.
ALL_EVENTS = Limit("mails-of-all-events", times=600, seconds=HOUR)
_OF_ALL = {Origin.FORM: ALL_FORMS, Origin.ORDER: ALL_FORMS, Origin.EVENT: ALL_EVENTS}
# The mails of saved carts, transfers, free orders, withdrawals and "Avísame" that one network (of
# IPv6 a /48) causes. Other forms have as much again, each by itself: it takes several networks to
# use up the shared limit, which withholds mails and refuses nothing that is done without them.
FORM_MAILS_OF_NETWORK = Limit("form-mails-network", times=30, seconds=HOUR)
# The links that one network asks for, to students who have neither confirmed the address nor paid.
LINKS_OF_NETWORK = Limit("links-network", times=30, seconds=HOUR)
# The budget of a day, in budgets of an hour.
HOURS_A_DAY = 4


def may_be_sent(origin: Origin, email: str, *, kind: str = "", network: str = "") -> bool:
    """Count a mail to this mailbox. Return whether it may be sent; otherwise withhold it.

    Notices of one `kind` share a budget: many forms of one kind do not use up that of the others.
    `network` is that of the visitor who causes the mail now, where the form does not count it. A
    link has one if anybody may have typed the address.
    Call it in the transaction that queues the mail: without the mail, nothing is counted. Raises
    TooManyRequests for a form whose visitor has to wait. That depends on earlier forms alone. If it
    depended on all mails, it would tell a stranger what the owner of the address has bought.
    """
    mailbox = email_identity(email)
    if origin in (Origin.STAFF, Origin.OWNER, Origin.PAYMENT):
        return True
    if origin is Origin.NOTICE:
        return _fits(NOTICES, f"{kind} {mailbox}")
    if origin in RESERVES:
        if network and not _fits(LINKS_OF_NETWORK, network):
            return False
        if _fits(RESERVES[origin], mailbox):
            return not network or _fits(ALL_FORMS, "all")
    elif network and not _fits(FORM_MAILS_OF_NETWORK, network):
        return False
    an_hour = settings.MAILS_PER_RECIPIENT - RESERVED
    if origin in (Origin.OWNER_FORM, Origin.OWNER_ORDER):
        # A shared computer may be known: a mailbox has a budget. Nobody else uses it up, and it
        # uses up none of the others.
        in_hour = Limit("mails-of-owner", an_hour, HOUR)
        in_day = Limit("mails-of-owner-day", an_hour * HOURS_A_DAY, DAY)
        if origin is Origin.OWNER_ORDER:
            return _fits(in_hour, mailbox) and _fits(in_day, mailbox)
        in_hour.count_key(mailbox)
        in_day.count_key(mailbox)
        return True
    if origin is Origin.FORM:
        Limit("mails-of-forms", an_hour, HOUR).count_key(mailbox)
    # Both are counted, whatever the first one says.
    fits_hour = _fits(Limit("mails-to-recipient", an_hour, HOUR), mailbox)
    fits_day = _fits(Limit("mails-to-recipient-day", an_hour * HOURS_A_DAY, DAY), mailbox)
    # A mail that a narrower budget withholds uses up none of the next ones.
    shared = ALL_FORMS if origin in RESERVES and network else _OF_ALL.get(origin)
    return fits_hour and fits_day and (shared is None or _fits(shared, "all"))


def link_was_used(origin: Origin, email: str) -> None:
    """Give the reserve of a link back, because the link that was mailed works no longer.

    Otherwise its owner would get no second one while others have used up the mailbox's budget.
    """
    RESERVES[origin].forget(email_identity(email))


def _fits(limit: Limit, mailbox: str) -> bool:
    try:
        limit.count_key(mailbox)
    except TooManyRequests:
        return False
    return True
