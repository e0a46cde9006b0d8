"""List filters of the admin pages about orders."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from apps.orders.reads import paid_without_access


class AttentionFilter(admin.SimpleListFilter):
    title = "atención"
    parameter_name = "atencion"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("si", "Con aviso")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        return rows.exclude(flag="") if self.value() == "si" else None


class OrderAttentionFilter(AttentionFilter):
    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() != "si":
            return None
        return rows.filter(~Q(flag="") | Q(disputed_at__isnull=False))


class AccessFilter(admin.SimpleListFilter):
    title = "acceso al aula"
    parameter_name = "acceso"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "Pagado sin acceso")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() != "no":
            return None
        return rows.filter(pk__in=paid_without_access().values("pk"))
