"""The mails about invoices.

- `invoice` {"invoice_id", "order_id"}: to the buyer, with the PDF
- `invoices_waiting` {"count"}: to `settings.STAFF_EMAIL`, once a day while invoices can't be issued
"""

from functools import partial
from typing import Any

from django.urls import reverse

from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import (
    Attachment,
    NoLongerDue,
    SecretUrl,
    TypedText,
    absolute_url,
    register_mail,
)
from apps.invoices.models import Invoice
from apps.orders.invoice_link import invoice_url
from apps.orders.models import Order


def register() -> None:
    register_mail(
        "invoice",
        "{{ kind }} {{ code }}",
        invoice_context,
        origin=Origin.PAYMENT,
        student=lambda ids: Order.objects.filter(invoices=ids["invoice_id"]).student_id(),
        texts={
            "greeting": "Hola, {nombre}:",
            "closing": "Si algún dato no es correcto, respóndenos a este correo.",
        },
    )
    register_mail(
        "invoices_waiting",
        "Hay facturas sin emitir: {{ count }}",
        waiting_context,
        origin=Origin.STAFF,
        is_fixed=True,
    )


def invoice_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `invoice`: its number, its total, and the invoice that it corrects."""
    invoice = Invoice.objects.select_related("order", "root", "replaces").get(pk=ids["invoice_id"])
    if invoice.order is None:
        raise NoLongerDue
    # Imported here because the library for PDF takes 15 MB of each process that imports it.
    from apps.invoices.pdf import invoice_pdf

    return {
        "kind": invoice.get_kind_display(),
        "code": invoice.code,
        "order_name": f"pedido n.º {invoice.order.pk}",
        "first_name": TypedText(invoice.order.first_name),
        "total": invoice.total,
        "corrects": invoice.root and invoice.root.code,
        "replaces": invoice.replaces and invoice.replaces.code,
        "names_recipient": invoice.kind == Invoice.Kind.RECIPIENT_CORRECTIVE,
        "invoices_url": SecretUrl(absolute_url(invoice_url(invoice.order))),
        "attachments": (Attachment(f"{invoice.code}.pdf", partial(invoice_pdf, invoice)),),
    }


def waiting_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `invoices_waiting`: how many, and where staff see why."""
    page = reverse("admin:invoices_pendinginvoice_changelist")
    return {"count": ids["count"], "admin_url": absolute_url(page)}
