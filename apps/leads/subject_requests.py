"""Requests for subjects that the catalogue lacks, and the mails when one is published."""

from django.db import transaction
from django.utils import timezone

from apps.catalogue.text import search_form
from apps.core.mail.outbox import queue_mail
from apps.leads.intake import degree_named, open_lead
from apps.leads.models import Lead, RequestedSubject, SubjectRequest


def normalised_key(*, university: str, career: str, subject_name: str) -> str:
    """Return a key that ignores accents, capitals and double spaces."""
    return "|".join(search_form(part) for part in (university, career, subject_name))


@transaction.atomic
def request_subject(
    *,
    name: str,
    email: str,
    phone: str,
    university: str,
    career: str,
    subject_name: str,
    page: str = "",
) -> Lead:
    """Store the request, and attach it to the other requests for the same subject."""
    requested = _lock_unpublished(university=university, career=career, subject_name=subject_name)
    lead = open_lead(
        Lead.Kind.SUBJECT_REQUEST,
        name=name,
        email=email,
        phone=phone,
        career=career,
        page=page,
        degree=degree_named(career, university),
    )
    SubjectRequest.objects.create(
        lead=lead, requested_subject=requested, university=university, subject_name=subject_name
    )
    return lead


def _lock_unpublished(*, university: str, career: str, subject_name: str) -> RequestedSubject:
    """Return the unpublished row of the subject, locked until this request is attached."""
    key = normalised_key(university=university, career=career, subject_name=subject_name)
    while True:
        requested, _ = RequestedSubject.objects.get_or_create(
            key=key,
            published_at=None,
            defaults={"name": subject_name, "career": career, "university": university},
        )
        # It may have been published while this waited for the lock. Then open a new row.
        locked = (
            RequestedSubject.objects.select_for_update(no_key=True)
            .filter(pk=requested.pk, published_at=None)
            .first()
        )
        if locked is not None:
            return locked


@transaction.atomic
def publish_requested_subject(*, requested_id: int) -> int:
    """Mark a requested subject as published and queue a mail to each address; return how many.

    Safe to call again and concurrently: only the first call queues mails. An address with several
    requests gets one mail.
    """
    requested = RequestedSubject.objects.select_for_update(no_key=True).get(pk=requested_id)
    if requested.published_at is not None:
        return 0
    requested.published_at = timezone.now()
    requested.save(update_fields=["published_at"])
    first_requests: dict[str, SubjectRequest] = {}
    for request in requested.requests.select_related("lead"):
        first_requests.setdefault(request.lead.email, request)
    for email, request in first_requests.items():
        queue_mail(
            key=f"subject-published:{request.pk}",
            template="subject_published",
            to=email,
            context={"requested_id": requested.pk},
        )
    Lead.objects.filter(
        subject_request__requested_subject=requested, status=Lead.Status.NEW
    ).mark_answered()
    return len(first_requests)
