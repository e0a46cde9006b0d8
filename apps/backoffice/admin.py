"""The admin pages of staff accounts and groups."""

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin

# Imported for their registrations, which the classes below replace.
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group, User
from django.db.models import ManyToManyField
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django_otp.plugins.otp_static import admin as backup_codes_admin
from django_otp.plugins.otp_totp import admin as authenticator_admin

from apps.backoffice.staff_powers import (
    grantable_groups,
    grantable_permissions,
    may_manage,
    may_manage_group,
)
from apps.core.admin_base import AcademyModelAdmin
from apps.core.fresh_password import fresh_password_required

if TYPE_CHECKING:
    _GroupAdmin = auth_admin.GroupAdmin
    _UserAdmin = auth_admin.UserAdmin[User]
else:
    _GroupAdmin, _UserAdmin = auth_admin.GroupAdmin, auth_admin.UserAdmin

admin.site.unregister([User, Group])
# django-otp's own pages would show the secrets of all second factors.
admin.site.unregister([authenticator_admin.TOTPDevice, backup_codes_admin.StaticDevice])


def _editor(request: HttpRequest) -> User:
    """The signed-in member of staff. `admin_view` has refused everybody else."""
    return cast(User, request.user)


class _PowersAdmin(AcademyModelAdmin):
    """Offers only the permissions and groups that the editor may give away.

    Its forms need a fresh password: with a stolen cookie a thief could set a password of their own
    here, and then confirm refunds and exports with it.
    """

    @method_decorator(fresh_password_required)
    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().changeform_view(request, *args, **kwargs)

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> Any:
        offered = {
            "user_permissions": grantable_permissions,
            "permissions": grantable_permissions,
            "groups": grantable_groups,
        }
        kwargs["queryset"] = offered[db_field.name](_editor(request))
        return super().formfield_for_manytomany(db_field, request, **kwargs)


@admin.register(User)
class StaffAdmin(_PowersAdmin, _UserAdmin):
    """Accounts of staff. They are deactivated and never deleted: their log entries stay."""

    readonly_fields = ("last_login", "date_joined")

    @method_decorator(fresh_password_required)
    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        return super().user_change_password(request, id, form_url)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        return fields if _editor(request).is_superuser else (*fields, "is_superuser")

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj is None or may_manage(_editor(request), obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False


@admin.register(Group)
class StaffGroupAdmin(_PowersAdmin, _GroupAdmin):  # type: ignore[misc]  # its stub differs
    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj is None or may_manage_group(_editor(request), obj))

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and (obj is None or may_manage_group(_editor(request), obj))
