"""The admin's page that asks for the password again (`core.fresh_password`)."""

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters

from apps.backoffice.sign_in import count_attempt
from apps.core.fresh_password import note_password


class PasswordForm(forms.Form):
    """Asks for the user's own password. `authenticate` counts and logs the wrong ones."""

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
        name = self.request.user.get_username()
        count_attempt(self.request, name)
        if authenticate(self.request, username=name, password=password) is None:
            raise forms.ValidationError("Esta no es tu contraseña.")
        return password


@sensitive_post_parameters("password")
def confirm_password(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Ask for the password and go on to `next`, a page of this site."""
    target = next_page(request)
    form = PasswordForm(request, request.POST or None)
    if request.method == "POST" and form.is_valid():
        note_password(request)
        return HttpResponseRedirect(target)
    context = {**context, "title": "Escribe tu contraseña", "form": form, "next": target}
    return TemplateResponse(request, "backoffice/confirm_password.html", context)


def next_page(request: HttpRequest) -> str:
    """The page that `next` names, if it is one of this site; else the admin's start page."""
    target = request.POST.get("next") or request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if is_ours else reverse("admin:index")
