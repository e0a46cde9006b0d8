"""Records are sent to an imitation of the tax agency."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
import requests
import time_machine
from django.db import transaction

from apps.invoices.checks import configuration_problems
from apps.invoices.jobs import send_tax_records
from apps.invoices.models import Invoice, TaxChain, TaxRecord
from apps.invoices.tests.agency import EXCHANGE, assert_valid, known
from apps.invoices.verifactu import sending
from apps.invoices.verifactu.messages import UnreadableAnswer, request_body
from apps.invoices.verifactu.records import record_annulment, record_issue

NOON = datetime(2027, 1, 4, 12, tzinfo=ZoneInfo("Europe/Madrid"))

pytestmark = pytest.mark.django_db


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


@pytest.mark.parametrize(
    ("total", "is_ours", "at_agency", "state"),
    [
        ("232.40", True, "Correcto", "accepted"),
        ("232.4", True, "AceptadoConErrores", "with_errors"),
        # The numbers of a restored shop: the agency's invoice is another buyer's.
        ("232.40", False, "Correcto", "rejected"),
        ("95.00", True, "Correcto", "rejected"),
    ],
)
def test_duplicate_counts_as_accepted_only_with_our_hash_and_amount(
    agency, records, total, is_ours, at_agency, state
):
    record = TaxRecord.objects.get(number=1)
    digest = record.hash if is_ours else "0" * 64
    agency.answer = (EXCHANGE / "duplicate.xml").read_bytes()
    agency.pages = [known(total=total, digest=digest, state=at_agency)]
    assert_valid(agency.pages[0])

    send_tax_records()

    record.refresh_from_db()
    assert record.state == state
    assert ("otra huella u otro importe" in record.error) == (state == "rejected")
    assert b"<sfLRC:NumSerieFactura>F1-1<" in agency.requests[1]


def test_duplicate_waits_while_the_agency_does_not_show_its_record(agency, records):
    agency.answer = (EXCHANGE / "duplicate.xml").read_bytes()

    with pytest.raises(UnreadableAnswer):
        send_tax_records()

    assert TaxRecord.objects.get(number=1).state == "waiting"


def test_numbers_at_the_agency_are_read_page_by_page(agency):
    agency.pages = [known("F2027-00003", more="S"), known("F2027-00004")]
    for page in agency.pages:
        assert_valid(page)

    assert list(sending.codes_of_month(SELLER, date(2027, 1, 1))) == ["F2027-00003", "F2027-00004"]
    assert b"<sfLRC:ClavePaginacion>" in agency.requests[1]


@pytest.mark.parametrize("name", ["answer.xml", "duplicate.xml"])
def test_written_answers_follow_the_agencys_schema(name):
    assert_valid((EXCHANGE / name).read_bytes())


def test_schema_refuses_a_message_without_a_header():
    """Validation would find a mistake, such as the missing header that the answers once had."""
    text = (EXCHANGE / "answer.xml").read_text(encoding="utf-8")
    without = text[: text.index("<sfR:Cabecera>")] + text[text.index("<sfR:TiempoEspera") :]
    with pytest.raises(AssertionError, match="Cabecera"):
        assert_valid(without.encode())


@pytest.mark.parametrize("kind", ["F1", "F2", "F3", "R1", "R4", "R5"])
def test_records_of_every_kind_follow_the_agencys_schema(agency, kind):
    first = issue(1, kind="F2", recipient=None)
    about = {"F3": {"replaces": first}, "R4": {"replaces": first}}.get(kind, {})
    about |= {"root": first} if kind in ("R1", "R5") else {}
    about |= {"recipient": None} if kind in ("F2", "R5") else {}
    issue(2, kind=kind, **about)
    send_tax_records()

    assert f"<sf:TipoFactura>{kind}<" in agency.requests[0].decode()


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
