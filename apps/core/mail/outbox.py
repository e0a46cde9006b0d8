"""The outbox: a mail is queued in the transaction that makes it due, and sent by the worker.

Delivery is at least once, with the same Message-ID on every attempt (docs/rules.md, "Mails").
"""

import logging
import secrets
from collections.abc import Collection
from datetime import datetime
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django_tasks import task

from apps.core.database import insert_new, require_transaction
from apps.core.errors import TooManyRequests
from apps.core.identity import names_address
from apps.core.mail.delivery import (
    ServerUnreachable,
    compose,
    is_permanent_refusal,
    open_connection,
)
from apps.core.mail.recipient_limits import Origin, may_be_sent
from apps.core.mail.registry import (
    NoLongerDue,
    is_link,
    is_registered,
    origin_of,
    render_mail,
    student_of,
    words_of,
)
from apps.core.models import Mail, SiteSettings
from apps.core.monitoring.purchase_log import log_step
from apps.core.render_memory import remembering

logger = logging.getLogger(__name__)

# Links that work for a time do not wait behind thousands of other mails, such as invoices that
# staff send again.
PRIORITY_OF_LINKS = 10


class RecipientChanged(Exception):
    """The mail's address was changed, or the mail was deleted, while it was rendered."""


def queue_mail(
    *,
    key: str,
    template: str,
    to: str,
    context: dict[str, Any],
    origin: Origin | None = None,
    kind: str = "",
    network: str = "",
) -> Mail | None:
    """Queue a mail. Call this inside the transaction that makes the mail due, so that both are
    committed or rolled back together.

    `key` identifies the occasion ("order-confirmation:12"). A second call with the same key queues
    nothing and returns None. `template` is the name of a registered mail. `context` holds the ids
    that its builder needs: JSON, without tokens. `origin` says who causes this very mail, if that
    differs from what its template says. `kind` divides the notices of one template: each kind has a
    budget of its own. `network` is that of the visitor, for mails which the form does not count.

    If strangers have used up the budget of the mailbox or of the network, the mail is stored as
    withheld, and staff decide about it. Raises TooManyRequests instead for a form that is nothing
    without its mail, LookupError for an unknown template, and TransactionManagementError outside a
    transaction.
    """
    if not is_registered(template):
        raise LookupError(f"No mail is registered as {template!r}")
    require_transaction("queue_mail")
    mail = Mail(key=key, template=template, to=to, context=context, message_id=new_message_id())
    if not insert_new(mail):
        return None
    try:
        origin = origin or origin_of(template, context)
        is_sent = may_be_sent(origin, to, kind=f"{template} {kind}", network=network)
    except TooManyRequests:
        # A caller may catch the refusal and commit: `requeue_stuck_mails` would send this row.
        mail.delete()
        raise
    if is_sent:
        _enqueue(mail)
    else:
        Mail.objects.filter(pk=mail.pk).update(status=Mail.Status.WITHHELD)
        mail.status = Mail.Status.WITHHELD
        logger.warning("mail %s (%s) withheld: a budget is used up", mail.pk, template)
    return mail


def new_message_id() -> str:
    """A Message-ID of our own domain. It starts with the time, so that stored files sort by it."""
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    return f"<{timezone.now():%Y%m%d%H%M%S%f}.{secrets.token_hex(8)}@{domain}>"


@task(queue_name="mail")
def deliver_mail(mail_id: int) -> None:
    """Attempt to send one mail."""
    mail = Mail.claim(pk=mail_id)
    if mail is not None:
        _deliver_in_order(mail)


def _deliver_in_order(mail: Mail) -> None:
    """Send a mail after all older mails that wait for an unreachable mail server.

    The oldest waiting mail is sent first. One attempt shows whether the server is back, and if it
    is, the waiting mails are sent in the order in which they were queued.
    """
    some_wait = Mail.any_waiting()
    first = (Mail.claim_waiting(before=mail) if some_wait else None) or mail
    try:
        reached = _attempt(first)
    except ServerUnreachable as error:
        if first is not mail:
            # An early probe. It does not count as an attempt of that mail.
            first.release()
        _schedule_retry(mail, error)
        return
    if reached and some_wait:
        for pk in Mail.wake_waiting():
            deliver_mail.enqueue(mail_id=pk)
    if first is not mail:
        mail.release()
        _enqueue(mail)


def _attempt(mail: Mail) -> bool:
    """Attempt to send a mail and store the outcome; return whether the server was reached.

    Raises ServerUnreachable without changing the row.
    """
    reached = False
    try:
        # The site's settings are read once for a mail, not once for each of its parts.
        with remembering({}):
            words = words_of(SiteSettings.current(), mail.template)
            rendered = render_mail(
                mail.template, mail.context, reveal=True, to=mail.to, words=words
            )
            message = compose(
                rendered, to=mail.to, message_id=mail.message_id, written_at=mail.created_at
            )
        if not Mail.objects.filter(pk=mail.pk, to=mail.to).exists():
            raise RecipientChanged("El correo del destinatario ha cambiado entretanto.")
        with open_connection() as connection:
            reached = True
            connection.send_messages([message])
    except NoLongerDue:
        _finish(mail, Mail.Status.DROPPED)
    except ServerUnreachable:
        raise
    # Any other error is stored in the row, and the mail stays queued for a retry.
    except Exception as error:
        _schedule_retry(mail, error, permanent=is_permanent_refusal(error))
    else:
        sent: Any = getattr(message, "anymail_status", None)
        named = sent is not None and sent.message_id is not None
        provider_id = str(sent.message_id)[:200] if named else ""
        _finish(
            mail,
            Mail.Status.SENT,
            sent_at=timezone.now(),
            provider_id=provider_id,
            sent_words=dict(words),
        )
        if order_id := mail.context.get("order_id"):
            log_step(order_id, "mail_sent", mail.template)
    return reached


def _finish(mail: Mail, status: Mail.Status, **fields: Any) -> None:
    Mail.objects.filter(pk=mail.pk).update(
        status=status, leased_until=None, waits_for_server=False, last_error="", **fields
    )


def _schedule_retry(mail: Mail, error: Exception, *, permanent: bool = False) -> None:
    with transaction.atomic():
        mail.schedule_retry(error, lambda due_at: _enqueue(mail, due_at), permanent=permanent)
        Mail.objects.filter(pk=mail.pk).update(
            waits_for_server=isinstance(error, ServerUnreachable)
        )


def retry_mail(mail: Mail, *, even_dropped: bool = False) -> bool:
    """Queue a mail that has failed or was withheld; False if it was neither. For staff.

    `even_dropped` queues a mail that staff have discarded, too.
    """
    states = [Mail.Status.FAILED, Mail.Status.WITHHELD]
    if even_dropped:
        states.append(Mail.Status.DROPPED)
    return mail.restart(lambda: _enqueue(mail), states=states)


def discard_mails(mails: QuerySet[Mail]) -> int:
    """Decide that withheld and failed mails are not sent; return how many. For staff."""
    unsent = (Mail.Status.WITHHELD, Mail.Status.FAILED)
    return mails.filter(status__in=unsent).update(status=Mail.Status.DROPPED)


def requeue_stuck_mails() -> int:
    """Enqueue due mails whose task was lost, for example with its worker; return how many."""
    return Mail.requeue_stuck(deliver_mail, "mail_id")


def _enqueue(mail: Mail, due_at: datetime | None = None) -> None:
    priority = PRIORITY_OF_LINKS if is_link(mail.template) else None
    deliver_mail.using(priority=priority, run_after=due_at).enqueue(mail_id=mail.pk)


# The problem of a failed mail whose address was corrected since: what the server said of the former
# address says nothing of this one.
ADDRESS_CORRECTED = (
    "La dirección se ha corregido después del fallo: envíalo ahora e irá a la nueva."
)


def move_waiting_mails(*, students: Collection[int], before: str, after: str) -> None:
    """Send the students' mails that wait for their former address to the new one.

    A mail is rendered when it is sent. At the former address, which may be a stranger's, it would
    show links and facts of the account as it is now. A mail that has failed or was discarded stays
    so until staff send it again. Call it in the transaction of the change.
    """
    unsent = (Mail.Status.QUEUED, Mail.Status.FAILED, Mail.Status.WITHHELD, Mail.Status.DROPPED)
    waiting = Mail.objects.filter(status__in=unsent)
    for mail in waiting.filter(to__iexact=before):
        if student_of(mail.template, mail.context) in students:
            waiting.filter(pk=mail.pk).update(to=after)
            failed = waiting.filter(pk=mail.pk, status=Mail.Status.FAILED)
            failed.update(last_error=ADDRESS_CORRECTED)


def delete_mails_to(email: str) -> int:
    """Delete every mail to an address and every mail to staff that names it; return how many."""
    context_text = Cast("context", TextField())
    containing = Mail.objects.annotate(context_text=context_text).filter(
        context_text__icontains=email
    )
    found = containing.values_list("pk", "context")
    naming = [pk for pk, context in found if names_address(context, email)]
    return Mail.objects.filter(Q(to__iexact=email) | Q(pk__in=naming)).delete()[0]


def delete_mails_about(name: str, ids: Collection[int]) -> int:
    """Delete the mails about deleted rows; `name` is the context key that holds their ids."""
    return Mail.objects.filter(**{f"context__{name}__in": list(ids)}).delete()[0]
