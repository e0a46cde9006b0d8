"""Export, erasure and retention of invoices (docs/rules.md, "Keeping and deleting data").

The law prescribes that issued invoices are kept with the name, number and address of the recipient.
Details of which no invoice was made are erased with the person.
"""

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from apps.core.money import format_euros
from apps.core.privacy import (
    CannotErase,
    PersonalData,
    counted,
    register_personal_data,
    register_retention,
)
from apps.invoices.billing import full_invoice_of
from apps.invoices.book.pdf_archive import purge_archives
from apps.invoices.models import BillingDetails, Invoice, PendingInvoice
from apps.orders.models import Order
from apps.orders.privacy import ACCOUNTING_KEPT

ERASED_RECIPIENT = {"name": "(datos borrados)"}


def _orders_of(email: str) -> QuerySet[Order]:
    return Order.objects.filter(Q(email__iexact=email) | Q(student__email=email))


def _invoices_of(email: str) -> QuerySet[Invoice]:
    return Invoice.objects.filter(order__in=_orders_of(email)).order_by("pk")


def _export(email: str) -> dict[str, Any]:
    details = BillingDetails.objects.filter(order__in=_orders_of(email)).order_by("pk")
    return {
        "datos_de_facturación": [{"pedido": row.order_id, **row.as_recipient()} for row in details],
        "facturas": [
            {
                "número": invoice.code,
                "tipo": invoice.get_kind_display(),
                "fecha": invoice.issued_on.isoformat(),
                "total": format_euros(invoice.total_cents),
                "destinatario": invoice.recipient,
            }
            for invoice in _invoices_of(email)
        ],
    }


def _preview(email: str) -> list[str]:
    _refuse_waiting(email)
    return [
        f"Se conserva con los datos del destinatario, por obligación fiscal: {invoices}."
        for invoices in counted(_invoices_of(email).count(), "factura", "facturas")
    ]


def _refuse_waiting(email: str) -> None:
    asked_for = PendingInvoice.objects.filter(
        order__in=_orders_of(email), order__billing_details__isnull=False
    )
    if any(full_invoice_of(row.order) is None for row in asked_for.select_related("order")):
        raise CannotErase("Hay una factura pedida y sin emitir: primero hay que emitirla.")


def _erase(email: str) -> None:
    _refuse_waiting(email)
    BillingDetails.objects.filter(order__in=_orders_of(email)).delete()


def _purge(now: datetime) -> int:
    """Erase the recipients of old invoices whose account is gone. Numbers and amounts stay."""
    gone = Q(order=None) | Q(order__student__erased_at__isnull=False)
    old = Invoice.objects.filter(
        gone, created_at__lt=now - ACCOUNTING_KEPT, recipient__isnull=False
    )
    ids = list(old.exclude(recipient=ERASED_RECIPIENT).values_list("pk", flat=True))
    return Invoice.objects.filter(pk__in=ids).update(
        recipient=ERASED_RECIPIENT, recipient_tax_id=""
    )


register_personal_data(PersonalData("facturas", _export, _preview, _erase))
register_retention("Destinatarios de facturas de más de 6 años de cuentas borradas", _purge)
register_retention("Archivos con los PDF de facturas de más de un día", purge_archives)
