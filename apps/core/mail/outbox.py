"""The outbox: mails are owed in the transaction that makes them due, and sent by the worker.

Delivery is at least once, with the same Message-ID on every try (decisions.md, "Card payments").
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

from apps.core.mail.delivery import (
    ServerUnreachable,
    compose,
    is_refused_for_good,
    open_connection,
)
from apps.core.mail.registry import NoLongerDue, is_registered, render_mail
from apps.core.models import Mail


def queue_mail(*, key: str, template: str, to: str, context: dict[str, Any]) -> Mail | None:
    """Owe a mail. Call it inside the transaction that makes the mail due: both stand or fall.

    `key` names the occasion ("order-confirmation:12"); the same occasion again adds nothing and
    returns None. `template` is a registered mail, `context` the ids its builder needs (JSON, no
    tokens). Raises LookupError for an unknown template, TransactionManagementError outside a
    transaction.
    """
    if not is_registered(template):
        raise LookupError(f"No mail is registered as {template!r}")
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("queue_mail belongs inside a transaction")
    mail, is_new = Mail.objects.get_or_create(
        key=key,
        defaults={
            "template": template,
            "to": to,
            "context": context,
            "message_id": new_message_id(),
        },
    )
    if not is_new:
        return None
    deliver_mail.enqueue(mail_id=mail.pk)
    return mail


def new_message_id() -> str:
    """A Message-ID of our own domain; it begins with the moment, so that kept files sort by it."""
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    return f"<{timezone.now():%Y%m%d%H%M%S%f}.{secrets.token_hex(8)}@{domain}>"


@task
def deliver_mail(mail_id: int) -> None:
    """Try to send one mail, then look after those whose task was lost."""
    mail = Mail.claim(pk=mail_id)
    if mail is not None:
        _deliver_in_turn(mail)
    requeue_stuck_mails()


def _deliver_in_turn(mail: Mail) -> None:
    """Send a mail, behind those that wait since the server could not be reached.

    The oldest of them is tried in its stead: one try tells for all whether the server is back,
    and then they go in the order in which they were owed.
    """
    first = Mail.claim_waiting(before=mail) or mail
    try:
        reached = _try(first)
    except ServerUnreachable as error:
        if first is not mail:
            # Only asked before its time: it keeps its own tries for the day that it has.
            first.hand_back()
        _put_off(mail, error)
        return
    if reached:
        for pk in Mail.wake_waiting():
            deliver_mail.enqueue(mail_id=pk)
    if first is not mail:
        mail.hand_back()
        deliver_mail.enqueue(mail_id=mail.pk)


def _try(mail: Mail) -> bool:
    """One try, and its outcome in the row; whether the server was reached.

    Raises ServerUnreachable with the row as it was.
    """
    reached = False
    try:
        rendered = render_mail(mail.template, mail.context, reveal=True)
        message = compose(
            rendered, to=mail.to, message_id=mail.message_id, written_at=mail.created_at
        )
        with open_connection() as connection:
            reached = True
            connection.send_messages([message])
    except NoLongerDue:
        Mail.objects.filter(pk=mail.pk).update(
            status=Mail.Status.DROPPED, leased_until=None, waits_for_server=False, last_error=""
        )
    except ServerUnreachable:
        raise
    # Whatever went wrong, the mail is still owed: the row says what it was.
    except Exception as error:
        _put_off(mail, error, for_good=is_refused_for_good(error))
    else:
        Mail.objects.filter(pk=mail.pk).update(
            status=Mail.Status.SENT,
            sent_at=timezone.now(),
            leased_until=None,
            waits_for_server=False,
            last_error="",
        )
    return reached


def _put_off(mail: Mail, error: Exception, *, for_good: bool = False) -> None:
    with transaction.atomic():
        mail.put_off(error, lambda due_at: _enqueue_at(due_at, mail.pk), for_good=for_good)
        Mail.objects.filter(pk=mail.pk).update(
            waits_for_server=isinstance(error, ServerUnreachable)
        )


def retry_mail(mail: Mail) -> bool:
    """Owe a mail again that was given up; False where it was not. For staff."""
    return mail.reopen(lambda: deliver_mail.enqueue(mail_id=mail.pk))


def requeue_stuck_mails() -> int:
    """Enqueue again what is due and has lost its task (a worker died); return how many."""
    return Mail.requeue_stuck(deliver_mail, "mail_id")


def _enqueue_at(due_at: datetime, mail_id: int) -> None:
    deliver_mail.using(run_after=due_at).enqueue(mail_id=mail_id)


def forget_mails_to(email: str) -> int:
    """Delete the mails to an address, sent or not, and those to staff that name it; how many."""
    named = Cast("context", TextField())
    about = Mail.objects.annotate(named=named).filter(
        Q(to__iexact=email) | Q(named__icontains=email)
    )
    return about.delete()[0]


def forget_mails_about(name: str, ids: Collection[int]) -> int:
    """Delete the mails about rows that are deleted, by the name that their context has for them."""
    return Mail.objects.filter(**{f"context__{name}__in": list(ids)}).delete()[0]
