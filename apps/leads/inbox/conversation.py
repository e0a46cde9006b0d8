"""Answers, notes, assignees and states of leads. Each change is kept in the conversation."""

from typing import Any
from uuid import UUID

from django.db import transaction

from apps.core.errors import Conflict
from apps.core.mail.outbox import queue_mail
from apps.core.staff.answer_limits import count_answer
from apps.leads.models import Lead, LeadEntry

# Each has up to 5,000 letters, and the page shows all of them.
MOST_NOTES = 100
# Of state and assignee, in one conversation. The log of staff has the later ones.
MOST_CHANGES = 200


class TooManyNotes(Conflict):
    message = f"Esta solicitud tiene ya {MOST_NOTES} notas: no caben más."


@transaction.atomic
def answer_lead(
    *, lead_id: int, author: Any, subject: str, body: str, key_id: UUID
) -> LeadEntry | None:
    """Keep an answer and queue its mail to the visitor. None if `key_id` was answered before.

    The lead is answered from now on, and belongs to the author if it had no assignee. Raises
    TooManyRequests.
    """
    lead = locked_lead(lead_id)
    if entry_with_key(key_id) is not None:
        return None
    count_answer(lead.email, author)
    entry = add_entry(lead, LeadEntry.Kind.ANSWER, author, body, subject=subject, key_id=key_id)
    note_first_answer(lead, author)
    queue_mail(
        key=entry.mail_key,
        template="lead_answer",
        to=lead.email,
        context={"lead_entry_id": entry.pk},
    )
    return entry


@transaction.atomic
def add_note(*, lead_id: int, author: Any, body: str, key_id: UUID) -> LeadEntry | None:
    """Keep a note that only staff read. None if `key_id` was noted before.

    Raises TooManyNotes.
    """
    lead = locked_lead(lead_id)
    if entry_with_key(key_id) is not None:
        return None
    if lead.entries.filter(kind=LeadEntry.Kind.NOTE).count() >= MOST_NOTES:
        raise TooManyNotes
    return add_entry(lead, LeadEntry.Kind.NOTE, author, body, key_id=key_id)


@transaction.atomic
def assign_lead(*, lead_id: int, assignee: Any | None, author: Any) -> bool:
    """Assign the lead to a member of staff, who is told by mail, or to nobody.

    Whoever takes a lead gets no mail about it, and nobody after MOST_CHANGES. False if that changes
    nothing.
    """
    lead = locked_lead(lead_id)
    if lead.assigned_to == assignee:
        return False
    lead.assigned_to = assignee
    lead.save(update_fields=["assigned_to"])
    name = assignee.get_username() if assignee else "nadie"
    if not _has_room_for_changes(lead):
        return True
    entry = add_entry(lead, LeadEntry.Kind.ASSIGNED, author, f"Asignada a {name}")
    if assignee is not None and assignee != author and assignee.email:
        queue_mail(
            key=f"lead-assigned:{entry.pk}",
            template="lead_assigned",
            to=assignee.email,
            context={"lead_id": lead.pk, "by": author.get_username()},
        )
    return True


@transaction.atomic
def set_status(*, lead_id: int, status: str, author: Any) -> bool:
    """Give the lead this status. False if it has it already."""
    lead = locked_lead(lead_id)
    if lead.status == status:
        return False
    lead.move_to(status)
    lead.save(update_fields=["status", "answered_at"])
    if _has_room_for_changes(lead):
        add_entry(lead, LeadEntry.Kind.STATUS, author, f"Pasa a «{lead.get_status_display()}»")
    return True


def _has_room_for_changes(lead: Lead) -> bool:
    changes = (LeadEntry.Kind.ASSIGNED, LeadEntry.Kind.STATUS)
    return lead.entries.filter(kind__in=changes).count() < MOST_CHANGES


def locked_lead(lead_id: int) -> Lead:
    return Lead.objects.select_for_update(no_key=True).get(pk=lead_id)


def entry_with_key(key_id: UUID) -> LeadEntry | None:
    """The entry that an earlier click on the same form made. The caller holds the lead's lock."""
    return LeadEntry.objects.filter(key_id=key_id).select_related("lead").first()


def add_entry(lead: Lead, kind: LeadEntry.Kind, author: Any, body: str, **fields: Any) -> LeadEntry:
    return LeadEntry.objects.create(
        lead=lead, kind=kind, author=author, author_name=author.get_username(), body=body, **fields
    )


def note_first_answer(lead: Lead, author: Any) -> None:
    """Mark a lead as answered by this author. The caller holds its lock."""
    lead.move_to(Lead.Status.ANSWERED)
    if lead.assigned_to is None:
        lead.assigned_to = author
    lead.save(update_fields=["status", "answered_at", "assigned_to"])
