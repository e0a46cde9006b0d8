"""The outbox: mails are owed in the transaction that makes them due, and sent by the worker.

Delivery is at least once, with the same Message-ID on every try (decisions.md, "Card payments").
"""

import secrets
from datetime import datetime
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.utils import timezone
from django_tasks import task

from apps.core.mail.registry import NoLongerDue, is_registered, render_mail
from apps.core.models import Mail, SiteSettings


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
        try:
            send(mail)
        except NoLongerDue:
            Mail.objects.filter(pk=mail_id).update(
                status=Mail.Status.DROPPED, leased_until=None, last_error=""
            )
        # Whatever went wrong, the mail is still owed: the row says what it was.
        except Exception as error:
            mail.put_off(error, lambda due_at: _enqueue_at(due_at, mail_id))
        else:
            Mail.objects.filter(pk=mail_id).update(
                status=Mail.Status.SENT, sent_at=timezone.now(), leased_until=None, last_error=""
            )
    requeue_stuck_mails()


def send(mail: Mail) -> None:
    """Render a mail and hand it to the mail backend. Raises what either of them raises."""
    rendered = render_mail(mail.template, mail.context, reveal=True)
    headers = {"Message-ID": mail.message_id, "Auto-Submitted": "auto-generated"}
    if rendered.unsubscribe_url:
        headers["List-Unsubscribe"] = f"<{rendered.unsubscribe_url}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message = EmailMultiAlternatives(
        subject=rendered.subject,
        body=rendered.text,
        to=[mail.to],
        reply_to=[rendered.reply_to or SiteSettings.current().support_email],
        headers=headers,
    )
    message.attach_alternative(rendered.html, "text/html")
    message.send()


def retry_mail(mail: Mail) -> bool:
    """Owe a mail again that was given up; False where it was not. For staff."""
    return mail.reopen(lambda: deliver_mail.enqueue(mail_id=mail.pk))


def requeue_stuck_mails() -> int:
    """Enqueue again what is due and has lost its task (a worker died); return how many."""
    return Mail.requeue_stuck(deliver_mail, "mail_id")


def _enqueue_at(due_at: datetime, mail_id: int) -> None:
    deliver_mail.using(run_after=due_at).enqueue(mail_id=mail_id)


def forget_mails_to(email: str) -> int:
    """Delete the mails to an address, sent or not; how many."""
    return Mail.objects.filter(to__iexact=email).delete()[0]
