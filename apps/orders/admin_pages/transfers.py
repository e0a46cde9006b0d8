"""The list of bank transfers that staff have recorded."""

from django.contrib import admin
from django.utils.safestring import SafeString

from apps.core.staff.admin_base import ReadOnlyAdmin, list_link, moment, money
from apps.core.staff.admin_filters import month_filter
from apps.orders.models import TransferReceipt


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
