"""Sends waiting records to the tax agency: the only module that talks to it.

Not tried at the agency, which needs the academy's certificate: tests replay an exchange that
was written from the published papers (docs/decisions/0035-verifactu.md).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation

import requests
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.invoices.models import Invoice, TaxChain, TaxRecord
from apps.invoices.verifactu.messages import (
    Answer,
    KnownRecord,
    UnreadableAnswer,
    Verdict,
    query_body,
    read_answer,
    read_page,
    request_body,
)

_PATH = "/wlpl/TIKE-CONT/ws/SistemaFacturacion/VerifactuSOAP"
ENDPOINTS = {
    "pruebas": f"https://prewww1.aeat.es{_PATH}",
    "produccion": f"https://www1.agenciatributaria.gob.es{_PATH}",
}
# Most records of one message.
AT_ONCE = 1000
TIMEOUT = (10, 40)


class NotSent(Exception):
    """The message was not sent to the agency. The text is Spanish, for staff."""


# The exceptions with which a message to the agency can fail.
FAILURES = (requests.RequestException, UnreadableAnswer, NotSent)


def send_waiting_records() -> dict[str, int]:
    """Send the waiting records of each chain, oldest first. Returns how many have which state now.

    Only chains of the environment in the setting are sent. The agency says after each message how
    long to wait for the next. Raises requests' exceptions, UnreadableAnswer and NotSent, after all
    chains were tried: the records keep waiting, and the job's failure is mailed to staff.
    """
    counts: Counter[str] = Counter()
    failure: Exception | None = None
    may_send = Q(next_message_at=None) | Q(next_message_at__lte=timezone.now())
    for chain in TaxChain.objects.filter(may_send, environment=settings.VERIFACTU).order_by("pk"):
        records = _waiting(chain)
        if not records:
            continue
        try:
            answer = read_answer(_post(request_body(records)))
        except FAILURES as error:
            failure = failure or error
            continue
        verdicts = []
        for record, verdict in _with_verdict(records, answer):
            try:
                verdicts.append((record, _checked(record, verdict)))
            except FAILURES as error:
                # The record keeps waiting, and is sent and compared again.
                failure = failure or error
        counts.update(_keep(chain, verdicts, answer))
    if failure:
        raise failure
    return dict(counts)


def _waiting(chain: TaxChain) -> list[TaxRecord]:
    """The records of the chain's next message."""
    rows = TaxRecord.objects.filter(
        state=TaxRecord.State.WAITING,
        issuer=chain.issuer,
        environment=chain.environment,
        installation=chain.installation,
    )
    invoices = rows.order_by("number").select_related("invoice__root", "invoice__replaces")
    return list(invoices.prefetch_related("invoice__replaces__correctives")[:AT_ONCE])


def _with_verdict(records: list[TaxRecord], answer: Answer) -> Iterator[tuple[TaxRecord, Verdict]]:
    by_name = {(record.invoice.code, record.kind): record for record in records}
    for verdict in answer.verdicts:
        record = by_name.get((verdict.code, verdict.kind))
        if record is not None:
            yield record, verdict


def _checked(record: TaxRecord, verdict: Verdict) -> Verdict:
    """The verdict; for a duplicate the one that the record at the agency deserves.

    A record with the hash and the amount of ours is ours: the answer to it was lost. Any other one
    is of another invoice with the same number, which a restored shop may have given out before.
    """
    if not verdict.is_duplicate:
        return verdict
    known = find_record(record.invoice)
    if (
        known is not None
        and known.hash == record.hash
        and _is_same_amount(known.total, record.content.get("ImporteTotal", known.total))
    ):
        states = TaxRecord.State
        state = states.ACCEPTED_WITH_ERRORS if known.with_errors else states.ACCEPTED
        return replace(verdict, state=state)
    error = "Hacienda ya tiene una factura con este número y con otra huella u otro importe."
    return replace(verdict, state=TaxRecord.State.REJECTED, error=error)


def _is_same_amount(one: str, other: str) -> bool:
    """Whether two amounts are equal; "12.5" is "12.50". What is no number equals nothing."""
    try:
        return Decimal(one or 0) == Decimal(other or 0)
    except InvalidOperation:
        return False


def find_record(invoice: Invoice) -> KnownRecord | None:
    """The record of an invoice at the agency, which files it under the month of its operation."""
    seller = invoice.content["seller"]
    days = (date.fromisoformat(invoice.content["operation_on"]), invoice.issued_on)
    for month in dict.fromkeys(day.replace(day=1) for day in days):
        page = read_page(_post(query_body(seller, month, code=invoice.code)))
        for known in page.records:
            if known.code == invoice.code:
                return known
    return None


def codes_of_month(seller: dict[str, str], month: date) -> Iterator[str]:
    """The numbers of the issuer's invoices of a month that the agency knows.

    Raises the exceptions of FAILURES.
    """
    after = None
    while True:
        page = read_page(_post(query_body(seller, month, after=after)))
        yield from (known.code for known in page.records)
        after = page.after
        if after is None:
            return


def _post(body: bytes) -> bytes:
    if settings.REHEARSAL:
        raise NotSent("Es un ensayo: no se envía nada a Hacienda.")
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
    return response.content


@transaction.atomic
def _keep(
    chain: TaxChain, verdicts: list[tuple[TaxRecord, Verdict]], answer: Answer
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record, verdict in verdicts:
        record.state = verdict.state
        record.receipt = answer.receipt[:40]
        record.error_code, record.error = verdict.error_code, verdict.error
        record.sent_at = timezone.now()
        record.save(update_fields=["state", "receipt", "error_code", "error", "sent_at"])
        counts[verdict.state] = counts.get(verdict.state, 0) + 1
    next_message_at = timezone.now() + timedelta(seconds=answer.wait_seconds)
    TaxChain.objects.filter(pk=chain.pk).update(next_message_at=next_message_at)
    return counts
