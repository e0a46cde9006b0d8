"""The admin's pages that ask for the user's own password.

One asks for it again (`core.fresh_password`), the other one changes it.
"""

from http import HTTPStatus
from typing import Any, cast

from django import forms
from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse, reverse_lazy
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters

from apps.backoffice.accounts.account_changes import Change, mail_change
from apps.backoffice.accounts.sign_in import check_own_password
from apps.core.errors import TooManyRequests
from apps.core.password_length import STAFF_MINIMUM
from apps.core.staff.admin_log import log_rows
from apps.core.staff.fresh_password import PASSWORD, SENT_ON, carried_fields, note_password
from apps.core.web.throttle import Limit

# Changes of one's own password: each begins a new count of forms (`site.PRESSES`). A password that
# a mailed link sets is not counted.
OWN_CHANGES = Limit("own-password", times=5, seconds=86_400)
NEW_PASSWORD = (
    f"Al menos {STAFF_MINIMUM} caracteres. No valen una contraseña corriente, solo cifras, ni algo "
    "parecido a tu nombre o a tu correo."
)


class PasswordForm(forms.Form):
    """Asks for the user's own password."""

    password = forms.CharField(
        label="Tu contraseña",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        check_own_password(self.request, password)
        return password


def name_new_password(form: forms.BaseForm) -> None:
    """Give Django's two fields of a new password names and a help text of our own."""
    new, again = form.fields["new_password1"], form.fields["new_password2"]
    new.label, again.label = "Contraseña nueva", "La nueva, otra vez"
    new.help_text, again.help_text = NEW_PASSWORD, ""


class ChangeForm(AdminPasswordChangeForm):
    """Django's form of the admin, with a limit of attempts for the old password."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        self.fields["old_password"].label = "Tu contraseña de ahora"
        name_new_password(self)

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        check_own_password(self.request, password)
        return password

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                OWN_CHANGES.count_key(str(self.request.user.pk))
            except TooManyRequests as refusal:
                raise ValidationError(refusal.message) from refusal
        return data


class ChangePassword(PasswordChangeView):
    title = "Cambiar la contraseña"
    form_class = ChangeForm
    success_url = reverse_lazy("admin:password_change_done")

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        user = cast(User, self.request.user)
        log_rows(self.request, User, [user.pk], "Contraseña propia cambiada")
        mail_change(user, Change.PASSWORD, to=user.email)
        return super().form_valid(form)


@sensitive_post_parameters("password")
def confirm_password(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Ask for the password and go on to `next`, a page of this site.

    A form that was submitted there too late arrives here without a password. Its fields are carried
    in the page, and the browser sends them on to `next`: status 307 keeps method and fields.
    """
    target = next_page(request)
    is_answer = request.method == "POST" and PASSWORD in request.POST
    form = PasswordForm(request, request.POST if is_answer else None)
    has_form = request.method == "POST" and (not is_answer or SENT_ON in request.POST)
    if is_answer and form.is_valid():
        note_password(request)
        answer = HttpResponseRedirect(target)
        if has_form:
            answer.status_code = HTTPStatus.TEMPORARY_REDIRECT
        return answer
    context = {
        **context,
        "title": "Escribe tu contraseña",
        "form": form,
        "next": target,
        "has_form": has_form,
        "carried": carried_fields(request) if has_form else [],
    }
    return TemplateResponse(request, "backoffice/confirm_password.html", context)


def next_page(request: HttpRequest) -> str:
    """The page that `next` names, if it is one of this site; else the admin's start page."""
    target = request.POST.get("next") or request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if is_ours else reverse("admin:index")
