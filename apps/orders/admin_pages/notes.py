"""The list of notes about orders, with a filter of those whose day has come."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.core.staff.admin_base import ReadOnlyAdmin, list_link, moment
from apps.orders.models import OrderNote


class DueFilter(admin.SimpleListFilter):
    title = "para cuándo"
    parameter_name = "cuando"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("hoy", "Para hoy o antes"), ("pendientes", "Pendientes")]

    def queryset(self, request: HttpRequest, rows: QuerySet[OrderNote]) -> Any:
        notes = OrderNote.objects.all()
        if self.value() == "hoy":
            return rows.filter(pk__in=notes.due().values("pk"))
        if self.value() == "pendientes":
            return rows.filter(pk__in=notes.waiting().values("pk"))
        return None


@admin.register(OrderNote)
class OrderNoteAdmin(ReadOnlyAdmin):
    list_display = (
        "text",
        "of_order",
        "due_on",
        "actor",
        moment("created_at", "escrita"),
        moment("done_at", "hecha"),
    )
    list_select_related = ("order",)
    list_filter = (DueFilter,)
    search_fields = ("text", "order__email", "actor")
    link_lookups = ("order__id__exact",)
    fields = ("order", "text", "due_on", "actor", "created_at", "done_at", "done_by")

    @admin.display(description="pedido", ordering="order")
    def of_order(self, note: OrderNote) -> str:
        return list_link(f"Pedido {note.order_id}", "orders_order", id__exact=note.order_id)
