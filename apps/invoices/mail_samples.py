"""Sample data of the mails about invoices (see `apps.core.mail.samples`)."""

from decimal import Decimal
from typing import Any

from django.urls import reverse

from apps.core.mail.registry import SecretUrl, absolute_url
from apps.core.mail.samples import STAFF, STUDENT, preview_mail
from apps.invoices.models import Invoice


def _invoice() -> dict[str, dict[str, Any]]:
    full = {
        "kind": Invoice.Kind.FULL.label,
        "code": "F2026-00042",
        "order_name": "pedido n.º 1042",
        "first_name": "Ana",
        "total": Decimal("194.40"),
        "corrects": None,
        "replaces": None,
        "names_recipient": False,
        "invoices_url": SecretUrl(absolute_url(f"{reverse('factura')}?pedido=1042&clave=0123")),
        "attachments": (),
    }
    corrective = {
        **full,
        "kind": Invoice.Kind.CORRECTIVE.label,
        "code": "R2026-00007",
        "total": Decimal("-50.00"),
        "corrects": "F2026-00042",
    }
    replacement = {**full, "kind": Invoice.Kind.REPLACEMENT.label, "replaces": "S2026-00012"}
    recipient = {
        **full,
        "kind": Invoice.Kind.RECIPIENT_CORRECTIVE.label,
        "code": "R2026-00008",
        "replaces": "F2026-00042",
        "names_recipient": True,
    }
    return {
        "Factura": full,
        "Rectificativa": corrective,
        "En lugar de simplificada": replacement,
        "Con otro destinatario": recipient,
    }


def _waiting() -> dict[str, dict[str, Any]]:
    page = reverse("admin:invoices_pendinginvoice_changelist")
    return {"Varias": {"count": 3, "admin_url": absolute_url(page)}}


preview_mail(
    "invoice",
    title="factura",
    when="Al emitirse una factura, simplificada o rectificativa, con el PDF adjunto",
    to=STUDENT,
    samples=_invoice,
)
preview_mail(
    "invoices_waiting",
    title="facturas en espera",
    when="Una vez al día, mientras haya facturas que no se pueden emitir",
    to=STAFF,
    samples=_waiting,
)
