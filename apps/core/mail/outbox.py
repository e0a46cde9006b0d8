"""The outbox: a mail is queued in the transaction that makes it due, and sent by the worker.

Delivery is at least once, with the same Message-ID on every attempt (docs/rules.md, "Mails").
"""

import secrets
from collections.abc import Collection
from datetime import datetime
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django_tasks import task

from apps.core.inserts import insert_new
from apps.core.mail.delivery import (
    ServerUnreachable,
    compose,
    is_permanent_refusal,
    open_connection,
)
from apps.core.mail.registry import NoLongerDue, is_registered, render_mail
from apps.core.models import Mail
from apps.core.render_memory import remembering
from apps.core.transactions import require_transaction


def queue_mail(*, key: str, template: str, to: str, context: dict[str, Any]) -> Mail | None:
    """Queue a mail. Call this inside the transaction that makes the mail due, so that both are
    committed or rolled back together.

    `key` identifies the occasion ("order-confirmation:12"). A second call with the same key queues
    nothing and returns None. `template` is the name of a registered mail. `context` holds the ids
    that its builder needs: JSON, without tokens. Raises LookupError for an unknown template and
    TransactionManagementError outside a transaction.
    """
    if not is_registered(template):
        raise LookupError(f"No mail is registered as {template!r}")
    require_transaction("queue_mail")
    mail = Mail(key=key, template=template, to=to, context=context, message_id=new_message_id())
    if not insert_new(mail):
        return None
    deliver_mail.enqueue(mail_id=mail.pk)
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
    some_wait = Mail.some_wait()
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
        deliver_mail.enqueue(mail_id=mail.pk)


def _attempt(mail: Mail) -> bool:
    """Attempt to send a mail and store the outcome; return whether the server was reached.

    Raises ServerUnreachable without changing the row.
    """
    reached = False
    try:
        # The site's settings are read once for a mail, not once for each of its parts.
        with remembering({}):
            rendered = render_mail(mail.template, mail.context, reveal=True, to=mail.to)
            message = compose(
                rendered, to=mail.to, message_id=mail.message_id, written_at=mail.created_at
            )
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
        _finish(mail, Mail.Status.SENT, sent_at=timezone.now())
    return reached


def _finish(mail: Mail, status: Mail.Status, **fields: Any) -> None:
    Mail.objects.filter(pk=mail.pk).update(
        status=status, leased_until=None, waits_for_server=False, last_error="", **fields
    )


def _schedule_retry(mail: Mail, error: Exception, *, permanent: bool = False) -> None:
    with transaction.atomic():
        mail.schedule_retry(error, lambda due_at: _enqueue_at(due_at, mail.pk), permanent=permanent)
        Mail.objects.filter(pk=mail.pk).update(
            waits_for_server=isinstance(error, ServerUnreachable)
        )


def retry_mail(mail: Mail) -> bool:
    """Requeue a mail that has failed; False if it has not. For staff."""
    return mail.restart(lambda: deliver_mail.enqueue(mail_id=mail.pk))


def requeue_stuck_mails() -> int:
    """Enqueue due mails whose task was lost, for example with its worker; return how many."""
    return Mail.requeue_stuck(deliver_mail, "mail_id")


def _enqueue_at(due_at: datetime, mail_id: int) -> None:
    deliver_mail.using(run_after=due_at).enqueue(mail_id=mail_id)


def delete_mails_to(email: str) -> int:
    """Delete every mail to an address and every mail to staff that names it; return how many."""
    context_text = Cast("context", TextField())
    about = Mail.objects.annotate(context_text=context_text).filter(
        Q(to__iexact=email) | Q(context_text__icontains=email)
    )
    return about.delete()[0]


def delete_mails_about(name: str, ids: Collection[int]) -> int:
    """Delete the mails about deleted rows; `name` is the context key that holds their ids."""
    return Mail.objects.filter(**{f"context__{name}__in": list(ids)}).delete()[0]
