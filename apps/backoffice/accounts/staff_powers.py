"""Nobody can grant a permission that they lack.

So staff may change only accounts and groups whose permissions they all have.
"""

from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db.models import Q, QuerySet

from apps.core.staff.limits import highest_limits, limits_in


def powers_of(user: User) -> QuerySet[Permission]:
    """The permissions of an account, its own and its groups', also while it is deactivated."""
    if user.is_superuser:
        return Permission.objects.all()
    granted = Permission.objects.filter(Q(user=user) | Q(group__user=user)).distinct()
    return granted.select_related("content_type")


def may_manage(editor: User, account: User) -> bool:
    """Whether the editor has all permissions of the account, and limits as high as its groups'.

    Otherwise the editor could set a new password and use the account's permissions.
    """
    if editor.is_superuser:
        return True
    if account.is_superuser or not _has_all(editor, powers_of(account)):
        return False
    return not account.groups.filter(pk__in=_groups_above_limits(editor)).exists()


def may_manage_group(editor: User, group: Group) -> bool:
    return _has_all(editor, group.permissions.all())


def grantable_permissions(editor: User) -> QuerySet[Permission]:
    """The permissions that this member of staff may give to others.

    Models of packages other than Django's accounts have no page, and their names are English.
    """
    ours = [config.label for config in apps.get_app_configs() if config.name.startswith("apps.")]
    return Permission.objects.filter(
        pk__in=powers_of(editor).values("pk"), content_type__app_label__in=[*ours, "auth"]
    ).select_related("content_type")


def grantable_groups(editor: User) -> QuerySet[Group]:
    """The groups all of whose permissions the editor has, and whose limits are not above theirs."""
    beyond = Permission.objects.exclude(pk__in=powers_of(editor).values("pk"))
    groups = Group.objects.exclude(permissions__in=beyond)
    return groups.exclude(pk__in=_groups_above_limits(editor))


def _groups_above_limits(editor: User) -> list[int]:
    """The groups with a higher limit than the editor has, unless the editor may change limits."""
    if editor.has_perm("core.change_stafflimit"):
        return []
    own = highest_limits(editor)
    return [
        group.pk
        for group in Group.objects.select_related("staff_limit")
        if any(limit > own[name] for name, limit in limits_in(group).items())
    ]


def _has_all(editor: User, permissions: QuerySet[Permission]) -> bool:
    if editor.is_superuser:
        return True
    return not permissions.exclude(pk__in=powers_of(editor).values("pk")).exists()
