"""Sessions of the shop's students, without the mailed link."""

from django.conf import settings
from django.test import Client

from apps.core.web.session_store import SessionStore, stored_key
from apps.students.models import SignIn
from apps.students.session import SESSION_KEY


def new_session(student_id: int) -> str:
    """Store a session in which the student is signed in; its key is the cookie's value."""
    session = SessionStore()
    session[SESSION_KEY] = student_id
    session.create()
    assert session.session_key
    SignIn.objects.create(student_id=student_id, session_key=stored_key(session.session_key))
    return session.session_key


def sign_in_as(student_id: int, client: Client) -> None:
    """Give a test client a session of the student."""
    client.cookies[settings.SESSION_COOKIE_NAME] = new_session(student_id)
