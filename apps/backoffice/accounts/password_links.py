"""Links by mail with which staff set their password: after an invitation, or when it is forgotten.

A link is a signature of Django over the account's password and last sign-in, so it works once, for
three days, and is stored nowhere. The second factor of the account stays.
"""

from typing import Any, cast
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import (
    INTERNAL_RESET_SESSION_TOKEN,
    PasswordResetConfirmView,
)
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.http import urlencode, urlsafe_base64_encode

from apps.backoffice.accounts.account_changes import Change, mail_change, register_change_mails
from apps.backoffice.accounts.password_page import name_new_password
from apps.backoffice.accounts.sign_in import (
    GUESSED,
    OF_STRANGERS,
    SLOWED_MINUTES,
    remember_device,
)
from apps.backoffice.accounts.step_pages import step_context
from apps.core.errors import TooManyRequests
from apps.core.input_fields import EmailFormField
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin, link_was_used
from apps.core.mail.registry import AccountUrl, NoLongerDue, absolute_url, register_mail
from apps.core.web.response_headers import private_form_page
from apps.core.web.throttle import Limit
from apps.core.web.timing import constant_time

# Requests from one network, whether the account exists or not.
OF_VISITOR = Limit("staff-password-link", times=5, seconds=900)
INVITATION, FORGOTTEN = "staff_invitation", "staff_password_link"


def register_mails() -> None:
    register_change_mails()
    register_mail(
        INVITATION,
        "Tu cuenta en la administración de {{ brand }}",
        link_context,
        origin=Origin.STAFF,
        is_fixed=True,
    )
    register_mail(
        GUESSED,
        "Alguien está probando contraseñas con tu cuenta",
        guessed_context,
        origin=Origin.STAFF,
        is_fixed=True,
    )
    register_mail(
        FORGOTTEN,
        "Contraseña nueva para la administración",
        link_context,
        origin=Origin.STAFF_LINK,
        is_fixed=True,
    )


def guessed_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the mail `staff_password_guessed`."""
    user = User.objects.get(pk=ids["user_id"])
    return {
        "first_name": user.first_name,
        "username": user.get_username(),
        "admin_url": absolute_url(reverse("admin_password_reset")),
        "attempts": OF_STRANGERS.times,
        "minutes": SLOWED_MINUTES,
    }


def mail_link(user: User, template: str) -> None:
    """Queue a mail with a link for this account. Call it inside a transaction."""
    queue_mail(
        key=f"{template}:{user.pk}:{uuid4().hex}",
        template=template,
        to=user.email,
        context={"user_id": user.pk},
    )


def link_context(ids: dict[str, Any]) -> dict[str, Any]:
    user = User.objects.get(pk=ids["user_id"])
    if not (user.is_active and user.is_staff):
        raise NoLongerDue
    number = urlsafe_base64_encode(force_bytes(user.pk))
    path = set_password_path(number, default_token_generator.make_token(user))
    return {
        "first_name": user.first_name,
        "username": user.get_username(),
        "link_url": AccountUrl(absolute_url(path), address=user.email),
        "admin_url": absolute_url(reverse("admin:index")),
    }


def set_password_path(number: str, token: str) -> str:
    """The address of a link, for an account's encoded number.

    The token is in the query, because access logs have paths and no queries.
    """
    return f"{reverse('staff_set_password')}?{urlencode({'cuenta': number, 'enlace': token})}"


class ForgottenForm(forms.Form):
    email = EmailFormField(
        label="Tu correo",
        widget=forms.EmailInput(attrs={"autocomplete": "email", "class": "vTextField"}),
    )


def forgotten_password(request: HttpRequest) -> HttpResponse:
    """Ask for an address and mail a link to its accounts. The answer tells nobody who has one."""
    form = ForgottenForm(request.POST or None)
    is_sent = False
    if request.method == "POST" and form.is_valid():
        try:
            OF_VISITOR.count(request)
        except TooManyRequests as refusal:
            form.add_error(None, refusal.message)
        else:
            with constant_time():
                _mail_links(form.cleaned_data["email"])
            is_sent = True
    context = {**step_context(request), "title": "Contraseña olvidada", "form": form}
    context["is_sent"] = is_sent
    return TemplateResponse(request, "backoffice/forgotten_password.html", context)


def _mail_links(email: str) -> None:
    for user in User.objects.filter(email__iexact=email, is_active=True, is_staff=True):
        with transaction.atomic():
            mail_link(user, FORGOTTEN)


# Django types the answers of such views as HttpResponseBase.
@method_decorator(private_form_page, name="dispatch")  # type: ignore[arg-type]
class SetPassword(PasswordResetConfirmView):
    """The page behind the link. A link that was used or is too old says so."""

    template_name = "backoffice/set_password.html"
    success_url = reverse_lazy("admin:login")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        number, token = request.GET.get("cuenta", ""), request.GET.get("enlace", "")
        response = super().dispatch(request, uidb64=number, token=token)
        if token and request.session.get(INTERNAL_RESET_SESSION_TOKEN) == token:
            # Django has put the token into the session and redirects to the address without it.
            return redirect(set_password_path(number, self.reset_url_token))
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        own = super().get_context_data(**kwargs)
        title = "Elige tu contraseña" if own.get("validlink") else "Este enlace ya no vale"
        return {**step_context(self.request), **own, "title": title}

    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)
        name_new_password(form)
        return form

    def get_user(self, uidb64: str) -> Any:
        user = super().get_user(uidb64)
        return user if user is not None and user.is_active and user.is_staff else None

    def form_valid(self, form: Any) -> HttpResponse:
        # The page exists only for an account.
        user = cast(User, self.user)
        LogEntry.objects.create(
            user_id=user.pk,
            content_type=ContentType.objects.get_for_model(User),
            object_id=str(user.pk),
            object_repr=str(user)[:200],
            action_flag=CHANGE,
            change_message="Contraseña puesta con un enlace",
        )
        # The first password of an invitation is no change.
        if user.has_usable_password():
            mail_change(user, Change.PASSWORD, to=user.email)
        response = super().form_valid(form)
        link_was_used(Origin.STAFF_LINK, user.email)
        messages.success(self.request, f"Contraseña guardada. Tu usuario es {user.get_username()}.")
        # Whoever reads the account's mails is its owner, also while others guess the password.
        remember_device(self.request, response, user)
        return response
