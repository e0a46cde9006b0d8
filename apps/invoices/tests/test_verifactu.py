"""The chain of VERI*FACTU records, its hashes and the QR code."""

from xml.etree import ElementTree as Xml

import pytest

from apps.invoices.jobs import BrokenChain, verify_tax_chains
from apps.invoices.models import Invoice, TaxChain, TaxRecord
from apps.invoices.verifactu.messages import request_body
from apps.invoices.verifactu.qr import check_url
from apps.invoices.verifactu.records import (
    ANNULMENT_FIELDS,
    ISSUE_FIELDS,
    hash_of,
    problem_of,
    record_annulment,
)
from tests.helpers.refunds import buy, refund

# The examples of the tax agency's paper on hashes, version 0.1.2.
FIRST = "3C464DAF61ACB827C65FDA19F352A4E3BDC2C640E9E9FC4CC058073F38F12F60"
SECOND = "F7B94CFD8924EDFF273501B01EE5153E4CE8F259766F88CF6ACB8935802A2B97"
ANNULMENT = "177547C0D57AC74748561D054A9CEC14B4C4EA23D1BEFD6F2E69E3A388F90C68"


def test_hashes_are_those_of_the_agencys_examples():
    issue = {
        "IDEmisorFactura": "89890001K",
        "NumSerieFactura": "12345678/G33",
        "FechaExpedicionFactura": "01-01-2024",
        "TipoFactura": "F1",
        "CuotaTotal": "12.35",
        "ImporteTotal": "123.45",
        "Huella": "",
        "FechaHoraHusoGenRegistro": "2024-01-01T19:20:30+01:00",
    }
    assert hash_of(ISSUE_FIELDS, issue) == FIRST
    chained = {"NumSerieFactura": "12345679/G34", "Huella": FIRST,
               "FechaHoraHusoGenRegistro": "2024-01-01T19:20:35+01:00"}  # fmt: skip
    assert hash_of(ISSUE_FIELDS, {**issue, **chained}) == SECOND
    annulment = {
        "IDEmisorFacturaAnulada": "89890001K",
        "NumSerieFacturaAnulada": "12345679/G34",
        "FechaExpedicionFacturaAnulada": "01-01-2024",
        "Huella": SECOND,
        "FechaHoraHusoGenRegistro": "2024-01-01T19:20:40+01:00",
    }
    assert hash_of(ANNULMENT_FIELDS, annulment) == ANNULMENT


@pytest.fixture
def chain(db, settings, seller, api, sandbox, ask, clerk, work):
    """The records of an invoice and its corrective."""
    settings.VERIFACTU = "pruebas"
    order = buy(api, sandbox)
    ask(order)
    refund(order, clerk, 5000)
    work()
    return list(TaxRecord.objects.order_by("number"))


def test_each_invoice_gets_a_record_that_is_chained_to_the_one_before(chain):
    first, second = chain
    annulment = record_annulment(second.invoice)

    assert [record.number for record in (first, second, annulment)] == [1, 2, 3]
    assert (first.previous_hash, second.previous_hash) == ("", first.hash)
    assert annulment.previous_hash == second.hash
    assert (second.content["TipoFactura"], second.content["ImporteTotal"]) == ("R1", "-50.00")
    assert problem_of(TaxChain.objects.get()) == ""
    assert verify_tax_chains() == "Cadenas sin cambios: 1"


def test_a_changed_or_missing_record_breaks_the_chain(chain):
    first, second = chain
    row = TaxChain.objects.get()
    TaxRecord.objects.filter(pk=first.pk).update(content={**first.content, "ImporteTotal": "1.00"})
    assert "desde el registro 1" in problem_of(row)
    with pytest.raises(BrokenChain, match="B12345674"):
        verify_tax_chains()
    TaxRecord.objects.filter(pk=first.pk).update(content=first.content)
    Invoice.objects.filter(pk=second.invoice_id).update(total=-40)
    assert "desde el registro 2" in problem_of(row)
    TaxRecord.objects.filter(pk=second.pk).delete()
    assert "le faltan registros tras el 1" in problem_of(row)
    TaxRecord.objects.filter(pk=first.pk).delete()
    assert "le faltan registros tras el 0" in problem_of(row)


def test_the_real_chain_begins_with_a_first_record_of_its_own(chain, settings, api, sandbox, ask):
    settings.VERIFACTU = "produccion"
    ask(buy(api, sandbox, email="otra@example.com", phone="+34600000009"))

    record = TaxRecord.objects.get(environment="produccion")
    assert (record.number, record.previous_hash) == (1, "")
    assert check_url(record.invoice).startswith("https://www2.agenciatributaria.gob.es")
    assert [row.last_number for row in TaxChain.objects.order_by("pk")] == [2, 1]
    assert verify_tax_chains() == "Cadenas sin cambios: 2"


def test_the_qr_code_leads_to_the_agencys_page(chain, settings):
    invoice = chain[0].invoice
    query = (
        f"?nif=B12345674&numserie={invoice.code}&fecha={invoice.issued_on:%d-%m-%Y}&importe=182.40"
    )
    # Also after the setting has changed: the test environment has the record.
    settings.VERIFACTU = "produccion"
    assert check_url(invoice) == f"https://prewww2.aeat.es/wlpl/TIKE-CONT/ValidarQR{query}"


@pytest.mark.django_db
def test_without_the_setting_there_are_no_records(seller, api, sandbox, ask):
    ask(buy(api, sandbox))
    assert Invoice.objects.exists()
    assert not TaxRecord.objects.exists()


def test_record_holds_what_xml_can_hold_of_a_name(chain):
    """Otherwise the agency would read neither this record nor those after it."""
    chain[0].invoice.content["lines"][0]["name"] = "Micro\x08economía\ud800 & Cía"

    text = Xml.tostring(Xml.fromstring(request_body(chain)), encoding="unicode")

    assert "Microeconomía &amp; Cía" in text
