"""Saved views: filters of a list that a member of staff has named (docs/rules.md, "Staff").

Only filters are kept. What is searched for may name a person, and is left out.
"""

from typing import Any, cast

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.views.main import ORDER_VAR
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from apps.backoffice.models import LONGEST_NAME, LONGEST_QUERY, SavedView
from apps.core.staff.admin_lookups import allowed_lookups

MOST_VIEWS = 20


def filters_of(page: Any, request: HttpRequest, query: QueryDict) -> str:
    """The filters and the order in the address of a list, as a query; empty if there is none."""
    allowed = {*allowed_lookups(page, request), ORDER_VAR}
    kept = QueryDict(mutable=True)
    for name in sorted(query):
        if name in allowed and any(query.getlist(name)):
            kept.setlist(name, query.getlist(name))
    return kept.urlencode()


def _page_of(changelist: str, request: HttpRequest) -> Any:
    """The admin page of a list such as "orders_order". Raises Http404 and PermissionDenied."""
    app, _, model_name = changelist.partition("_")
    try:
        page = admin.site._registry[apps.get_model(app, model_name)]
    except (KeyError, LookupError):
        raise Http404 from None
    if not page.has_view_permission(request):
        raise PermissionDenied
    return page


@require_POST
def save_view(request: HttpRequest, changelist: str) -> HttpResponse:
    """Keep the filters of a list under a name. A view of the same name is replaced."""
    page = _page_of(changelist, request)
    query = filters_of(page, request, QueryDict(request.POST.get("query", "")))
    name = " ".join(request.POST.get("name", "").split())
    user = cast(User, request.user)
    mine = SavedView.objects.filter(user=user, changelist=changelist)
    address = f"{reverse(f'admin:{changelist}_changelist')}?{query}"
    # Compared here: PostgreSQL refuses a query with a NUL.
    others = [each for each in mine.values_list("name", flat=True) if each != name]
    refusal = _refusal(name, query, count=len(others))
    if refusal:
        messages.error(request, refusal)
        return redirect(address)
    SavedView.objects.update_or_create(
        user=user, changelist=changelist, name=name, defaults={"query": query}
    )
    messages.success(request, f"Vista guardada: {name}.")
    return redirect(address)


def _refusal(name: str, query: str, *, count: int) -> str:
    for what, text, most in (("nombre", name, LONGEST_NAME), ("filtro", query, LONGEST_QUERY)):
        if not text:
            return f"No se ha guardado la vista: falta el {what}."
        if len(text) > most:
            return f"No se ha guardado la vista: el {what} es demasiado largo."
        # PostgreSQL stores no NUL.
        if not text.isprintable():
            return f"No se ha guardado la vista: el {what} tiene caracteres que no se ven."
    if count >= MOST_VIEWS:
        return f"Ya tienes {MOST_VIEWS} vistas de esta lista: borra alguna."
    return ""


@require_POST
def remove_view(request: HttpRequest, view_id: int) -> HttpResponse:
    """Delete a view of one's own."""
    view = get_object_or_404(SavedView, pk=view_id, user=request.user.pk)
    view.delete()
    messages.success(request, f"Vista borrada: {view.name}.")
    return redirect(f"admin:{view.changelist}_changelist")
