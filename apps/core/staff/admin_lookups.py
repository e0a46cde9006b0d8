"""The look-ups that the address of an admin list may name.

Django lets an address filter a list by any field of its model. `?password__startswith=a` lets staff
guess a password's hash letter by letter. Here only the list's own filters and links count.
"""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import get_fields_from_path
from django.db.models import DateField, Model
from django.http import HttpRequest

# Django's own links: a row by its number.
BY_NUMBER = "id__exact"


class GuardedLookups:
    """Mixin of every admin page: refuses look-ups that no filter and no link of the admin uses.

    `link_lookups` are the look-ups of the links that other pages have to this list.
    """

    link_lookups: tuple[str, ...] = ()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup in allowed_lookups(self, request)


def allowed_lookups(model_admin: Any, request: HttpRequest) -> set[str]:
    """The look-ups of the list's filters and of the links that lead to it."""
    allowed = {BY_NUMBER, *model_admin.link_lookups}
    for one_filter in model_admin.get_list_filter(request):
        allowed.update(_lookups_of(one_filter, model_admin.model))
    return allowed


def _lookups_of(one_filter: Any, model: type[Model]) -> Iterator[str]:
    """The look-ups that the choices of one entry of `list_filter` put into the address."""
    if isinstance(one_filter, type) and issubclass(one_filter, admin.SimpleListFilter):
        yield str(one_filter.parameter_name)
        return
    if isinstance(one_filter, type) and hasattr(one_filter, "parameter_names"):
        yield from one_filter.parameter_names
        return
    path, kind = one_filter if isinstance(one_filter, (tuple, list)) else (one_filter, None)
    field: Any = get_fields_from_path(model, path)[-1]
    yield f"{path}__isnull"
    if kind is not None and issubclass(kind, admin.EmptyFieldListFilter):
        yield f"{path}__isempty"
    elif field.remote_field:
        yield f"{path}__{field.target_field.name}__exact"
    elif isinstance(field, DateField):
        yield from (f"{path}__gte", f"{path}__lt")
    else:
        yield from (path, f"{path}__exact")
