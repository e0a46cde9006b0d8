"""Template tag: the views of a list that the signed-in member of staff has saved."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.urls import reverse

from apps.backoffice.models import SavedView
from apps.backoffice.saved_views import filters_of

register = template.Library()


@dataclass(frozen=True)
class ViewLink:
    pk: int
    name: str
    url: str
    is_current: bool


@dataclass(frozen=True)
class SavedViews:
    """`query` has the filters of the page. `current` is the view that has the same ones."""

    changelist: str
    own: list[ViewLink]
    current: ViewLink | None
    query: str

    @property
    def can_save(self) -> bool:
        return self.query != "" and self.current is None


@register.simple_tag(takes_context=True)
def saved_views(context: Any, changelist: Any) -> SavedViews:
    request, opts = context["request"], changelist.opts
    name = f"{opts.app_label}_{opts.model_name}"
    query = filters_of(changelist.model_admin, request, request.GET)
    address = reverse(f"admin:{name}_changelist")
    rows = SavedView.objects.filter(user=request.user.pk, changelist=name)
    own = [ViewLink(row.pk, row.name, f"{address}?{row.query}", row.query == query) for row in rows]
    return SavedViews(name, own, next((view for view in own if view.is_current), None), query)
