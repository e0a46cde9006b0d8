"""Invites members of staff: an account without a password, its group, and a mail with a link."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from apps.backoffice.accounts.account_changes import mail_invited
from apps.backoffice.accounts.password_links import INVITATION, mail_link
from apps.backoffice.accounts.staff_powers import grantable_groups
from apps.core.input_fields import EmailFormField
from apps.core.staff.admin_log import log_rows
from apps.core.staff.fresh_password import fresh_password_required

# The admin's class of fields as wide as the form.
WIDE = {"class": "vTextField"}
ALREADY_THERE = "Ya hay una cuenta con este correo."


class InvitationForm(forms.Form):
    email = EmailFormField(label="Correo", max_length=150, widget=forms.EmailInput(WIDE))
    first_name = forms.CharField(label="Nombre", max_length=150, widget=forms.TextInput(WIDE))
    last_name = forms.CharField(
        label="Apellidos", max_length=150, required=False, widget=forms.TextInput(WIDE)
    )
    group = forms.ModelChoiceField(
        Group.objects.none(),
        label="Grupo",
        help_text="Decide qué puede ver y hacer: se lee en Equipo › Grupos. Los grados de un "
        "profesor se eligen después, en su página.",
    )

    def __init__(self, editor: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast(forms.ModelChoiceField[Group], self.fields["group"])
        field.queryset = grantable_groups(editor).order_by("name")

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"].lower()
        if User.objects.filter(Q(username__iexact=email) | Q(email__iexact=email)).exists():
            raise forms.ValidationError(ALREADY_THERE)
        return email


def invite_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Ask for name, address and group, then mail the link."""
    if not request.user.has_perm("auth.add_user"):
        raise PermissionDenied
    answer: HttpResponse = _invite(request, context)
    return answer


@fresh_password_required
def _invite(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = InvitationForm(cast(User, request.user), request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = _invited(form, cast(User, request.user))
        if user is not None:
            log_rows(request, User, [user.pk], f"Invitación a «{form.cleaned_data['group']}»")
            messages.success(request, f"Se ha enviado la invitación a {user.email}.")
            return redirect("admin:auth_user_changelist")
    context = {**context, "title": "Invitar a una persona", "form": form}
    return TemplateResponse(request, "backoffice/invite.html", context)


def _invited(form: InvitationForm, by: User) -> User | None:
    try:
        return invite(**form.cleaned_data, by=by)
    except IntegrityError:
        # Another click has created the account since the form was checked.
        form.add_error("email", ALREADY_THERE)
        return None


@transaction.atomic
def invite(*, email: str, first_name: str, last_name: str, group: Group, by: User) -> User:
    """Create the account, which has no password until the link is used, and queue the mails."""
    user = User.objects.create_user(
        email, email, first_name=first_name, last_name=last_name, is_staff=True
    )
    user.groups.add(group)
    mail_link(user, INVITATION)
    mail_invited(user, by=by)
    return user
