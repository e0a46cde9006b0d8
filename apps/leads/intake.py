"""Stores a form: the lead, its consents and the mail to the academy, all or nothing."""

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db.models import Q

from apps.catalogue.models import Degree
from apps.catalogue.text import sort_form
from apps.core.mail.outbox import queue_mail
from apps.core.models import LegalText
from apps.leads.models import Lead, LeadConsent
from apps.students.consent_wordings import TEXTS, WORDINGS
from apps.students.models import Consent


def open_lead(
    kind: Lead.Kind, *, email: str, accepted: Collection[Consent.Kind] = (), **fields: Any
) -> Lead:
    """Store the lead and its consents, and queue the mail to the academy.

    Call it in a transaction. A consent is stored with the wording of the checkbox and the version
    of the legal text in force. The degree is that of the career, if no other is given.
    """
    if fields.get("career"):
        fields.setdefault("degree", degree_named(fields["career"]))
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
        kind=kind,
    )
    return lead


def degree_named(career: str, university: str = "") -> Degree | None:
    """The one degree with this name or acronym, at this university if one is given.

    None if there is no such degree, or if several universities have it.
    """
    degrees = Degree.objects.filter(
        Q(name_sort=sort_form(career)) | Q(acronym__iexact=career.strip())
    )
    if university:
        degrees = degrees.filter(
            Q(university__name_sort=sort_form(university))
            | Q(university__acronym__iexact=university.strip())
        )
    found = list(degrees[:2])
    return found[0] if len(found) == 1 else None
