import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.staff.admin_base import ReadOnlyAdmin, moment
from apps.core.staff.admin_filters import range_filter
from apps.payments.events.handlers import HANDLERS
from apps.payments.models import AuditDifference, ProviderEvent
from apps.payments.webhooks import without_secrets


class UnprocessedFilter(admin.EmptyFieldListFilter):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = "tratado"


class KindFilter(admin.SimpleListFilter):
    """The kinds that the shop acts on: those of all events would be read from the whole table."""

    title = "tipo"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind) for kind in sorted(HANDLERS)]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        return rows.filter(kind=self.value()) if self.value() in HANDLERS else None


@admin.register(ProviderEvent)
class ProviderEventAdmin(ReadOnlyAdmin):
    # Its content has the name, address and phone of a buyer.
    logs_reading = True
    list_display = (
        "event_id",
        "kind",
        moment("received_at", "recibido"),
        moment("processed_at", "tratado"),
        "livemode",
        "attempts",
        "outcome",
    )
    list_filter = (
        ("processed_at", UnprocessedFilter),
        KindFilter,
        "livemode",
        range_filter("received_at", "recibido"),
    )
    search_fields = ("event_id", "kind", "outcome")
    fields = (
        "event_id",
        "kind",
        "livemode",
        "received_at",
        "processed_at",
        "attempts",
        "outcome",
        "content",
    )
    readonly_fields = ("content",)

    def get_queryset(self, request: HttpRequest) -> Any:
        events = super().get_queryset(request)
        # The list does not show payloads. They are large, so they are not loaded.
        match = request.resolver_match
        in_list = match is not None and (match.url_name or "").endswith("_changelist")
        return events.defer("payload") if in_list else events

    @admin.display(description="contenido")
    def content(self, event: ProviderEvent) -> SafeString:
        text = json.dumps(without_secrets(event.payload), indent=2, ensure_ascii=False)
        return format_html('<pre class="payload">{}</pre>', text)


@admin.register(AuditDifference)
class AuditDifferenceAdmin(ReadOnlyAdmin):
    """What the last nightly audit found. The next one drops what is settled."""

    list_display = ("text", moment("found_at", "encontrada"))
    search_fields = ("text",)
    fields = ("text", "found_at")
