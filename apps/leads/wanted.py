"""Subjects that are missing: who asks for the same one, and who is told when it is there."""

from django.db import transaction
from django.utils import timezone

from apps.catalogue.text import search_form
from apps.core.mail.outbox import queue_mail
from apps.leads.intake import open_lead
from apps.leads.models import Lead, SubjectRequest, WantedSubject


def normalised_key(*, university: str, career: str, subject_name: str) -> str:
    """The same for the same subject however it is written: no accents, capitals, double spaces."""
    return "|".join(search_form(part) for part in (university, career, subject_name))


@transaction.atomic
def request_subject(
    *, name: str, email: str, phone: str, university: str, career: str, subject_name: str
) -> Lead:
    """Write the request and join it to the others for the same subject."""
    wanted = _open_wanted(university=university, career=career, subject_name=subject_name)
    lead = open_lead(Lead.Kind.MISSING_SUBJECT, name=name, email=email, phone=phone, career=career)
    SubjectRequest.objects.create(
        lead=lead, wanted=wanted, university=university, subject_name=subject_name
    )
    return lead


def _open_wanted(*, university: str, career: str, subject_name: str) -> WantedSubject:
    """The unpublished row for that subject, locked: nobody publishes it before this one joined."""
    key = normalised_key(university=university, career=career, subject_name=subject_name)
    while True:
        found, _ = WantedSubject.objects.get_or_create(
            key=key,
            published_at=None,
            defaults={"name": subject_name, "career": career, "university": university},
        )
        # It may have been published while the lock was waited for; then a new one is opened.
        locked = (
            WantedSubject.objects.select_for_update().filter(pk=found.pk, published_at=None).first()
        )
        if locked is not None:
            return locked


@transaction.atomic
def publish(*, wanted_id: int) -> int:
    """Mark a subject as published and owe everyone who asked for it one mail; return how many.

    However often and from however many places it is called: the second time does nothing. Who
    asked several times is told once.
    """
    wanted = WantedSubject.objects.select_for_update().get(pk=wanted_id)
    if wanted.published_at is not None:
        return 0
    wanted.published_at = timezone.now()
    wanted.save(update_fields=["published_at"])
    first_requests: dict[str, SubjectRequest] = {}
    for request in wanted.requests.select_related("lead"):
        first_requests.setdefault(request.lead.email, request)
    for email, request in first_requests.items():
        queue_mail(
            key=f"subject-published:{request.pk}",
            template="subject_published",
            to=email,
            context={"wanted_id": wanted.pk},
        )
    Lead.objects.filter(subject_request__wanted=wanted, status=Lead.Status.NEW).mark_answered()
    return len(first_requests)
