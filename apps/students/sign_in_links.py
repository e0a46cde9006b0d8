"""Passwordless sign-in with a one-time link by e-mail (docs/rules.md, "Students").

The page behind the link has a button that uses it up, so that a mail scanner that follows the link
doesn't.
"""

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from apps.core.keyed_digest import keyed_digest, matches
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin, link_was_used
from apps.core.mail.registry import AccountUrl, absolute_url
from apps.students.confirmed import confirm_address
from apps.students.models import SignInLink, Student

LINK_LIFETIME = timedelta(minutes=30)
_SALT = "apps.students.sign-in"


@transaction.atomic
def send_sign_in_link(
    email: str,
    *,
    has_paid: Callable[[int], bool] = lambda student_id: False,
    network: str = "",
    origin: Origin | None = None,
    to_classroom: bool = False,
) -> None:
    """Mail a sign-in link if a student has that address; otherwise do nothing.

    `origin` says who asks, if it may be somebody else than a stranger. With `to_classroom` the link
    leads on to the classroom. Strangers make a student of any address by typing it into a cart: the
    links of who has neither confirmed the address nor paid count among those of the asking
    `network`, and as mails of forms.
    """
    student = Student.objects.with_email(email)
    if student is None or student.erased_at is not None:
        return
    is_sure = origin or student.email_confirmed_at or has_paid(student.pk)
    link = SignInLink.objects.create(student=student, to_classroom=to_classroom)
    queue_mail(
        key=f"sign-in-link:{link.pk}",
        template="sign_in_link",
        to=student.email,
        context={"link_id": link.pk},
        origin=origin,
        network="" if is_sure else network,
    )


def link_url(link: SignInLink) -> AccountUrl:
    token = signing.dumps([link.pk, keyed_digest(_SALT, link.student.email)], salt=_SALT)
    url = absolute_url(f"{reverse('login-link')}?enlace={token}")
    return AccountUrl(url, address=link.student.email)


def student_for_link(token: str) -> Student | None:
    """The student whom the link would sign in; None if it is invalid, expired or used."""
    link = _usable_link(token)
    return link.student if link else None


def leads_to_classroom(token: str) -> bool:
    """Whether the usable link was asked for on the way to the classroom."""
    link = _usable_link(token)
    return link is not None and link.to_classroom


def use_link(token: str) -> Student | None:
    """Use the link up and return its student. Of two concurrent calls, one gets None."""
    link = _usable_link(token)
    if link is None:
        return None
    used = SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now())
    if not used:
        return None
    link_was_used(Origin.SIGN_IN_LINK, link.student.email)
    confirm_address(link.student)
    return link.student


def _usable_link(token: str) -> SignInLink | None:
    try:
        link_id, digest = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    since = timezone.now() - LINK_LIFETIME
    links = SignInLink.objects.filter(pk=link_id, used_at=None, created_at__gt=since)
    link = links.select_related("student").first() if settings.STUDENT_LOGIN else None
    # A link is invalid after the address has changed.
    return link if link and matches(_SALT, link.student.email, digest) else None
