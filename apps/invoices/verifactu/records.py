"""The chain of VERI*FACTU records (Orden HAC/1177/2024).

Each record's SHA-256 hash covers the hash of the record before it. The fields, their order and
their format are those of the tax agency's paper "Detalle de las especificaciones técnicas para
generación de la huella o hash de los registros de facturación", version 0.1.2, whose examples are
tests (docs/decisions/0035-verifactu.md).
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.models import Restore
from apps.core.money import to_euros
from apps.invoices.models import FIRST_INSTALLATION, Invoice, TaxChain, TaxRecord

ISSUE_FIELDS = (
    "IDEmisorFactura",
    "NumSerieFactura",
    "FechaExpedicionFactura",
    "TipoFactura",
    "CuotaTotal",
    "ImporteTotal",
    "Huella",
    "FechaHoraHusoGenRegistro",
)
ANNULMENT_FIELDS = (
    "IDEmisorFacturaAnulada",
    "NumSerieFacturaAnulada",
    "FechaExpedicionFacturaAnulada",
    "Huella",
    "FechaHoraHusoGenRegistro",
)


def hash_of(fields: tuple[str, ...], values: Mapping[str, str]) -> str:
    """The SHA-256 hash of a record, as 64 hexadecimal digits in capitals."""
    text = "&".join(f"{name}={values[name].strip()}" for name in fields)
    return hashlib.sha256(text.encode()).hexdigest().upper()


def record_issue(invoice: Invoice) -> TaxRecord | None:
    """Add the record of an invoice that was just issued. None while VERI*FACTU is switched off.

    Call it in the invoice's own transaction, so that there is no invoice without its record.
    """
    if not settings.VERIFACTU:
        return None
    return _append(invoice, TaxRecord.Kind.ISSUED, ISSUE_FIELDS, _issue_values(invoice))


def _issue_values(invoice: Invoice) -> dict[str, str]:
    return {
        "IDEmisorFactura": issuer_of(invoice),
        "NumSerieFactura": invoice.code,
        "FechaExpedicionFactura": as_day(invoice.issued_on),
        "TipoFactura": invoice.kind,
        "CuotaTotal": as_amount(invoice.tax_cents),
        "ImporteTotal": as_amount(invoice.total_cents),
    }


@transaction.atomic
def record_annulment(invoice: Invoice) -> TaxRecord:
    """Add the record that annuls an invoice which should never have been issued.

    A refund is no reason for it: that takes a corrective invoice.
    """
    values = {
        "IDEmisorFacturaAnulada": issuer_of(invoice),
        "NumSerieFacturaAnulada": invoice.code,
        "FechaExpedicionFacturaAnulada": as_day(invoice.issued_on),
    }
    return _append(invoice, TaxRecord.Kind.ANNULLED, ANNULMENT_FIELDS, values)


def _append(
    invoice: Invoice, kind: TaxRecord.Kind, fields: tuple[str, ...], values: dict[str, str]
) -> TaxRecord:
    # Each environment has a chain of its own, so that the real one begins with a first record.
    of_chain = {
        "issuer": issuer_of(invoice),
        "environment": settings.VERIFACTU,
        "installation": installation(),
    }
    TaxChain.objects.get_or_create(**of_chain)
    chain = TaxChain.objects.select_for_update().get(**of_chain)
    previous = TaxRecord.objects.filter(**of_chain, number=chain.last_number).first()
    # The time is read after the lock, so that the times of the chain ascend.
    generated_at = timezone.localtime().isoformat(timespec="seconds")
    previous_hash = previous.hash if previous else ""
    chain.last_number += 1
    chain.save(update_fields=["last_number"])
    return TaxRecord.objects.create(
        **of_chain,
        number=chain.last_number,
        kind=kind,
        invoice=invoice,
        generated_at=generated_at,
        previous_hash=previous_hash,
        hash=hash_of(
            fields,
            {**values, "Huella": previous_hash, "FechaHoraHusoGenRegistro": generated_at},
        ),
        content=values,
    )


def installation() -> str:
    """The number of this installation. A restored shop is a new one, and begins a new chain.

    It is made of the moment: the same backup may be restored twice.
    """
    restored_at = Restore.objects.order_by("-pk").values_list("restored_at", flat=True).first()
    return FIRST_INSTALLATION if restored_at is None else f"R{restored_at:%Y%m%d%H%M%S}"


def problem_of(chain: TaxChain) -> str:
    """What is wrong with a chain, as a Spanish sentence, or an empty text.

    Finds a record that was changed or is missing, also at the end, and an invoice that says
    something else than its record.
    """
    previous_hash, last_number = "", 0
    records = TaxRecord.objects.filter(
        issuer=chain.issuer, environment=chain.environment, installation=chain.installation
    )
    for record in records.select_related("invoice").order_by("number").iterator(chunk_size=500):
        last_number += 1
        is_next = record.number == last_number and record.previous_hash == previous_hash
        if not is_next or record.hash != _hash_again(record) or not _fits_invoice(record):
            return f"La cadena de registros {chain} no cuadra desde el registro {last_number}."
        previous_hash = record.hash
    if last_number < TaxChain.objects.get(pk=chain.pk).last_number:
        return f"A la cadena de registros {chain} le faltan registros tras el {last_number}."
    return ""


def _fits_invoice(record: TaxRecord) -> bool:
    return record.kind != TaxRecord.Kind.ISSUED or record.content == _issue_values(record.invoice)


def _hash_again(record: TaxRecord) -> str:
    fields = ISSUE_FIELDS if record.kind == TaxRecord.Kind.ISSUED else ANNULMENT_FIELDS
    chained = {
        "Huella": record.previous_hash,
        "FechaHoraHusoGenRegistro": record.generated_at,
    }
    return hash_of(fields, {**record.content, **chained})


def issuer_of(invoice: Invoice) -> str:
    """The NIF of the seller that the invoice names."""
    content: dict[str, Any] = invoice.content
    return str(content["seller"]["tax_id"])


def as_day(day: Any) -> str:
    return f"{day:%d-%m-%Y}"


def as_amount(cents: int) -> str:
    return str(to_euros(cents))
