"""Codes and tokens, which are stored as digests (docs/rules.md, "One sign-in")."""

import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.classroom.models import EntryCode
from apps.classroom.one_sign_in.student_identity import Identity, NoEntry, identity_of
from apps.core.database import require_transaction
from apps.core.keyed_digest import keyed_digest, keyed_digests
from apps.students.models import SignIn, Student

CODE_LIFETIME = timedelta(minutes=1)
TOKEN_LIFETIME = timedelta(minutes=5)
RETENTION = timedelta(days=1)
_CODE_SALT = "apps.classroom.entry-code"
_TOKEN_SALT = "apps.classroom.entry-token"  # noqa: S105  # no password


def issue_code(
    *,
    sign_in: SignIn,
    external_id: str,
    email: str,
    redirect_uri: str,
    scope: str,
    nonce: str,
    code_challenge: str,
) -> str:
    """Store a new code of the open sign-in and return it."""
    code = secrets.token_urlsafe(32)
    EntryCode.objects.create(
        sign_in=sign_in,
        code_digest=keyed_digest(_CODE_SALT, code),
        external_id=external_id,
        email=email,
        redirect_uri=redirect_uri,
        scope=scope,
        nonce=nonce,
        code_challenge=code_challenge,
    )
    return code


def usable_code(code: str) -> EntryCode | None:
    """Lock and return an unused code of an open sign-in, or None.

    If the code was used before, its token ends: somebody else may have used it (RFC 6749, 10.5).
    """
    require_transaction("usable_code")
    digests = keyed_digests(_CODE_SALT, code)
    # The first statement on the row takes the lock: a concurrent use waits, and then finds it used.
    row = EntryCode.objects.select_for_update(no_key=True).filter(code_digest__in=digests).first()
    if row is None:
        return None
    if row.used_at is not None:
        EntryCode.objects.filter(pk=row.pk).update(token_digest="")
        return None
    return row if _is_open(row, since=row.created_at, lifetime=CODE_LIFETIME) else None


def use_code(row: EntryCode, token: str) -> bool:
    """Mark the code as used and store its token. False if it was used meanwhile."""
    return bool(
        EntryCode.objects.filter(pk=row.pk, used_at=None).update(
            used_at=timezone.now(), token_digest=keyed_digest(_TOKEN_SALT, token)
        )
    )


def code_of_token(token: str) -> EntryCode | None:
    """The code whose token this is, if the token is valid and the sign-in still open."""
    digests = keyed_digests(_TOKEN_SALT, token)
    row = EntryCode.objects.filter(token_digest__in=digests).exclude(token_digest="").first()
    if row is None or row.used_at is None:
        return None
    return row if _is_open(row, since=row.used_at, lifetime=TOKEN_LIFETIME) else None


def identity_for(row: EntryCode) -> Identity | None:
    """The student's identity as it is now; None if they may not enter any more."""
    students = Student.objects.filter(sign_ins=row.sign_in_id, erased_at=None, blocked_at=None)
    student = students.first()
    if student is None:
        return None
    try:
        return identity_of(student, external_id=row.external_id, email=row.email)
    except NoEntry:
        return None


def _is_open(row: EntryCode, *, since: datetime, lifetime: timedelta) -> bool:
    sign_ins: QuerySet[SignIn] = SignIn.objects.filter(pk=row.sign_in_id, ended_at=None)
    return timezone.now() < since + lifetime and sign_ins.exists()


@transaction.atomic
def forget_codes(now: datetime) -> int:
    """Delete codes that are older than a day."""
    return EntryCode.objects.filter(created_at__lt=now - RETENTION).delete()[0]
