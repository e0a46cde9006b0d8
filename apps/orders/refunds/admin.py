"""Lists of refunds and disputes in the admin. A refund is started on its order's page."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString

from apps.core.staff.admin_base import ReadOnlyAdmin, list_link, moment, money
from apps.core.staff.admin_filters import month_filter
from apps.core.staff.fresh_password import fresh_password_required
from apps.orders.models import Dispute, Order, Refund
from apps.orders.refunds.sent_back_by_bank import settle_outside


class _OfPaymentAdmin(ReadOnlyAdmin):
    list_select_related = ("payment__order",)
    search_fields = ("reference", "payment__reference", "payment__order__email")
    # The order's page leads to the rows of its own.
    link_lookups = ("payment__order__id__exact",)

    @admin.display(description="importe", ordering="amount")
    def worth(self, row: Refund | Dispute) -> str:
        return money(row.amount)

    @admin.display(description="pedido", ordering="payment__order")
    def order(self, row: Refund | Dispute) -> SafeString:
        order: Order | None = row.payment.order
        number = order.pk if order else 0
        return list_link(f"Pedido {number}", "orders_order", id__exact=number)


class RefundAdmin(_OfPaymentAdmin):
    list_display = (
        "__str__",
        "order",
        "worth",
        "status",
        "actor",
        moment("created_at", "pedida"),
        "reason",
        "problem",
    )
    list_filter = ("status", month_filter("created_at", "pedida en"))
    actions = ("given_otherwise",)
    fields = (
        "order",
        "payment",
        "worth",
        "status",
        "reason",
        "lines",
        "cancels_plan",
        "actor",
        "reference",
        "problem",
        ("created_at", "settled_at"),
    )
    readonly_fields = ("order", "worth")

    @admin.action(
        description="Ya se ha devuelto por otra vía (transferencia…)", permissions=["refund"]
    )
    @method_decorator(fresh_password_required)
    def given_otherwise(self, request: HttpRequest, refunds: QuerySet[Refund]) -> None:
        done = settle_outside(
            refunds.values_list("pk", flat=True), actor=request.user.get_username()
        )
        self.message_user(request, f"Devoluciones fallidas resueltas: {done}.", messages.INFO)

    def has_refund_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("orders.refund_order")


class DisputeAdmin(_OfPaymentAdmin):
    list_display = (
        "reference",
        "order",
        "worth",
        "status",
        "reason",
        moment("respond_by", "responder antes de"),
        moment("opened_at", "abierta"),
        moment("closed_at", "cerrada"),
    )
    list_filter = ("status", month_filter("opened_at", "abierta en"))
    fields = (
        "reference",
        "order",
        "payment",
        "worth",
        "status",
        "reason",
        "respond_by",
        "opened_at",
        "closed_at",
    )
    readonly_fields = ("order", "worth")
