"""Who is signed in. A student's session is not a staff account: the admin has its own.

At most two devices at a time (terms): the third sign-in ends the session that is signed in longest.
"""

from importlib import import_module

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request

from apps.students.models import SignIn, Student

SESSION_KEY = "student_id"
DEVICES = 2


@transaction.atomic
def sign_in(request: HttpRequest, student: Student) -> None:
    """Open a session for the student under a fresh key, so that none can be fixed beforehand."""
    # Two sign-ins at once count each other.
    Student.objects.select_for_update().get(pk=student.pk)
    _note_end(request.session.session_key)
    request.session.cycle_key()
    request.session[SESSION_KEY] = student.pk
    SignIn.objects.create(student=student, session_key=request.session.session_key or "")
    open_ones = student.sign_ins.filter(ended_at=None).order_by("-started_at", "-pk")
    _end(list(open_ones[DEVICES:]))


def sign_out(request: HttpRequest) -> None:
    _note_end(request.session.session_key)
    request.session.flush()


@transaction.atomic
def end_sessions(student: Student) -> None:
    """Sign the student out everywhere: after a new password, and when the account is erased."""
    Student.objects.select_for_update().get(pk=student.pk)
    _end(list(student.sign_ins.filter(ended_at=None)))


def _end(sign_ins: list[SignIn]) -> None:
    store = import_module(settings.SESSION_ENGINE).SessionStore
    for sign_in_ in sign_ins:
        store(sign_in_.session_key).delete()
        _note_end(sign_in_.session_key)


def _note_end(session_key: str | None) -> None:
    if session_key:
        SignIn.objects.filter(session_key=session_key, ended_at=None).update(
            ended_at=timezone.now(), session_key=""
        )


def current_student(request: HttpRequest | Request) -> Student | None:
    """The signed-in student, or None. Reads no session row where the visitor has no cookie."""
    student_id = request.session.get(SESSION_KEY)
    if not student_id:
        return None
    # Erasing ends the sessions that are known; no other may bring the person back either.
    return Student.objects.filter(pk=student_id, erased_at=None).first()
