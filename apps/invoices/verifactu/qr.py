"""The QR code of a VERI*FACTU invoice (Orden HAC/1177/2024, articles 20 and 21).

Written from the tax agency's paper "Características del QR y especificaciones del servicio de
cotejo de la factura". Not tried at the agency (docs/decisions/0035-verifactu.md).
"""

from io import BytesIO
from urllib.parse import urlencode

import segno

from apps.invoices.models import Invoice
from apps.invoices.verifactu.records import as_amount, as_day, issuer_of

CHECK_URLS = {
    "pruebas": "https://prewww2.aeat.es/wlpl/TIKE-CONT/ValidarQR",
    "produccion": "https://www2.agenciatributaria.gob.es/wlpl/TIKE-CONT/ValidarQR",
}


def check_url(invoice: Invoice) -> str:
    """The agency's address at which anybody can check an invoice that has a record."""
    query = urlencode(
        {
            "nif": issuer_of(invoice),
            "numserie": invoice.code,
            "fecha": as_day(invoice.issued_on),
            "importe": as_amount(invoice.total_cents),
        }
    )
    # The page of the environment that has the record, whatever the setting is today.
    environment = invoice.tax_records.earliest("pk").environment
    return f"{CHECK_URLS[environment]}?{query}"


def qr_png(invoice: Invoice) -> BytesIO:
    """The QR code as PNG, with the error correction M that the order asks for."""
    picture = BytesIO()
    segno.make(check_url(invoice), error="m", micro=False).save(
        picture, kind="png", scale=8, border=2
    )
    picture.seek(0)
    return picture
