"""The timeline of an order's admin page: everything that has happened, oldest first.

Entries come from the order's history, notes, mails and classroom access. Text is Spanish.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils.text import capfirst
from django.utils.timezone import localtime

from apps.classroom.models import AccessChange, Provisioning
from apps.core.mail.failure_words import failure_in_words
from apps.core.mail.samples import mail_title
from apps.core.models import Mail
from apps.orders.models import Order, OrderEvent, OrderNote
from apps.orders.models.statuses import EventKind

# Events that a person should notice at a glance.
BAD = {
    EventKind.APPROVAL_REFUSED,
    EventKind.CARD_REFUSED,
    EventKind.CHARGE_REFUSED,
    EventKind.DISPUTE_LOST,
    EventKind.DISPUTE_OPENED,
    EventKind.OVERDUE,
    EventKind.PAYMENT_DECLINED,
    EventKind.PAYMENT_LATE,
    EventKind.PAYMENT_MISFIT,
    EventKind.PAYMENT_UNMATCHED,
    EventKind.REFUND_EXCEEDS,
    EventKind.REFUND_INCOMPLETE,
    EventKind.REFUND_REJECTED,
    EventKind.REFUND_SENT_BACK,
}
GOOD = {EventKind.PAID, EventKind.INSTALMENTS_PAID, EventKind.DISPUTE_WON}
# A mail that was sent so long after it was queued has an entry for each.
SENT_LATE = timedelta(hours=1)
# The most mails, events and notes that are shown. An order has a dozen; their lists have them all.
MOST_MAILS = 200
MOST_EVENTS = 500


@dataclass(frozen=True)
class Entry:
    """One line of the timeline. `mail_id` is set if its mail can be opened in place."""

    at: datetime
    title: str
    detail: str = ""
    actor: str = ""
    tone: str = ""
    mail_id: int | None = None
    note: OrderNote | None = None


def timeline(order: Order) -> list[Entry]:
    """All entries, oldest first. The number of queries does not grow with the entries."""
    entries = [
        *map(_event, order.events.order_by("-pk")[:MOST_EVENTS]),
        *map(_note, order.notes.order_by("-pk")[:MOST_EVENTS]),
        *(entry for mail in mails_of(order) for entry in _mail(mail)),
        *_access(order),
    ]
    return sorted(entries, key=lambda entry: entry.at)


def _event(event: OrderEvent) -> Entry:
    # A text: a newer release, beside this one or rolled back, may have stored kinds of its own.
    kind = event.kind
    tone = "bad" if kind in BAD else "good" if kind in GOOD else ""
    title = event.get_kind_display() or "Historial"
    # Many reasons are or begin with the name of their kind, which is the title already.
    reason = "" if event.reason == title else capfirst(event.reason.removeprefix(f"{title}: "))
    return Entry(
        at=event.at,
        title=title,
        detail=f"{reason}{_change_of_status(event)}",
        actor=event.actor,
        tone=tone,
    )


def _change_of_status(event: OrderEvent) -> str:
    # A canceled order has the status of one whose time was up, and is not called that.
    if not event.to_status or event.kind == EventKind.CANCELED:
        return ""
    return f" ({event.get_from_status_display()} → {event.get_to_status_display()})"


def _note(note: OrderNote) -> Entry:
    return Entry(
        at=note.created_at, title="Nota", detail=note.text, actor=note.actor, tone="note", note=note
    )


def mails_of(order: Order) -> QuerySet[Mail]:
    """The mails about this order, whatever the address was then. Notices to staff are left out."""
    about = Mail.objects.filter(context__order_id=order.pk).exclude(to=settings.STAFF_EMAIL)
    return about.order_by("-created_at")[:MOST_MAILS]


def _mail(mail: Mail) -> Iterator[Entry]:
    """A mail when it was queued, and once more when it was sent if that was much later."""
    title = f"Correo: {mail_title(mail.template)}"
    state = mail.get_status_display().lower()
    if mail.last_error and mail.status in (Mail.Status.FAILED, Mail.Status.QUEUED):
        state += f". {failure_in_words(mail.last_error)}"
    tone = "bad" if mail.status == Mail.Status.FAILED else "mail"
    is_late = mail.sent_at is not None and mail.sent_at - mail.created_at > SENT_LATE
    if is_late and mail.sent_at is not None:
        queued, sent = (f"{localtime(at):%d/%m/%Y %H:%M}" for at in (mail.created_at, mail.sent_at))
        # The address may have been corrected in between, so the first entry names none.
        yield Entry(mail.created_at, title, f"no salió hasta el {sent}", tone=tone)
        detail = f"{mail.to}: {state}. Esperaba desde el {queued}"
        yield Entry(mail.sent_at, title, detail, tone=tone, mail_id=mail.pk)
        return
    yield Entry(mail.created_at, title, f"{mail.to}: {state}", tone=tone, mail_id=mail.pk)


def _access(order: Order) -> Iterator[Entry]:
    for row in Provisioning.objects.filter(order_id=order.pk):
        failed = row.status == Provisioning.Status.FAILED
        yield Entry(
            at=row.created_at,
            title="Acceso al aula",
            detail=f"{row.get_status_display().lower()}. {row.last_error}".removesuffix(". "),
            tone="bad" if failed else "",
        )
    for change in AccessChange.objects.filter(order_id=order.pk).order_by("-pk")[:MOST_EVENTS]:
        what = f"{change.reason} ({change.note})" if change.note else change.reason
        # What is done needs no word: it is in the classroom.
        is_done = change.status == AccessChange.Status.DONE
        state = "" if is_done else f": {change.get_status_display().lower()}"
        yield Entry(
            at=change.created_at,
            title="Cambio de acceso",
            detail=f"{what}{state}. {change.last_error}".removesuffix(". "),
            tone="bad" if change.status == AccessChange.Status.FAILED else "",
        )
