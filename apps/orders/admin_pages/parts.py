"""The admin's lists of lines, instalments, payments, history, code uses, transfers and notes."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from apps.core.staff.admin_base import (
    ReadOnlyAdmin,
    list_link,
    moment,
    money,
)
from apps.core.staff.admin_filters import month_filter
from apps.orders.admin_pages.filters import AttentionFilter, LateFilter, UnmatchedFilter
from apps.orders.admin_pages.rows import AttemptRows
from apps.orders.models import (
    Instalment,
    OrderEvent,
    OrderLine,
    OrderNote,
    Payment,
    PromoUse,
    TransferReceipt,
)
from apps.orders.plan.charging import charge_again
from apps.orders.settlement.unmatched import attend_unmatched_payments


class OfOrderAdmin(ReadOnlyAdmin):
    """Rows that belong to an order, with a search by the buyer's address."""

    list_select_related = ("order",)

    @admin.display(description="importe", ordering="amount")
    def money_amount(self, row: Any) -> str:
        return money(row.amount)


@admin.register(OrderLine)
class OrderLineAdmin(OfOrderAdmin):
    list_display = ("order", "name", "degree_name", "university_name", "charged")
    list_filter = ("order__status",)
    search_fields = ("name", "order__email")

    @admin.display(description="precio", ordering="price")
    def charged(self, line: OrderLine) -> str:
        return money(line.price)


@admin.register(Instalment)
class InstalmentAdmin(OfOrderAdmin):
    list_display = (
        "order",
        "number",
        "money_amount",
        "due_on",
        "status",
        "charge_on",
        moment("paid_at", "pagado"),
    )
    list_filter = (
        LateFilter,
        "status",
        "due_on",
        # The last instalment is due two months after the first.
        month_filter("due_on", "vence en", ahead=2),
    )
    search_fields = ("order__email",)
    actions = ("charge_again",)
    fields = (
        "order",
        ("number", "amount"),
        "due_on",
        "status",
        ("charge_on", "first_refused_on", "noticed_at"),
        "paid_at",
    )
    inlines = (AttemptRows,)

    @admin.action(description="Cobrar otra vez lo vencido", permissions=["charge"])
    def charge_again(self, request: HttpRequest, instalments: QuerySet[Instalment]) -> None:
        """Let the next scheduled run charge the instalments. None is charged before its day."""
        actor = request.user.get_username()
        again = sum(
            charge_again(instalment_id=pk, actor=actor)
            for pk in instalments.values_list("pk", flat=True)
        )
        left = instalments.count() - again
        self.message_user(request, f"Se cobrarán dentro de unos minutos: {again}.", messages.INFO)
        if left:
            self.message_user(
                request,
                f"No se pueden cobrar: {left}. Están pagados, no han vencido, o su tarjeta ya no "
                "admite cobros y el alumno tiene que poner otra.",
                messages.WARNING,
            )

    def has_charge_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("orders.change_instalment"))


@admin.register(Payment)
class PaymentAdmin(OfOrderAdmin):
    list_display = (
        "reference",
        "order",
        "money_amount",
        "currency",
        "status",
        moment("created_at", "creado"),
        "flag",
    )
    list_filter = (
        UnmatchedFilter,
        AttentionFilter,
        "status",
        month_filter("created_at", "creado en"),
    )
    search_fields = ("reference", "order__email", "flag")
    link_lookups = ("succeeded_at__date",)
    logged_by_row = ("delete_selected", "attended")
    actions = ("attended",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Payment]:
        payments: QuerySet[Payment] = super().get_queryset(request)
        return payments.select_related("order")

    @admin.action(description="Dar por atendido el cobro sin pedido", permissions=["attend"])
    def attended(self, request: HttpRequest, payments: QuerySet[Payment]) -> None:
        attended = attend_unmatched_payments(payments.values_list("pk", flat=True))
        for payment in attended:
            self.log_change(request, payment, f"Atendido: {payment.flag}")
        self.message_user(request, f"Cobros atendidos: {len(attended)}.", messages.INFO)

    def has_attend_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("orders.change_payment")


@admin.register(OrderEvent)
class OrderEventAdmin(OfOrderAdmin):
    list_display = (moment("at", "cuándo"), "order", "actor", "from_status", "to_status", "reason")
    list_filter = ("kind", "to_status", month_filter("at", "mes"))
    search_fields = ("order__email", "actor", "reason")


@admin.register(PromoUse)
class PromoUseAdmin(OfOrderAdmin):
    list_display = (
        "promo_code",
        "order",
        "student",
        "status",
        moment("reserved_at", "reservado"),
        moment("used_at", "usado"),
    )
    list_display_links = ("promo_code",)
    list_filter = ("status", month_filter("reserved_at", "reservado en"))
    link_lookups = ("promo_code__id__exact",)
    search_fields = ("promo_code__code", "order__email")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PromoUse]:
        uses: QuerySet[PromoUse] = super().get_queryset(request)
        return uses.select_related("promo_code", "order", "student")


@admin.register(TransferReceipt)
class TransferReceiptAdmin(ReadOnlyAdmin):
    list_display = (
        "proof",
        "of_order",
        "worth",
        "received_on",
        "actor",
        moment("created_at", "apuntada"),
    )
    list_filter = (month_filter("created_at", "apuntada en"),)
    search_fields = ("proof", "order__email")
    link_lookups = ("order__id__exact",)
    fields = ("order", "amount", "received_on", "proof", "actor", "created_at")

    @admin.display(description="pedido", ordering="order")
    def of_order(self, receipt: TransferReceipt) -> SafeString:
        return list_link(f"Pedido {receipt.order_id}", "orders_order", id__exact=receipt.order_id)

    @admin.display(description="importe", ordering="amount")
    def worth(self, receipt: TransferReceipt) -> str:
        return money(receipt.amount)


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
