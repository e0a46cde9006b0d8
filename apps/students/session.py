"""Who is signed in. A student's session is not a staff account: the admin has its own."""

from django.http import HttpRequest
from rest_framework.request import Request

from apps.students.models import Student

SESSION_KEY = "student_id"


def sign_in(request: HttpRequest, student: Student) -> None:
    """Open a session for the student under a fresh key, so that none can be fixed beforehand."""
    request.session.cycle_key()
    request.session[SESSION_KEY] = student.pk


def sign_out(request: HttpRequest) -> None:
    request.session.flush()


def current_student(request: HttpRequest | Request) -> Student | None:
    """The signed-in student, or None. Reads no session row where the visitor has no cookie."""
    student_id = request.session.get(SESSION_KEY)
    return Student.objects.filter(pk=student_id).first() if student_id else None
