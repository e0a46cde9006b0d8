"""The admin's list with the last backup."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.timesince import timesince

from apps.core.models import Backup
from apps.core.staff.admin_base import NOTHING, ReadOnlyAdmin, moment


class LateFilter(admin.SimpleListFilter):
    title = "edad"
    parameter_name = "edad"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("vieja", "Atrasada")]

    def queryset(self, request: HttpRequest, rows: Any) -> Any:
        return rows.late() if self.value() == "vieja" else None


@admin.register(Backup)
class BackupAdmin(ReadOnlyAdmin):
    list_display = ("archive_name", moment("made_at", "última copia"), "age", "size", "encrypted")
    list_filter = (LateFilter,)
    search_fields = ("archive",)
    fields = ("archive_name", "made_at", "age", "size", "encrypted")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Backup]:
        return Backup.objects.all()

    @admin.display(description="archivo", ordering="archive")
    def archive_name(self, row: Backup) -> str:
        return str(row)

    @admin.display(description="hace", ordering="made_at")
    def age(self, row: Backup) -> str:
        return timesince(row.made_at) if row.made_at else NOTHING

    @admin.display(description="tamaño", ordering="size_bytes")
    def size(self, row: Backup) -> str:
        return str(filesizeformat(row.size_bytes)) if row.made_at else NOTHING
