"""Student sessions. They are separate from staff accounts, which sign in to the admin.

A student may be signed in on two devices: a third sign-in ends the oldest session (docs/rules.md,
"Students").
"""

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request

from apps.core.errors import AcademyError
from apps.core.identity import email_identity
from apps.core.web.session_store import delete_stored, stored_key, stored_keys
from apps.students.devices import forget_devices, known_device
from apps.students.models import SignIn, Student

SESSION_KEY = "student_id"
MAX_DEVICES = 2


class SignInUnavailable(AcademyError):
    """The student is blocked. The sentence does not say so."""

    status = 403
    code = "sign_in_unavailable"
    message = "Ahora mismo no puedes entrar. Escríbenos y lo vemos contigo."


@transaction.atomic
def sign_in(request: HttpRequest, student: Student) -> None:
    """Sign the student in under a new session key, which prevents session fixation.

    Raises SignInUnavailable.
    """
    # The lock makes concurrent sign-ins count each other, and a block count for all of them.
    locked = Student.objects.select_for_update(no_key=True).get(pk=student.pk)
    if locked.blocked_at is not None:
        raise SignInUnavailable
    _mark_ended(request.session.session_key)
    request.session.cycle_key()
    request.session[SESSION_KEY] = student.pk
    name = stored_key(request.session.session_key or "")
    SignIn.objects.create(student=student, session_key=name)
    open_sign_ins = student.sign_ins.filter(ended_at=None).order_by("-started_at", "-pk")
    _end_sign_ins(list(open_sign_ins[MAX_DEVICES:]))


def sign_out(request: HttpRequest) -> None:
    _mark_ended(request.session.session_key)
    request.session.flush()


@transaction.atomic
def end_sessions(student: Student) -> None:
    """Sign the student out on every device: after a new password or address, a block, an erasure.

    Links that would sign in count as used, and no device is known any more.
    """
    Student.objects.select_for_update(no_key=True).get(pk=student.pk)
    _end_sign_ins(list(student.sign_ins.filter(ended_at=None)))
    student.sign_in_links.filter(used_at=None).update(used_at=timezone.now())
    forget_devices(student.email)


def _end_sign_ins(sign_ins: list[SignIn]) -> None:
    for row in sign_ins:
        delete_stored(row.session_key)
        _end([row.session_key])


def _mark_ended(session_key: str | None) -> None:
    if session_key:
        _end(stored_keys(session_key))


def _end(names: list[str]) -> None:
    SignIn.objects.filter(session_key__in=names, ended_at=None).exclude(session_key="").update(
        ended_at=timezone.now(), session_key=""
    )


def current_sign_in(request: HttpRequest) -> SignIn | None:
    """The open sign-in of this session, or None."""
    return _open_sign_ins(request).first()


def _open_sign_ins(request: HttpRequest | Request) -> QuerySet[SignIn]:
    names = stored_keys(request.session.session_key or "")
    return SignIn.objects.filter(session_key__in=names, ended_at=None).exclude(session_key="")


def current_student(request: HttpRequest | Request) -> Student | None:
    """The signed-in student, or None. Without a session cookie it makes no query."""
    student_id = request.session.get(SESSION_KEY)
    if not student_id:
        return None
    # Staff who sign in with this browser get a new key, and keep what the session has: no end of
    # the student's sign-in would find it.
    signed_in = Exists(_open_sign_ins(request).filter(student=OuterRef("pk")))
    # Erasure and blocks end the sessions. The filter also covers one opened at the same time.
    open_students = Student.objects.filter(pk=student_id, erased_at=None, blocked_at=None)
    return open_students.filter(signed_in).first()


def is_known_buyer(request: Request, email: str) -> bool:
    """Whether this visitor has shown that the address is theirs: signed in, now or earlier here."""
    student = current_student(request)
    signed_in = student is not None and email_identity(student.email) == email_identity(email)
    return signed_in or bool(known_device(request, email))
