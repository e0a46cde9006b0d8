"""Rows that the admin shows below an order or an instalment."""

from typing import Any

from django.contrib import admin
from django.db.models import Exists, QuerySet
from django.http import HttpRequest

from apps.core.staff.admin_base import (
    ReadOnlyRowsInline,
)
from apps.orders.ledger.plan_end import unanswered_ends
from apps.orders.models import (
    Instalment,
    InstalmentAttempt,
    OrderDiscount,
    OrderLine,
    Payment,
    PromoUse,
)
from apps.orders.models.statuses import INSTALMENT_SETTLED


class LineRows(ReadOnlyRowsInline):
    model = OrderLine
    fields = ("name", "degree_name", "university_name", "list_price", "price")


class DiscountRows(ReadOnlyRowsInline):
    model = OrderDiscount
    fields = ("name", "amount")


class InstalmentRows(ReadOnlyRowsInline):
    model = Instalment
    fields = ("number", "amount", "due_on", "state", "charge_on", "paid_at")
    show_change_link = True

    @admin.display(description="estado")
    def state(self, row: Any) -> str:
        if row.status not in INSTALMENT_SETTLED and row.is_ending:
            return f"{row.get_status_display()}: lo anula una devolución en camino"
        return str(row.get_status_display())

    def get_queryset(self, request: HttpRequest) -> QuerySet[Instalment]:
        # A row's name, "Plazo 1 de 3", reads the order.
        instalments: QuerySet[Instalment] = super().get_queryset(request)
        return instalments.select_related("order").annotate(is_ending=Exists(unanswered_ends()))


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
