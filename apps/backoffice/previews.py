"""The home page as it would look with the form that is being filled in. Nothing is stored."""

from collections.abc import Callable, Iterable
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse

from apps.core.dates import today
from apps.pages.models import Positioned
from apps.pages.views import home_context

Context = dict[str, Any]


def _with(rows: Iterable[Positioned], row: Positioned) -> list[Positioned]:
    """The rows in their order, with this one in place of its stored state."""
    others = [other for other in rows if other.pk != row.pk]
    return sorted([*others, row], key=lambda one: (one.position, one.pk or float("inf")))


def _faq(page: Context, row: Any) -> Context:
    return {"faqs": _with(page["faqs"], row)}


def _plan(page: Context, row: Any) -> Context:
    return {"plans": _with(page["plans"], row)}


def _banner(page: Context, row: Any) -> Context:
    """The campaign's notice, also before its first day."""
    return {"banner": row.terms(today()) if row.banner else page["banner"]}


# By the model's label: what the row changes on the page, and the part of the page that shows it.
PREVIEWS: dict[str, tuple[Callable[[Context, Any], Context], str]] = {
    "pages.faq": (_faq, "faq"),
    "pages.priceplan": (_plan, "precios"),
    "pricing.campaign": (_banner, ""),
}


def preview_page(request: HttpRequest, label: str, context: Context) -> HttpResponse:
    """Render the page with the posted form. `?id=` names the row that it changes."""
    if label not in PREVIEWS:
        raise Http404
    model = apps.get_model(label)
    model_admin = admin.site.get_model_admin(model)
    number = request.GET.get("id", "")
    row = get_object_or_404(model, pk=number) if number.isdecimal() and len(number) < 19 else None
    may = model_admin.has_change_permission if row else model_admin.has_add_permission
    if not may(request):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    form_class = model_admin.get_form(request, row, change=row is not None)
    form = form_class(request.POST, request.FILES, instance=row)
    # As where the form is saved: a campaign's locks the row of its user to compare its limit.
    with transaction.atomic():
        is_valid = form.is_valid()
    if not is_valid:
        refused = {**context, "title": "Vista previa", "form": form}
        return TemplateResponse(request, "backoffice/preview_refused.html", refused)
    page = home_context()
    changed = PREVIEWS[label][0](page, form.instance)
    return render(request, "pages/home.html", {**page, **changed, "is_preview": True})
