"""Asking students for their opinion by mail, and the one-time link of that mail."""

from datetime import timedelta

from django.core import signing
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import Enrolment
from apps.core.dates import today
from apps.core.keyed_digest import keyed_digest, matches
from apps.core.mail.outbox import queue_mail
from apps.orders.models import Order
from apps.orders.models.statuses import SOLD
from apps.pages.opinions.models import Opinion, OpinionQuerySet

# Asked when the access has ended, or, without an end, after about a semester.
ASKED_AFTER_DAYS = 150
# Longer ago nobody is asked any more: when opinions are new, not everybody since the beginning is.
ASKED_WITHIN_DAYS = 60
LINK_DAYS = 90
MOST_AT_ONCE = 500

# A query string would escape the default separator ":".
_SALT = "pages.opinion"
_signer = signing.Signer(salt=_SALT, sep=".")


def link_path(opinion: Opinion) -> str:
    """The path of the page that takes the answer, for the address that its student has now."""
    digest = keyed_digest(_SALT, _named(opinion))
    return f"{reverse('opinion')}?enlace={_signer.sign(f'{opinion.pk}-{digest}')}"


def opinion_from_link(signed: str) -> Opinion | None:
    """Return the opinion of a link, answered or not.

    None if the link is wrong, too old or of an address that the student no longer has, or if
    nothing of the purchase is left after refunds.
    """
    try:
        number, _, digest = _signer.unsign(signed).partition("-")
        opinion_id = int(number)
    except (signing.BadSignature, ValueError):
        return None
    rows = linked_opinions().filter(pk=opinion_id).select_related("student", "subject")
    opinion = rows.first()
    # Links of an earlier version have the number alone.
    is_theirs = opinion is not None and (not digest or matches(_SALT, _named(opinion), digest))
    return opinion if is_theirs else None


def _named(opinion: Opinion) -> str:
    return f"{opinion.pk}:{opinion.student.email.lower()}"


def linked_opinions() -> OpinionQuerySet:
    """The opinions, answered or not, whose link still works."""
    oldest = timezone.now() - timedelta(days=LINK_DAYS)
    bought = Enrolment.objects.filter(
        _sold(), student=OuterRef("student"), subject=OuterRef("subject")
    )
    return Opinion.objects.filter(Exists(bought), asked_at__gt=oldest, **_REACHABLE)


# Conditions on a row with a student who may still be written to.
_REACHABLE = {"student__blocked_at": None, "student__erased_at": None}


def enrolments_to_ask() -> QuerySet[Enrolment]:
    """Enrolments of paid orders that ended lately, of subjects without a request to the student."""
    now, day = timezone.now(), today()
    ended = Q(ends_on__lt=day, ends_on__gte=day - timedelta(days=ASKED_WITHIN_DAYS))
    latest = now - timedelta(days=ASKED_AFTER_DAYS)
    long_ago = Q(
        ends_on=None,
        granted_at__lt=latest,
        granted_at__gte=latest - timedelta(days=ASKED_WITHIN_DAYS),
    )
    asked = Opinion.objects.filter(student=OuterRef("student"), subject=OuterRef("subject"))
    return (
        Enrolment.objects.filter(ended | long_ago, _sold(), **_REACHABLE)
        .exclude(Exists(asked))
        .select_related("student")
        .order_by("pk")
    )


def _sold() -> Exists:
    """The condition on an enrolment whose order is paid, not refunded in full and not disputed."""
    sold = Order.objects.filter(pk=OuterRef("provisioning"), status__in=SOLD, disputed_at=None)
    return Exists(sold)


def ask_for_opinions() -> int:
    """Queue the mails that are due, once for each student and subject; return how many."""
    return sum(_ask(enrolment) for enrolment in enrolments_to_ask()[:MOST_AT_ONCE])


@transaction.atomic
def _ask(enrolment: Enrolment) -> bool:
    opinion, is_new = Opinion.objects.get_or_create(
        student=enrolment.student, subject_id=enrolment.subject_id
    )
    if is_new:
        queue_mail(
            key=f"opinion:{opinion.pk}",
            template="opinion_request",
            to=enrolment.student.email,
            context={"opinion_id": opinion.pk},
        )
    return is_new
