"""The admin pages of staff accounts and groups."""

from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import admin, messages

# Imported for their registrations, which the classes below replace.
from django.contrib.auth import admin as auth_admin
from django.contrib.auth import forms as auth_forms
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, ManyToManyField, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django_otp.plugins.otp_static import admin as backup_codes_admin
from django_otp.plugins.otp_totp import admin as authenticator_admin
from django_tasks_db import admin as tasks_admin

from apps.backoffice.accounts.account_changes import (
    Change,
    mail_change,
    mail_group_gains,
    mail_invited,
)
from apps.backoffice.accounts.password_links import FORGOTTEN, INVITATION, mail_link
from apps.backoffice.accounts.permission_names import PermissionsField
from apps.backoffice.accounts.staff_powers import (
    grantable_groups,
    grantable_permissions,
    may_manage,
    may_manage_group,
)
from apps.backoffice.accounts.switches import (
    LABELS,
    SWITCHES,
    State,
    SwitchesForm,
    can_do,
)
from apps.backoffice.models import Authenticator
from apps.core.staff.admin_base import NOTHING, AcademyModelAdmin, RowsInline, moment
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.fresh_password import AsksPasswordToChange, fresh_password_required
from apps.leads.models import StaffDegree

if TYPE_CHECKING:
    _GroupAdmin = auth_admin.GroupAdmin
    _UserAdmin = auth_admin.UserAdmin[User]
    _UserChangeForm = auth_forms.UserChangeForm[User]
else:
    _UserChangeForm = auth_forms.UserChangeForm
    _GroupAdmin, _UserAdmin = auth_admin.GroupAdmin, auth_admin.UserAdmin

admin.site.unregister([User, Group])
# django-otp's own pages would show the secrets of all second factors.
admin.site.unregister([authenticator_admin.TOTPDevice, backup_codes_admin.StaticDevice])
# Its page is in English. Staff see failures under mails and classroom access.
admin.site.unregister(tasks_admin.DBTaskResult)  # type: ignore[attr-defined]  # not exported


def _editor(request: HttpRequest) -> User:
    """The signed-in member of staff. `admin_view` has refused everybody else."""
    return cast(User, request.user)


class _PowersAdmin(AsksPasswordToChange, GuardsChanges, AcademyModelAdmin):
    """Offers only the permissions and groups that the editor may give away.

    Its forms need a fresh password: with a stolen cookie a thief could set a password of their own
    here, and then confirm refunds and exports with it.
    """

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "groups" and field is not None:
            # A group is made in its own list. The sign for that floated beside the boxes.
            field.widget.can_add_related = False
        return field

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> Any:
        offered = {
            "user_permissions": grantable_permissions,
            "permissions": grantable_permissions,
            "groups": grantable_groups,
        }
        kwargs["queryset"] = offered[db_field.name](_editor(request))
        if db_field.name == "groups":
            # There are few. Django's two lists are for many.
            kwargs["widget"] = forms.CheckboxSelectMultiple()
            return super().formfield_for_manytomany(db_field, request, **kwargs)
        kwargs["form_class"] = PermissionsField
        field: Any = super().formfield_for_manytomany(db_field, request, **kwargs)
        # Django's text is about a box that its script replaces.
        field.help_text = ""
        return field


# The facts of an account that the others who may invite were mailed, or would be mailed now.
_TOLD = frozenset({"username", "first_name", "last_name", "email", "groups"})
# Whom histories name as their author, beside staff.
NOBODY_OF_STAFF = frozenset({"stripe", "comprador", "alumno", "sistema"})
_TOLD_POWERS = frozenset({"user_permissions", "is_superuser"})


class AccountForm(_UserChangeForm):
    def clean_username(self) -> str:
        """Refuse a name that looks like another one, or differs from it only by capitals.

        The limits of sign-ins take names with other capitals for one. A name with letters of
        another alphabet would look like a colleague's in every record.
        """
        name = str(self.cleaned_data["username"])
        if name != self.instance.username and not name.isascii():
            raise forms.ValidationError("Usa letras sin acentos, números y los signos @ . + - _")
        if name.lower() in NOBODY_OF_STAFF:
            raise forms.ValidationError("Ese nombre lo usan los historiales para otra cosa.")
        if User.objects.filter(username__iexact=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError("Ya hay una cuenta con ese usuario.")
        return name


class DegreeRows(RowsInline):
    """The degrees whose leads a teacher answers. Who may read all leads needs no rows."""

    model = StaffDegree
    fields = ("degree",)
    autocomplete_fields = ("degree",)


@admin.register(User)
class StaffAdmin(_PowersAdmin, _UserAdmin):
    """Accounts of staff: invited, deactivated, never deleted, so that their log entries stay."""

    list_display = (
        "username",
        "full_name",
        "group_names",
        "has_second_factor",
        "is_active",
        moment("last_login", "última entrada"),
    )
    list_filter = ("is_active", "groups")
    readonly_fields = (
        "last_login",
        "date_joined",
        "password_link",
        "has_second_factor",
        "abilities",
    )
    actions = ("send_link",)
    inlines = (DegreeRows,)
    form = AccountForm
    filter_horizontal = ("user_permissions",)
    fieldsets = (
        ("Persona", {"fields": ("username", ("first_name", "last_name"), "email")}),
        (
            "Acceso",
            {
                "fields": (
                    "is_active",
                    "password_link",
                    "has_second_factor",
                    ("last_login", "date_joined"),
                )
            },
        ),
        ("Qué puede hacer", {"fields": ("groups", "abilities")}),
        (
            "Permisos sueltos",
            {
                "classes": ("collapse",),
                "description": "Además de los de sus grupos. Casi nunca hacen falta.",
                "fields": ("user_permissions", "is_superuser"),
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        accounts: QuerySet[User] = super().get_queryset(request)
        devices = Authenticator.objects.filter(user=OuterRef("pk"), confirmed=True)
        return accounts.prefetch_related("groups").annotate(second_factor=Exists(devices))

    def get_form(
        self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        kwargs["labels"] = {"is_active": "Puede entrar", "is_superuser": "Puede todo"}
        kwargs["help_texts"] = {
            "username": "Con él entra. Suele ser su correo. Cuando ya tiene contraseña no cambia: "
            "los registros dicen con él quién hizo cada cosa.",
            "email": "Cuando ya tiene contraseña, solo lo cambia su dueño. Si ha perdido ese "
            "correo, desactiva la cuenta e invita a la persona de nuevo.",
            "is_active": "Quítalo cuando deje la academia: la cuenta y su historial se conservan.",
            "is_superuser": "Sin límites. Para quien lleva el servidor.",
            "groups": "Cada grupo da sus permisos.",
            "user_permissions": "",
        }
        return super().get_form(request, obj, change=change, **kwargs)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Accounts are made by invitation: nobody types another person's password."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return redirect("admin:staff_invite")

    @admin.display(description="nombre", ordering="first_name")
    def full_name(self, user: User) -> str:
        return user.get_full_name() or NOTHING

    @admin.display(description="grupos")
    def group_names(self, user: User) -> str:
        return ", ".join(group.name for group in user.groups.all()) or NOTHING

    @admin.display(description="segundo factor", boolean=True)
    def has_second_factor(self, user: User) -> bool:
        return bool(user.second_factor)  # type: ignore[attr-defined]  # an annotation

    @admin.display(description="con sus grupos y permisos sueltos")
    def abilities(self, user: User) -> str | SafeString:
        if user.is_superuser:
            return "Puede todo."
        having = [
            (label, "" if state == State.YES else f" ({LABELS[state].lower()})")
            for label, state in can_do(user)
        ]
        rows = format_html_join("", "<li>{}{}</li>", having)
        return format_html('<ul class="abilities">{}</ul>', rows) if having else "Nada todavía."

    @admin.display(description="contraseña")
    def password_link(self, user: User) -> str:
        state = "Puesta." if user.has_usable_password() else "Todavía sin poner."
        return f"{state} La elige su dueño, con un enlace: marca la cuenta en la lista y envíaselo."

    @admin.action(description="Enviar un enlace para elegir contraseña", permissions=["change"])
    @method_decorator(fresh_password_required)
    def send_link(self, request: HttpRequest, users: QuerySet[User]) -> None:
        chosen = users.filter(is_active=True, is_staff=True).exclude(email="")
        allowed = [user for user in chosen if may_manage(_editor(request), user)]
        for user in allowed:
            with transaction.atomic():
                mail_link(user, FORGOTTEN if user.has_usable_password() else INVITATION)
        self.message_user(request, f"Enlaces enviados: {len(allowed)}.", messages.INFO)

    def get_urls(self) -> list[Any]:
        """Without Django's page that sets the password of another person."""
        own = super().get_urls()
        return [url for url in own if url.name != "auth_user_password_change"]

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Nobody changes the address of a colleague who has a password, nor a name in use.

        Links for a new password go to the address. Otherwise one person could control two accounts
        and approve their own discount. The records of what was done have the name: with that of a
        colleague for an hour, one would act as the colleague.
        """
        fields = super().get_readonly_fields(request, obj)
        if obj is not None and obj.has_usable_password():
            fields = (*fields, "username")
        if obj is not None and obj.pk != _editor(request).pk and obj.has_usable_password():
            fields = (*fields, "email")
        return fields if _editor(request).is_superuser else (*fields, "is_superuser")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        # An invitation with a wrong address is no account yet.
        if "email" in form.changed_data and obj.has_usable_password():
            mail_change(obj, Change.EMAIL, to=form.initial["email"])

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        # Once the owner has a password, their name is their own business, and their powers are not.
        told = _TOLD_POWERS | (_TOLD if not form.instance.has_usable_password() else {"groups"})
        changed = {*form.changed_data}
        is_reactivated = form.instance.is_active and "is_active" in changed
        if form.instance.pk != _editor(request).pk and (told & changed or is_reactivated):
            mail_invited(form.instance, by=_editor(request), is_changed=True)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj is None or may_manage(_editor(request), obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False


@admin.register(Group)
class StaffGroupAdmin(_PowersAdmin, _GroupAdmin):  # type: ignore[misc]  # its stub differs
    """Groups, with what their members can do as switches over the single permissions."""

    form = SwitchesForm
    fieldsets = (
        (None, {"fields": ("name",)}),
        (
            "Qué pueden hacer",
            {"classes": ("switches",), "fields": [switch.field for switch in SWITCHES]},
        ),
        (
            "Permisos sueltos",
            {
                "classes": ("collapse",),
                "description": "Cada permiso por separado. «A medida» es tener solo algunos de los "
                "de una línea de arriba. Si cambias las dos cosas, vale la línea.",
                "fields": ("permissions",),
            },
        ),
    )

    def get_form(
        self, request: HttpRequest, obj: Group | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        kwargs["help_texts"] = {"permissions": ""}
        form = super().get_form(request, obj, change=change, **kwargs)
        form.editor = _editor(request)
        return form

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        powers = form.instance.permissions
        before = set(powers.values_list("pk", flat=True))
        super().save_related(request, form, formsets, change)
        if powers.exclude(pk__in=before).exists():
            mail_group_gains(form.instance, by=_editor(request))

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj is None or may_manage_group(_editor(request), obj))

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and (obj is None or may_manage_group(_editor(request), obj))
