"""Rows that the admin shows below an order or an instalment."""

from django.db.models import QuerySet
from django.http import HttpRequest

from apps.core.admin_base import (
    ReadOnlyRowsInline,
)
from apps.orders.models import (
    Instalment,
    InstalmentAttempt,
    OrderDiscount,
    OrderEvent,
    OrderLine,
    Payment,
    PromoUse,
)


class LineRows(ReadOnlyRowsInline):
    model = OrderLine
    fields = ("name", "degree_name", "university_name", "list_price", "price")


class DiscountRows(ReadOnlyRowsInline):
    model = OrderDiscount
    fields = ("name", "amount")


class InstalmentRows(ReadOnlyRowsInline):
    model = Instalment
    fields = ("number", "amount", "due_on", "status", "charge_on", "paid_at")
    show_change_link = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Instalment]:
        # A row's name, "Plazo 1 de 3", reads the order.
        instalments: QuerySet[Instalment] = super().get_queryset(request)
        return instalments.select_related("order")


class AttemptRows(ReadOnlyRowsInline):
    model = InstalmentAttempt
    fields = ("number", "started_at", "kind", "outcome", "error_code", "amount", "reference")


class PaymentRows(ReadOnlyRowsInline):
    model = Payment
    fk_name = "order"
    fields = (
        "reference",
        "amount",
        "currency",
        "status",
        "refunded",
        "created_at",
        "succeeded_at",
        "flag",
    )
    classes = ()
    show_change_link = True


class PromoUseRows(ReadOnlyRowsInline):
    model = PromoUse
    fields = ("promo_code", "status", "reserved_at", "used_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PromoUse]:
        uses: QuerySet[PromoUse] = super().get_queryset(request)
        return uses.select_related("promo_code", "order")


class EventRows(ReadOnlyRowsInline):
    model = OrderEvent
    fields = ("at", "actor", "from_status", "to_status", "reason")
    verbose_name_plural = "historial"
