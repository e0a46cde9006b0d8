"""The admin pages of staff accounts and groups."""

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin

# Imported for their registrations, which the classes below replace.
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group, User
from django.db.models import ManyToManyField
from django.http import HttpRequest
from django_otp.plugins.otp_static import admin as backup_codes_admin
from django_otp.plugins.otp_totp import admin as authenticator_admin

from apps.backoffice.staff_powers import (
    grantable_groups,
    grantable_permissions,
    may_manage,
    may_manage_group,
)
from apps.core.admin_base import AcademyModelAdmin

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


class _LimitedChoices(AcademyModelAdmin):
    """Offers only the permissions and groups that the editor may give away."""

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
class StaffAdmin(_LimitedChoices, _UserAdmin):
    """Accounts of staff. They are deactivated and never deleted: their log entries stay."""

    readonly_fields = ("last_login", "date_joined")

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        return fields if _editor(request).is_superuser else (*fields, "is_superuser")

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj is None or may_manage(_editor(request), obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False


@admin.register(Group)
class StaffGroupAdmin(_LimitedChoices, _GroupAdmin):  # type: ignore[misc]  # its stub differs
    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj is None or may_manage_group(_editor(request), obj))

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and (obj is None or may_manage_group(_editor(request), obj))
