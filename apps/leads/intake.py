"""How a form becomes a row: the row, what was accepted and the academy's mail, or none of them."""

from collections.abc import Collection
from typing import Any

from django.conf import settings

from apps.core.mail.outbox import queue_mail
from apps.core.models import LegalText
from apps.core.throttle import Limit
from apps.leads.models import Lead, LeadConsent
from apps.students.models import Consent
from apps.students.wordings import TEXTS, WORDINGS

# decisions.md, "Forms and leads": 3 mails per hour to one address, whoever asks for them.
MAILS_PER_RECIPIENT = Limit("form-mails", times=3, seconds=3600)


def count_mail_to(email: str) -> None:
    """Count a mail that a form sends to an address nobody has verified.

    Call it before the transaction: what is refused must not undo the count. Raises TooManyRequests.
    """
    MAILS_PER_RECIPIENT.count_key(email.strip().lower())


def open_lead(
    kind: Lead.Kind, *, email: str, accepted: Collection[Consent.Kind] = (), **fields: Any
) -> Lead:
    """Write the row and its consents, and owe the academy its mail. Call it in a transaction.

    What was accepted is kept in the words of `students.wordings` and the version in force.
    """
    lead = Lead.objects.create(kind=kind, email=email.strip().lower(), **fields)
    LeadConsent.objects.bulk_create(
        LeadConsent(
            lead=lead,
            legal_text=LegalText.objects.current(TEXTS[consent]),
            wording=WORDINGS[consent],
        )
        for consent in accepted
    )
    queue_mail(
        key=f"lead:{lead.pk}",
        template="lead_received",
        to=settings.STAFF_EMAIL,
        context={"lead_id": lead.pk},
    )
    return lead
