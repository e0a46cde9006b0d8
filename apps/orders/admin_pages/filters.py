"""List filters of the admin pages about orders."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.core.dates import month_start
from apps.orders.models import Gift, Order
from apps.orders.reads import paid_after_reminder, paid_without_access


class AttentionFilter(admin.SimpleListFilter):
    title = "atención"
    parameter_name = "atencion"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("si", "Con aviso")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        return rows.exclude(flag="") if self.value() == "si" else None


class OrderAttentionFilter(AttentionFilter):
    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*super().lookups(request, model_admin), ("doble", "Comprado dos veces")]

    def queryset(self, request: HttpRequest, rows: Any) -> Any:
        if self.value() == "doble":
            return rows.bought_twice()
        if self.value() != "si":
            return None
        return rows.needing_attention()


class TransferFilter(admin.SimpleListFilter):
    title = "transferencia"
    parameter_name = "transferencia"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("espera", "Esperando transferencia")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() != "espera":
            return None
        return rows.filter(pk__in=Order.objects.awaiting_transfer().values("pk"))


class GiftFilter(admin.SimpleListFilter):
    title = "regalo"
    parameter_name = "regalo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(value), str(label)) for value, label in Gift.Status.choices]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() not in Gift.Status.values:
            return None
        return rows.filter(pk__in=Gift.objects.filter(status=self.value()).values("order"))


class AccessFilter(admin.SimpleListFilter):
    title = "acceso al aula"
    parameter_name = "acceso"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "Pagado sin acceso")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() != "no":
            return None
        return rows.filter(pk__in=paid_without_access().values("pk"))


class RecoveredFilter(admin.SimpleListFilter):
    title = "recuperados"
    parameter_name = "recuperado"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("mes", "Pagados este mes tras un aviso")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() != "mes":
            return None
        return rows.filter(pk__in=paid_after_reminder(since=month_start()).values("pk"))


class LateFilter(admin.SimpleListFilter):
    title = "situación"
    parameter_name = "situacion"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("vencido", "Rechazado o vencido")]

    def queryset(self, request: HttpRequest, rows: Any) -> Any:
        return rows.late() if self.value() == "vencido" else None


class UnmatchedFilter(admin.SimpleListFilter):
    title = "pedido"
    parameter_name = "pedido"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("ninguno", "Sin pedido y sin atender")]

    def queryset(self, request: HttpRequest, rows: Any) -> Any:
        return rows.unmatched() if self.value() == "ninguno" else None
