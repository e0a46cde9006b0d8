"""Sessions of the classroom's pages."""

from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from apps.core.web.response_headers import PRIVATE_FORM

# The parameter with which the sign-in page explains that a session has ended.
SESSION_ENDED = "sesion"
PAGES = {"aula", "aula_acceso"}


class ClassroomSessionMiddleware(SessionMiddleware):
    """Django's session middleware, with a redirect to the sign-in page instead of a 400.

    Django saves the session after the view. If a concurrent sign-in on a third device has ended it
    by then (docs/rules.md, "Students"), Django raises SessionInterrupted and answers 400.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        try:
            return super().process_response(request, response)
        except SessionInterrupted:
            match = request.resolver_match
            if match is None or match.url_name not in PAGES:
                raise
            return _sign_in_again()


def _sign_in_again() -> HttpResponse:
    response = redirect(f"{reverse('aula')}?{SESSION_ENDED}=terminada")
    for name, value in PRIVATE_FORM.items():
        response[name] = value
    return response
