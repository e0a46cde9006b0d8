"""The admin's pages of the second factor: typing a code, and setting up an authenticator app."""

import logging
from base64 import b32encode
from typing import Any, cast

import segno
from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.debug import sensitive_post_parameters

from apps.backoffice.accounts import second_factor
from apps.backoffice.accounts.password_page import next_page
from apps.backoffice.models import Authenticator
from apps.core.errors import TooManyRequests
from apps.core.staff.admin_log import log_rows
from apps.core.staff.fresh_password import fresh_password_required
from apps.core.web.throttle import Limit, client_network, visitor_in_log

logger = logging.getLogger(__name__)
# In addition to django-otp's own pause after each wrong code.
CODES = Limit("second-factor", times=20, seconds=900)
# In the address of the page: the member of staff wants to replace the authenticator app.
REPLACES = "nuevo"
WRONG = "Este código no vale. Espera unos segundos y escribe el siguiente que salga."


class CodeForm(forms.Form):
    code = forms.CharField(
        label="Código",
        max_length=20,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autocapitalize": "characters"}
        ),
    )

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        return code.replace(" ", "")


def _count(request: HttpRequest, form: CodeForm) -> bool:
    """Count an attempt. Above the limit it adds an error to the form and returns False."""
    try:
        CODES.count_key(f"{request.user.pk}|{client_network(request)}")
    except TooManyRequests as refusal:
        form.add_error("code", refusal.message)
        return False
    return True


def _refuse(request: HttpRequest, form: CodeForm) -> None:
    """Show and log a wrong code. Whoever typed it has the password, which may be stolen."""
    form.add_error("code", WRONG)
    visitor = visitor_in_log(request)
    logger.warning("Second factor refused: account %s from %s", request.user.pk, visitor)


@sensitive_post_parameters("code")
def check_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Ask for a code, then redirect to the requested page."""
    target = next_page(request)
    if second_factor.is_verified(request):
        return HttpResponseRedirect(target)
    if second_factor.authenticator_of(cast(User, request.user)) is None:
        return redirect("admin:second_factor_setup")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _count(request, form):
        if second_factor.give(request, form.cleaned_data["code"]):
            return HttpResponseRedirect(target)
        _refuse(request, form)
    context = {**context, "title": "Segundo factor", "form": form, "next": target}
    return TemplateResponse(request, "backoffice/second_factor.html", context)


@sensitive_post_parameters("code")
def setup_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Set up an authenticator app. Staff who have one must type one of its codes first."""
    user = cast(User, request.user)
    if second_factor.authenticator_of(user) is not None and not second_factor.is_verified(request):
        return redirect("admin:second_factor")
    answer: HttpResponse = _set_up(request, context, user)
    return answer


@fresh_password_required
def _set_up(request: HttpRequest, context: dict[str, Any], user: User) -> HttpResponse:
    current = second_factor.authenticator_of(user)
    is_repeated = current is not None and request.POST.get("authenticator") == str(current.pk)
    if current is not None and (is_repeated or REPLACES not in request.GET):
        # Also the answer to a reload of the page with the backup codes, which sends the form again.
        context = {**context, "title": "Tu segundo factor", "replaces": REPLACES}
        return TemplateResponse(request, "backoffice/second_factor_active.html", context)
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _count(request, form):
        codes = second_factor.confirm(request, form.cleaned_data["code"])
        if codes is not None:
            log_rows(request, User, [user.pk], "Segundo factor activado")
            context = {**context, "title": "Códigos de reserva", "codes": codes}
            return TemplateResponse(request, "backoffice/backup_codes.html", context)
        _refuse(request, form)
    device = second_factor.new_authenticator(request)
    context = {
        **context,
        "title": "Activar el segundo factor",
        "form": form,
        "authenticator": device.pk,
        "picture": _qr_code(device),
        "address": device.config_url,
        "secret": _in_groups(b32encode(device.bin_key).decode()),
    }
    return TemplateResponse(request, "backoffice/second_factor_setup.html", context)


def backup_codes_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Replace the backup codes and show the new ones."""
    if request.method != "POST" or not second_factor.is_verified(request):
        return redirect("admin:second_factor_setup")
    answer: HttpResponse = _renew_codes(request, context)
    return answer


@fresh_password_required
def _renew_codes(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    user = cast(User, request.user)
    codes = second_factor.renew_backup_codes(user)
    log_rows(request, User, [user.pk], "Códigos de reserva renovados")
    context = {**context, "title": "Códigos de reserva", "codes": codes, "are_renewed": True}
    return TemplateResponse(request, "backoffice/backup_codes.html", context)


def _qr_code(device: Authenticator) -> SafeString:
    picture = segno.make(device.config_url, error="m")
    svg = picture.svg_inline(omitsize=True, border=2, light="#fff", dark="#000")
    # The SVG comes from segno and contains no user input.
    return mark_safe(svg)  # noqa: S308


def _in_groups(secret: str) -> str:
    """The secret in groups of four, as people type it."""
    return " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
