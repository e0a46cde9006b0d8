"""Signing in without a password: a one-time link by e-mail (decisions.md, "Students").

The link is opened by a button, so that a mail scanner that follows it uses nothing up.
"""

from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from apps.core.mail.outbox import queue_mail
from apps.core.mail.registry import SecretUrl, absolute_url
from apps.students.models import SignInLink, Student

LINK_LIFE = timedelta(minutes=30)
_SALT = "apps.students.sign-in"


@transaction.atomic
def send_sign_in_link(email: str) -> None:
    """Mail a link where a student has that address; else do nothing, and nobody can tell."""
    student = Student.objects.with_email(email)
    if student is None or student.erased_at is not None:
        return
    link = SignInLink.objects.create(student=student)
    queue_mail(
        key=f"sign-in-link:{link.pk}",
        template="sign_in_link",
        to=student.email,
        context={"link_id": link.pk},
    )


def link_url(link: SignInLink) -> SecretUrl:
    token = signing.dumps([link.pk, _address_mark(link)], salt=_SALT)
    return SecretUrl(absolute_url(f"{reverse('login-link')}?enlace={token}"))


def student_behind(token: str) -> Student | None:
    """Whom the link would sign in; None where it is not ours, expired or used."""
    link = _usable(token)
    return link.student if link else None


def use_link(token: str) -> Student | None:
    """Use the link up and say whom it signs in. Of two at once, one gets nobody."""
    link = _usable(token)
    if link is None:
        return None
    used = SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now())
    return link.student if used else None


def _usable(token: str) -> SignInLink | None:
    try:
        link_id, mark = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    since = timezone.now() - LINK_LIFE
    links = SignInLink.objects.filter(pk=link_id, used_at=None, created_at__gt=since)
    link = links.select_related("student").first() if settings.STUDENT_LOGIN else None
    return link if link and constant_time_compare(mark, _address_mark(link)) else None


def _address_mark(link: SignInLink) -> str:
    """Who reads the mail of an address that is the student's no more does not get in by it."""
    return salted_hmac(_SALT, link.student.email, algorithm="sha256").hexdigest()[:16]
