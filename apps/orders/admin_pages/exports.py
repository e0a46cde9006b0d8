"""The rows of the CSV files of orders and lines."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.utils.timezone import localtime

from apps.core.staff.spreadsheets import Cell
from apps.orders.admin_pages.order_head import state_of
from apps.orders.models.statuses import PaymentStatus
from apps.pricing.code_batches import masked

NO_EUROS = Decimal(0)
# How many rows are read at once.
AT_ONCE = 2_000
ORDER_HEADINGS = (
    "Pedido", "Creado", "Pagado", "Estado", "Nombre", "Apellidos", "Correo", "Teléfono", "Qué",
    "Forma de pago", "Código", "Total", "Cobrado", "Devuelto",
)  # fmt: skip
LINE_HEADINGS = (
    "Pedido", "Creado", "Pagado", "Estado", "Nombre", "Correo", "Qué", "Asignatura", "Grado",
    "Universidad", "Precio de lista", "Precio",
)  # fmt: skip


def order_cells(orders: QuerySet[Any]) -> Iterator[tuple[Cell, ...]]:
    rows = orders.select_related("promo_code__batch", "by_staff").prefetch_related(
        "lines", "payments"
    )
    for order in rows.iterator(chunk_size=AT_ONCE):
        paid = [
            row
            for row in order.payments.all()
            if row.status == PaymentStatus.SUCCEEDED and row.currency == "eur"
        ]
        back = sum((row.refunded for row in paid), NO_EUROS)
        yield (
            order.pk, _day(order.created_at), _day(order.paid_at), state_of(order).word,
            order.first_name, order.last_name, order.email, order.phone,
            "; ".join(line.name for line in order.lines.all()), order.payment_type_label,
            masked(order.promo_code) if order.promo_code else "", order.total_amount,
            sum((row.amount for row in paid), NO_EUROS), back,
        )  # fmt: skip


def line_cells(lines: QuerySet[Any]) -> Iterator[tuple[Cell, ...]]:
    for line in lines.select_related("order__by_staff").iterator(chunk_size=AT_ONCE):
        order = line.order
        yield (
            order.pk, _day(order.created_at), _day(order.paid_at), state_of(order).word,
            f"{order.first_name} {order.last_name}".strip(), order.email, line.name,
            line.subject_name, line.degree_name, line.university_name, line.list_price, line.price,
        )  # fmt: skip


def _day(at: Any) -> Cell:
    return localtime(at).date() if at else ""
