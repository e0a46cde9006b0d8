"""Spanish names of permissions for the forms of accounts and groups.

Django stores "Can add order" in the database. Permissions of our own have Spanish names.
"""

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Permission
from django.forms import ModelMultipleChoiceField

# The type stubs' class is generic. Django's own is not.
if TYPE_CHECKING:
    _PermissionsField = ModelMultipleChoiceField[Permission]
else:
    _PermissionsField = ModelMultipleChoiceField

_VERBS = {"view": "ver", "add": "crear", "change": "cambiar", "delete": "borrar"}


def permission_name(permission: Permission) -> str:
    """ "Pedidos: ver" for Django's permissions, "Pedidos: Puede devolver pagos" for ours."""
    model = permission.content_type.model_class()
    if model is None:
        return permission.name
    verb, _, rest = permission.codename.partition("_")
    is_djangos = verb in _VERBS and rest == permission.content_type.model
    plural = str(model._meta.verbose_name_plural)
    return f"{plural[:1].upper()}{plural[1:]}: {_VERBS[verb] if is_djangos else permission.name}"


class PermissionsField(_PermissionsField):
    """A choice of permissions by their Spanish names, in alphabetical order."""

    def label_from_instance(self, obj: Any) -> str:
        return permission_name(obj)
