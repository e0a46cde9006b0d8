"""Buttons on the admin page of one row: permission, POST only, log entry and message."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from apps.core.errors import AcademyError, Conflict
from apps.core.staff.admin_log import log_action
from apps.core.staff.fresh_password import ask_password, password_is_fresh, without_password


class Repeated(Conflict):
    """An earlier click has done it. Staff read that as information; it is not logged."""

    code = "repeated"
    message = "Ya estaba hecho."


def form_key(request: HttpRequest) -> UUID:
    """The key of the form that was sent, which names one click. A new one if it is none."""
    try:
        return UUID(request.POST.get("form_key", ""))
    except ValueError:
        return uuid4()


def button_view(
    model: type[Model],
    *,
    permission: str,
    work: Callable[[HttpRequest, Any], str],
    phrase: str,
    asks_password: bool = False,
    back: str = "",
) -> Callable[..., HttpResponse]:
    """A view that does `work` with one row and returns to the row's page.

    `work` returns a Spanish sentence for staff, or raises Repeated or another AcademyError.
    `phrase` begins the entry in the admin's log. The row's number is the view's only argument.
    `asks_password`: the button needs a fresh password. `back` is the name of a list to return to,
    with the filters that the button's address has.
    """

    def button(request: HttpRequest, **number: int) -> HttpResponse:
        if not request.user.has_perm(permission):
            raise PermissionDenied
        row = get_object_or_404(model, pk=next(iter(number.values())))
        page = reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_change", args=[row.pk])
        if request.method != "POST":
            # The password page leads here if it was opened without the form, from a restored tab.
            return redirect(page)
        if asks_password and not password_is_fresh(request):
            return ask_password(request, back=page)
        without_password(request)
        try:
            sentence = work(request, row)
        except Repeated as repeated:
            messages.info(request, repeated.message)
        except AcademyError as refusal:
            messages.error(request, refusal.message)
        else:
            log_action(request, row, f"{phrase}: {sentence}")
            messages.success(request, sentence)
        return redirect(f"{reverse(back)}?{request.GET.urlencode()}" if back else page)

    return button
