import json
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.staff.admin_base import ReadOnlyAdmin, moment
from apps.payments.models import AuditDifference, ProviderEvent
from apps.payments.redaction import without_secrets


class UnprocessedFilter(admin.EmptyFieldListFilter):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = "tratado"


@admin.register(ProviderEvent)
class ProviderEventAdmin(ReadOnlyAdmin):
    list_display = (
        "event_id",
        "kind",
        moment("received_at", "recibido"),
        moment("processed_at", "tratado"),
        "livemode",
        "attempts",
        "outcome",
    )
    list_filter = (("processed_at", UnprocessedFilter), "kind", "livemode")
    search_fields = ("event_id", "kind", "outcome")
    date_hierarchy = "received_at"
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
