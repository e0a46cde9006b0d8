"""Sends waiting records to the tax agency: the only module that talks to it.

Not tried at the agency, which needs the academy's certificate: the test replays an exchange that
was written from the published papers (docs/decisions/0035-verifactu.md).
"""

from datetime import timedelta

import requests
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.invoices.models import TaxChain, TaxRecord
from apps.invoices.verifactu.messages import Answer, read_answer, request_body

_PATH = "/wlpl/TIKE-CONT/ws/SistemaFacturacion/VerifactuSOAP"
ENDPOINTS = {
    "pruebas": f"https://prewww1.aeat.es{_PATH}",
    "produccion": f"https://www1.agenciatributaria.gob.es{_PATH}",
}
# Most records of one message.
AT_ONCE = 1000
TIMEOUT = (10, 40)


def send_waiting_records() -> dict[str, int]:
    """Send the records that wait, oldest first. Returns how many have which state now.

    The agency says after each message how long to wait for the next. Raises requests' exceptions
    and UnreadableAnswer: the records keep waiting, and the job's failure is mailed to staff.
    """
    records = _waiting()
    if not settings.VERIFACTU or not records:
        return {}
    answer = _post(request_body(records))
    return _keep(records, answer)


def _waiting() -> list[TaxRecord]:
    """The records of the next message. They are of one issuer."""
    rows = TaxRecord.objects.filter(state=TaxRecord.State.WAITING).order_by("pk")
    first = rows.first()
    if first is None:
        return []
    chain = TaxChain.objects.get(issuer=first.issuer)
    if chain.next_message_at is not None and chain.next_message_at > timezone.now():
        return []
    of_issuer = rows.filter(issuer=first.issuer).order_by("number")
    return list(of_issuer.select_related("invoice__root", "invoice__replaces")[:AT_ONCE])


def _post(body: bytes) -> Answer:
    response = requests.post(
        ENDPOINTS[settings.VERIFACTU],
        data=body,
        headers={"Content-Type": "text/xml; charset=UTF-8", "SOAPAction": '""'},
        cert=settings.VERIFACTU_CERTIFICATE or None,
        timeout=TIMEOUT,
        allow_redirects=False,
    )
    # A SOAP fault has status 500 and says in its body what is wrong.
    if response.status_code not in (200, 500):
        response.raise_for_status()
    return read_answer(response.content)


@transaction.atomic
def _keep(records: list[TaxRecord], answer: Answer) -> dict[str, int]:
    by_name = {(record.invoice.code, record.kind): record for record in records}
    counts: dict[str, int] = {}
    for verdict in answer.verdicts:
        record = by_name.get((verdict.code, verdict.kind))
        if record is None:
            continue
        record.state = verdict.state
        record.receipt = answer.receipt[:40]
        record.error_code, record.error = verdict.error_code, verdict.error
        record.sent_at = timezone.now()
        record.save(update_fields=["state", "receipt", "error_code", "error", "sent_at"])
        counts[verdict.state] = counts.get(verdict.state, 0) + 1
    next_message_at = timezone.now() + timedelta(seconds=answer.wait_seconds)
    TaxChain.objects.filter(issuer=records[0].issuer).update(next_message_at=next_message_at)
    return counts
