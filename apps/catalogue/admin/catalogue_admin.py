"""The base of the catalogue's admin pages."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from apps.catalogue.models import PriceChange, University
from apps.catalogue.price_limits import cheap_stay_off_sale
from apps.catalogue.recorded import Recorded
from apps.catalogue.services import lock_universities, prices_changed_by
from apps.catalogue.text import search_form, sort_form
from apps.core.money import format_euros, grouped, to_cents
from apps.core.staff.admin_base import NOTHING, AcademyModelAdmin, search_normalized
from apps.core.staff.admin_conflicts import GuardsChanges
from apps.core.staff.limits import OverLimit
from apps.core.staff.staff_log import VALUES

# Of a row that is deleted, with all that belongs to it directly.
MOST_BELOW_DELETED = 1_000


def sample_mark(university: University) -> str:
    return "Ejemplo" if university.is_sample else NOTHING


class CatalogueAdmin(GuardsChanges, AcademyModelAdmin):
    """Records who changes a price. The search ignores accents."""

    filed_in = "name_sort"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        form = search_form if self.filed_in == "name_search" else sort_form
        return search_normalized(request, queryset, field=self.filed_in, form=form(search_term))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        with prices_changed_by(request.user):
            if request.method != "POST":
                return super().changeform_view(request, object_id, form_url, extra_context)
            try:
                with transaction.atomic(), cheap_stay_off_sale(request.user):
                    return super().changeform_view(request, object_id, form_url, extra_context)
            except OverLimit as refusal:
                # The form has said that it is saved. Messages that were read are not shown.
                list(messages.get_messages(request))
                self.message_user(request, refusal.message, messages.ERROR)
                return HttpResponseRedirect(request.get_full_path())

    def lock_row(self, row: Model) -> None:
        """Lock the universities first, as every change of the catalogue does."""
        lock_universities()
        super().lock_row(row)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        """Name the first price of what is added, as changes name a later one."""
        message = super().construct_change_message(request, form, formsets, add)
        added = [form.instance] if add else []
        for formset in formsets or ():
            added += formset.new_objects
        lines = [
            f"{row}: {format_euros(to_cents(getattr(row, row.price_field)))}"
            for row in added
            if isinstance(row, Recorded) and row.price_field
        ]
        return [*message, {VALUES: lines}] if lines else message

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow deleting a row with its price history, which nobody may delete alone.

        What a great many rows belong to stays: the question names all of them, and the bin would
        hold them all.
        """
        below = sum(
            link.related_model._base_manager.filter(**{f"{link.field.name}__in": objs}).count()
            for link in self.model._meta.related_objects
        )
        if below > MOST_BELOW_DELETED:
            rows = grouped(below)
            return [], {}, set(), [f"{rows} filas que dependen de ello: son demasiadas"]
        deleted, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, forbidden - {PriceChange._meta.verbose_name}, protected
