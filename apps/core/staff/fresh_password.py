"""Asks staff for their password again before refunds and exports, and before changing accounts,
addresses and what the site says about its owner.

The password counts for 15 minutes, and for the acts of `RepeatedAct` for a working day of the same
session (docs/rules.md, "Staff").
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial, wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString

if TYPE_CHECKING:
    from django import forms
    from django.contrib.admin.options import ModelAdmin

    _ModelAdmin = ModelAdmin[Any]
    _ModelForm = forms.ModelForm[Any]
else:
    _ModelAdmin, _ModelForm = object, object

FRESH = timedelta(minutes=15)
WORKING_DAY = timedelta(hours=8)
# A form that is opened is asked for this long before its time, so that it can be filled in.
TIME_TO_TYPE = timedelta(minutes=5)
GIVEN_AT = "password_given_at"
GIVEN_FOR = "password_given_for"


class RepeatedAct(StrEnum):
    """An act that staff repeat all day and whose sum a day is limited for each of them."""

    REFUND = "refund"
    TRANSFER = "transfer"


REPEAT = "Escribe tu contraseña y vuelve a hacer lo que ibas a hacer."


# The name of the field with the password on the page that asks for it, that of the address which
# the page returns to, and of the mark of a form that the page sends on.
PASSWORD, NEXT, SENT_ON = "password", "next", "sent_on"


class PasswordConfirmation(HttpResponseRedirect):
    """A redirect to the URL of the password page, with the URL to return to.

    A submitted form goes along: the browser sends it to that page (status 307), which carries it in
    hidden fields and sends it on after the password. Nothing is stored. With `back`, or if the form
    cannot be carried, it is lost.
    """

    def __init__(self, request: HttpRequest, back: str = "") -> None:
        super().__init__(_password_page(back or request.get_full_path()))
        if not back and can_be_carried(request):
            self.status_code = HTTPStatus.TEMPORARY_REDIRECT


def can_be_carried(request: HttpRequest) -> bool:
    """Whether a submitted form can be sent on by the password page: no files, and no secrets."""
    secret = any(PASSWORD in name or name in (NEXT, SENT_ON) for name in request.POST)
    return request.method == "POST" and not request.FILES and not secret


def carried_fields(request: HttpRequest) -> list[tuple[str, str]]:
    """The fields of a form that the password page sends on, one for each value."""
    own = {PASSWORD, NEXT, SENT_ON, "csrfmiddlewaretoken"}
    return [
        (name, value)
        for name, values in request.POST.lists()
        if name not in own
        for value in values
    ]


def without_password(request: HttpRequest) -> None:
    """Take what the password page has added out of a form that it has sent on."""
    if SENT_ON in request.POST:
        fields = request.POST.copy()
        for name in (PASSWORD, NEXT, SENT_ON):
            fields.pop(name, None)
        fields._mutable = False
        request.POST = fields  # type: ignore[assignment]


def _password_page(back: str) -> str:
    return f"{reverse('admin:confirm_password')}?{urlencode({'next': back})}"


def note_password(request: HttpRequest) -> None:
    """Store in the session that the user has just given their password."""
    request.session[GIVEN_AT] = timezone.now().isoformat()


def password_is_fresh(request: HttpRequest, act: RepeatedAct | None = None) -> bool:
    """Whether the user of this session gave their password within the last 15 minutes.

    For an act that is named, the password that it was first done with counts for 8 hours.
    """
    given_at = request.session.get(GIVEN_AT)
    is_fresh = _is_within(FRESH, given_at)
    if act is None:
        return is_fresh
    given_for = request.session.get(GIVEN_FOR, {})
    if _is_within(WORKING_DAY, given_for.get(act)):
        return True
    if is_fresh:
        request.session[GIVEN_FOR] = {**given_for, act: given_at}
    return is_fresh


def _is_within(age: timedelta, noted: str | None) -> bool:
    return noted is not None and timezone.now() - datetime.fromisoformat(noted) <= age


def fresh_password_required(
    view: Callable[..., Any], *, act: RepeatedAct | None = None
) -> Callable[..., Any]:
    """Let a view run only after a fresh password. For methods: `method_decorator` of this.

    A form that is submitted too late is sent on by the password page (`PasswordConfirmation`). For
    one that cannot be carried, a message asks the user to submit it again. To make that rare, a
    page is opened only with a password of the last 10 minutes.
    """

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse | None:
        if password_is_fresh(request, act) and not _expires_while_typing(request, act):
            without_password(request)
            answer: HttpResponse | None = view(request, *args, **kwargs)
            return answer
        return ask_password(request)

    return checked


def ask_password(request: HttpRequest, back: str = "") -> HttpResponse:
    """The answer to a request without a fresh password. `back` is where a lost form returns to."""
    if request.method != "POST" or can_be_carried(request):
        return PasswordConfirmation(request)
    messages.info(request, REPEAT)
    return PasswordConfirmation(request, back=back)


def _expires_while_typing(request: HttpRequest, act: RepeatedAct | None) -> bool:
    """Whether a form that is opened now is likely to be submitted too late, and lost."""
    given_at = request.session.get(GIVEN_AT)
    return (
        act is None and request.method == "GET" and not _is_within(FRESH - TIME_TO_TYPE, given_at)
    )


def password_required_for(act: RepeatedAct) -> Callable[..., Any]:
    """The decorator `fresh_password_required` for an act that is done all day."""
    return partial(fresh_password_required, act=act)


class AsksPasswordToChange(_ModelAdmin):
    """Mixin of an admin page whose forms and deletions, also by the list, need a fresh password."""

    @method_decorator(fresh_password_required)
    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().changeform_view(request, *args, **kwargs)

    @method_decorator(fresh_password_required)
    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().delete_view(request, *args, **kwargs)

    def get_actions(self, request: HttpRequest) -> Any:
        actions: Any = super().get_actions(request)
        if "delete_selected" in actions:
            delete, *names = actions["delete_selected"]
            actions["delete_selected"] = (_after_password(delete), *names)
        return actions


def _after_password(action: Callable[..., Any]) -> Callable[..., Any]:
    """The action of a list, which then needs a fresh password."""

    def asked(page: Any, request: HttpRequest, rows: Any) -> Any:
        return fresh_password_required(lambda request: action(page, request, rows))(request)

    return asked


class _RefusesChanges(_ModelForm):
    """The part of a form that refuses changes of some fields. What was typed stays."""

    refused_fields: tuple[str, ...]
    refusal: SafeString

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        for name in self.refused_fields:
            if name in self.changed_data:
                self.add_error(name, self.refusal)
        return data


class AsksPasswordForFields(_ModelAdmin):
    """Mixin of an admin page whose form changes `password_fields` only after a fresh password."""

    password_fields: tuple[str, ...] = ()
    # Whether a new row with other values than the usual ones needs it, too.
    password_to_add = False

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        is_free = obj is None and not self.password_to_add
        if is_free or request.method != "POST" or password_is_fresh(request):
            return form
        refusal = format_html(
            'Cambiarlo pide tu contraseña: <a href="{}" target="_blank" rel="noopener">escríbela '
            "en otra pestaña</a> y guarda aquí otra vez.",
            _password_page(request.get_full_path()),
        )
        parts = {"refused_fields": self.password_fields, "refusal": refusal}
        return type(form.__name__, (_RefusesChanges, form), parts)
