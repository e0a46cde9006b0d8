"""Sends waiting records to the tax agency: the only module that talks to it.

Not tried at the agency, which needs the academy's certificate: the test replays an exchange that
was written from the published papers (docs/decisions/0035-verifactu.md).
"""

from collections import Counter
from datetime import timedelta

import requests
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.invoices.models import TaxChain, TaxRecord
from apps.invoices.verifactu.messages import Answer, UnreadableAnswer, read_answer, request_body

_PATH = "/wlpl/TIKE-CONT/ws/SistemaFacturacion/VerifactuSOAP"
ENDPOINTS = {
    "pruebas": f"https://prewww1.aeat.es{_PATH}",
    "produccion": f"https://www1.agenciatributaria.gob.es{_PATH}",
}
# Most records of one message.
AT_ONCE = 1000
TIMEOUT = (10, 40)


def send_waiting_records() -> dict[str, int]:
    """Send the waiting records of each chain, oldest first. Returns how many have which state now.

    Only chains of the environment in the setting are sent. The agency says after each message how
    long to wait for the next. Raises requests' exceptions and UnreadableAnswer, after all chains
    were tried: the records keep waiting, and the job's failure is mailed to staff.
    """
    counts: Counter[str] = Counter()
    failure: Exception | None = None
    may_send = Q(next_message_at=None) | Q(next_message_at__lte=timezone.now())
    for chain in TaxChain.objects.filter(may_send, environment=settings.VERIFACTU).order_by("pk"):
        records = _waiting(chain)
        if not records:
            continue
        try:
            answer = _post(request_body(records))
        except (requests.RequestException, UnreadableAnswer) as error:
            failure = failure or error
        else:
            counts.update(_keep(chain, records, answer))
    if failure:
        raise failure
    return dict(counts)


def _waiting(chain: TaxChain) -> list[TaxRecord]:
    """The records of the chain's next message."""
    rows = TaxRecord.objects.filter(
        state=TaxRecord.State.WAITING, issuer=chain.issuer, environment=chain.environment
    )
    invoices = rows.order_by("number").select_related("invoice__root", "invoice__replaces")
    return list(invoices.prefetch_related("invoice__replaces__correctives")[:AT_ONCE])


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
def _keep(chain: TaxChain, records: list[TaxRecord], answer: Answer) -> dict[str, int]:
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
    TaxChain.objects.filter(pk=chain.pk).update(next_message_at=next_message_at)
    return counts
