"""List filters of the admin pages about orders."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from apps.core.dates import month_start
from apps.orders.models import Gift, Order, StaffOrder
from apps.orders.models.statuses import CANCELED_BY_STAFF, UNPAID, OrderStatus
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


# Filters beside which carts stay hidden. Any other one, and a search, may be about a cart.
_BESIDE_HIDDEN_CARTS = {
    "desde", "hasta", "periodo", "o", "p", "all", "e", "regalo", "payment_type__exact",
}  # fmt: skip


def cart_filter(
    path: str = "", *, hides_staff_orders: bool = False
) -> type[admin.SimpleListFilter]:
    """Hides what was never paid, unless it is asked for. `path` leads to the order: "order__".

    Orders of staff are shown in a list of orders: their buyers have agreed to pay them. In a list
    of what was sold, `hides_staff_orders` hides those that are not paid.
    """
    unpaid = "lo que no se ha pagado" if hides_staff_orders else "los carritos"
    default = "Solo lo pagado" if hides_staff_orders else "Sin carritos"

    class CartFilter(admin.SimpleListFilter):
        title = "pago" if hides_staff_orders else "carritos"
        parameter_name = "carritos"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [("con", f"También {unpaid}"), ("solo", f"Solo {unpaid}")]

        def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
            carts = Q(**{f"{path}status__in": UNPAID})
            if not hides_staff_orders:
                carts &= Q(**{f"{path}by_staff": None})
            if self.value() == "solo":
                return rows.filter(carts)
            others = set(request.GET) - _BESIDE_HIDDEN_CARTS
            return rows if others else rows.exclude(carts)

        def choices(self, changelist: Any) -> Any:
            for choice in super().choices(changelist):
                is_default = choice["display"] == _("All")
                yield {**choice, "display": default} if is_default else choice

    return CartFilter


class StateFilter(admin.SimpleListFilter):
    """The states as the list words them: expired orders that staff have canceled are apart."""

    title = "estado"
    parameter_name = "status__exact"
    canceled = "canceled"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        states = [(str(value), str(label)) for value, label in OrderStatus.choices]
        return [*states, (self.canceled, CANCELED_BY_STAFF)]

    def queryset(self, request: HttpRequest, rows: Any) -> Any:
        if self.value() == self.canceled:
            return rows.canceled()
        if self.value() == OrderStatus.EXPIRED:
            return rows.filter(status=OrderStatus.EXPIRED, by_staff__canceled_at=None)
        return rows.filter(status=self.value()) if self.value() else None


class TransferFilter(admin.SimpleListFilter):
    title = "transferencia"
    parameter_name = "transferencia"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("espera", "Esperando transferencia")]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() != "espera":
            return None
        return rows.filter(pk__in=Order.objects.awaiting_transfer().values("pk"))


class StaffOrderFilter(admin.SimpleListFilter):
    title = "descuento del equipo"
    parameter_name = "descuento"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("espera", "Por aprobar"),
            ("rechazado", "Rechazado"),
            ("grande", "Grande, de los últimos 7 días"),
        ]

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any] | None:
        if self.value() == "espera":
            return rows.filter(pk__in=StaffOrder.objects.awaiting_approval().values("order"))
        if self.value() == "rechazado":
            return rows.filter(pk__in=StaffOrder.objects.refused().values("order"))
        if self.value() == "grande":
            return rows.filter(pk__in=StaffOrder.objects.large_discounts().values("order"))
        return None


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
