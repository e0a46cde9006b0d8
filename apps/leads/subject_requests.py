"""Requests for subjects that the catalogue lacks, and the mails when one is published."""

from itertools import islice

from django.db import transaction
from django.db.models import CharField, Exists, OuterRef, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from apps.catalogue.text import search_form
from apps.core.mail.outbox import queue_mail
from apps.core.models import Mail
from apps.core.web.throttle import Limit
from apps.leads.intake import degree_named, open_lead
from apps.leads.models import Lead, RequestedSubject, SubjectRequest

# The key of the mail about a request.
MAIL_KEY = "subject-published:"
# To all mailboxes together: anybody can type strangers' addresses into requests.
PUBLISHED_MAILS = Limit("subjects-published", times=300, seconds=3600)


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
def publish_requested_subject(*, requested_id: int) -> tuple[int, int]:
    """Queue a mail to each address that asked for the subject; return how many, and how many wait.

    Those above the number of an hour wait, the oldest requests first, until staff call it again.
    With the last mail, the subject is marked as published. Safe to call again and concurrently: an
    address with several requests gets one mail.
    """
    requested = RequestedSubject.objects.select_for_update(no_key=True).get(pk=requested_id)
    if requested.published_at is not None:
        return 0, 0
    waiting = addresses_to_tell(requested)
    mailed: list[str] = []
    for email, request_id in islice(waiting.items(), PUBLISHED_MAILS.times):
        if PUBLISHED_MAILS.seconds_until_free("all"):
            break
        queue_mail(
            key=f"{MAIL_KEY}{request_id}",
            template="subject_published",
            to=email,
            context={"requested_id": requested.pk},
        )
        PUBLISHED_MAILS.add("all")
        mailed.append(email)
    left = len(waiting) - len(mailed)
    answered = Lead.objects.filter(
        subject_request__requested_subject=requested, status=Lead.Status.NEW
    )
    if left:
        answered = answered.filter(email__in=mailed)
    else:
        requested.published_at = timezone.now()
        requested.save(update_fields=["published_at"])
    answered.mark_answered()
    return len(mailed), left


def addresses_to_tell(requested: RequestedSubject) -> dict[str, int]:
    """The addresses without a mail yet, in the order of their requests, with the first of each."""
    key = Concat(Value(MAIL_KEY), Cast(OuterRef("pk"), CharField()))
    rows = requested.requests.annotate(has_mail=Exists(Mail.objects.filter(key=key)))
    first: dict[str, int] = {}
    told = set()
    for pk, email, has_mail in rows.values_list("pk", "lead__email", "has_mail"):
        first.setdefault(email, pk)
        if has_mail:
            told.add(email)
    return {email: pk for email, pk in first.items() if email not in told}
