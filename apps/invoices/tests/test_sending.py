"""Records are sent to a server that replays an exchange.

The exchange was written by hand from the tax agency's published schemas, not recorded there
(docs/decisions/0035-verifactu.md).
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import requests
import time_machine
from django.db import transaction

from apps.invoices.checks import configuration_problems
from apps.invoices.jobs import send_tax_records
from apps.invoices.models import Invoice, TaxChain, TaxRecord
from apps.invoices.verifactu import sending
from apps.invoices.verifactu.messages import UnreadableAnswer, request_body
from apps.invoices.verifactu.records import record_annulment, record_issue

EXCHANGE = Path(__file__).parent / "exchange"
NOON = datetime(2027, 1, 4, 12, tzinfo=ZoneInfo("Europe/Madrid"))

pytestmark = pytest.mark.django_db


class Agency:
    """A server in the agency's place. It keeps the requests and gives the answer of `answer`."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.status, self.answer = 200, (EXCHANGE / "answer.xml").read_bytes()
        agency = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                agency.requests.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(agency.status)
                self.end_headers()
                self.wfile.write(agency.answer)

            def log_message(self, *args: Any) -> None:
                """Log nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def agency(settings, monkeypatch) -> Iterator[Agency]:
    agency = Agency()
    thread = Thread(target=agency.server.serve_forever)
    thread.start()
    settings.VERIFACTU = "pruebas"
    address = f"http://127.0.0.1:{agency.server.server_port}"
    monkeypatch.setitem(sending.ENDPOINTS, "pruebas", address)
    yield agency
    agency.server.shutdown()
    thread.join()
    agency.server.server_close()


SELLER = {"name": "Academia Faro, S. L.", "tax_id": "B12345674", "address": "C/ 1"}


def issue(number, *, kind="F1", lines=((15074, 3166, "general"),), seller=SELLER, **fields):
    breakdown = [{"vat": vat, "base": base, "tax": tax} for base, tax, vat in lines]
    fields.setdefault(
        "recipient", {"name": "Bruno Núñez & Cía.", "tax_id": "12345678Z", "country": "ES"}
    )
    invoice = Invoice.objects.create(
        code=f"{kind}-{number}", series="F", year=2027, number=number, kind=kind,
        issued_on=date(2027, 1, 4),
        total=Decimal(sum(base + tax for base, tax, _ in lines)) / 100,
        tax=Decimal(sum(tax for _, tax, _ in lines)) / 100,
        content={
            "seller": seller,
            "operation_on": "2027-01-03", "lines": [{"name": "Física"}], "breakdown": breakdown,
        },
        **fields,
    )  # fmt: skip
    with transaction.atomic():
        record_issue(invoice)
    return invoice


@pytest.fixture
def records(agency):
    """An invoice, its corrective, one to another country, and an annulment."""
    with time_machine.travel(NOON, tick=False):
        first = issue(1, lines=((15074, 3166, "general"), (5000, 0, "exempt")))
        issue(2, kind="R1", lines=((-4132, -868, "general"),), root=first)
        record_annulment(
            issue(3, recipient={"name": "Acme", "tax_id": "DE123456789", "country": "DE"})
        )


def test_waiting_records_are_sent_in_one_message_and_the_answer_is_kept(agency, records):
    assert "Aceptado: 2" in send_tax_records()

    [request] = agency.requests
    assert request.decode() == (EXCHANGE / "request.xml").read_text(encoding="utf-8").strip()
    states = {(row.invoice.code, row.kind): row for row in TaxRecord.objects.all()}
    assert {key: row.state for key, row in states.items()} == {
        ("F1-1", "alta"): "accepted",
        ("R1-2", "alta"): "with_errors",
        ("F1-3", "alta"): "rejected",
        ("F1-3", "anulacion"): "accepted",
    }
    assert states["F1-3", "alta"].error_code == "1100"
    assert states["F1-1", "alta"].receipt == "A-ABCDEFGHIJ1234"
    assert send_tax_records() == ""


def test_next_message_waits_as_long_as_the_agency_asks_for(agency, records):
    send_tax_records()
    issue(4)
    assert send_tax_records() == ""
    with time_machine.travel(datetime.now(tz=NOON.tzinfo) + timedelta(seconds=121)):
        send_tax_records()
    assert len(agency.requests) == 2


def test_one_issuer_does_not_keep_another_from_sending(agency, records):
    send_tax_records()
    with time_machine.travel(NOON, tick=False):
        issue(4)
        issue(5, seller={"name": "Otra, S. L.", "tax_id": "B87654321", "address": "C/ 2"})
    send_tax_records()

    assert len(agency.requests) == 2
    assert b"B87654321" in agency.requests[1]
    assert b"F1-4" not in agency.requests[1]


def test_records_of_the_test_environment_are_not_sent_to_the_real_one(
    agency, records, settings, monkeypatch
):
    monkeypatch.setitem(sending.ENDPOINTS, "produccion", sending.ENDPOINTS["pruebas"])
    settings.VERIFACTU = "produccion"
    assert send_tax_records() == ""
    assert agency.requests == []


def test_corrective_of_the_recipient_is_sent_as_a_substitution(agency):
    wrong = issue(1)
    issue(2, kind="R1", lines=((-4132, -868, "general"),), root=wrong)
    issue(3, kind="R4", lines=((10942, 2298, "general"),), replaces=wrong)
    send_tax_records()
    text = agency.requests[0].decode().rpartition("<sf:TipoFactura>R4</sf:TipoFactura>")[2]
    parts = ("<sf:TipoRectificativa>S<", "F1-1<", "R1-2<", "<sf:BaseRectificada>109.42<",
             "<sf:CuotaRectificada>22.98<")  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_message_takes_as_many_queries_for_many_records_as_for_one(
    agency, django_assert_num_queries
):
    wrong = issue(1)
    for number in range(2, 6):
        issue(number, kind="R1", lines=((-100, -21, "general"),), root=wrong)
    records = sending._waiting(TaxChain.objects.get())
    with django_assert_num_queries(1):
        request_body(records)


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        (503, b"away", requests.HTTPError),
        (200, b"<html>", UnreadableAnswer),
        (200, b"<html/>", UnreadableAnswer),
        (500, (EXCHANGE / "fault.xml").read_bytes(), UnreadableAnswer),
    ],
)
def test_records_keep_waiting_after_a_failure(agency, records, status, answer, error):
    agency.status, agency.answer = status, answer
    with pytest.raises(error):
        send_tax_records()
    assert set(TaxRecord.objects.values_list("state", flat=True)) == {"waiting"}


def test_a_duplicate_that_the_agency_has_accepted_counts_as_accepted(agency, records):
    agency.answer = (EXCHANGE / "duplicate.xml").read_bytes()
    send_tax_records()
    assert TaxRecord.objects.get(number=1).state == "accepted"


def test_nothing_is_sent_while_it_is_switched_off(agency, records, settings):
    settings.VERIFACTU = ""
    assert send_tax_records() == ""
    assert agency.requests == []


def test_site_does_not_start_without_a_certificate(settings, tmp_path):
    assert configuration_problems() == []
    settings.VERIFACTU = "sí"
    assert "VERIFACTU" in configuration_problems()[0]
    settings.VERIFACTU = "produccion"
    assert "VERIFACTU_CERTIFICATE" in configuration_problems()[0]
    settings.VERIFACTU_CERTIFICATE = str(tmp_path / "none.pem")
    assert "No existe" in configuration_problems()[0]
    (tmp_path / "none.pem").touch()
    assert configuration_problems() == []
