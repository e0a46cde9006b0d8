"""Asks staff for their password again before refunds and exports, and before changing accounts."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

FRESH = timedelta(minutes=15)
GIVEN_AT = "password_given_at"
REPEAT = "Escribe tu contraseña y vuelve a hacer lo que ibas a hacer."


class PasswordConfirmation(HttpResponseRedirect):
    """A redirect to the URL of the password page, with the URL to return to."""

    def __init__(self, request: HttpRequest) -> None:
        query = urlencode({"next": request.get_full_path()})
        super().__init__(f"{reverse('admin:confirm_password')}?{query}")


def note_password(request: HttpRequest) -> None:
    """Store in the session that the user has just given their password."""
    request.session[GIVEN_AT] = timezone.now().isoformat()


def password_is_fresh(request: HttpRequest) -> bool:
    """Whether the user of this session gave their password within the last 15 minutes."""
    noted = request.session.get(GIVEN_AT)
    if not noted:
        return False
    return timezone.now() - datetime.fromisoformat(noted) <= FRESH


def fresh_password_required(view: Callable[..., Any]) -> Callable[..., Any]:
    """Let a view run only after a fresh password. For methods: `method_decorator` of this.

    A submitted form is not kept: a message asks the user to submit it again.
    """

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse | None:
        if password_is_fresh(request):
            answer: HttpResponse | None = view(request, *args, **kwargs)
            return answer
        if request.method == "POST":
            messages.info(request, REPEAT)
        return PasswordConfirmation(request)

    return checked
