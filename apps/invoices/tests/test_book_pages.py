"""The pages and files of the book: what they say, who gets them, and what they bear."""

import csv
import io
import zipfile
from datetime import date, timedelta
from decimal import Decimal

import pytest
import time_machine
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from openpyxl import load_workbook

from apps.catalogue.vat import Vat
from apps.core.models import StaffAction
from apps.core.staff import admin_log
from apps.core.web.throttle import Limit
from apps.invoices import pdf
from apps.invoices.book import book_pages, pdf_archive
from apps.invoices.models import Invoice, InvoiceArchive
from apps.invoices.tests.book import give_back, invoice, issue, pay, substitute
from tests.helpers.admin import confirm_password, count_queries, forget_password, make_staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("seller")]
BOOK = "/admin/invoices/invoice/libro/"
QUARTER = f"{BOOK}?periodo=2026-T4"


@pytest.fixture
def accountant(client):
    make_staff(
        "conta",
        "view_invoice",
        "read_vat_book",
        "export_vat_book",
        client=client,
        password="una clave muy larga",
    )
    confirm_password(client)
    return client


@pytest.fixture
def trade():
    """One invoice that is replaced, one with a refund and two rates, and one order without."""
    substitute(invoice(pay("2026-10-05", (Vat.GENERAL, 182_40)), "2026-10-05"), "2026-11-02")
    order = pay("2026-10-06", (Vat.GENERAL, 100_00), (Vat.EXEMPT, 50_00))
    invoice(order, "2026-10-06")
    give_back(order, "2026-12-01", 30_00)
    issue(order, "2026-12-01")
    return pay("2026-12-05", (Vat.GENERAL, 55_00))


def text_of(answer):
    assert answer.status_code == 200
    return " ".join(answer.content.decode().replace("\N{NO-BREAK SPACE}", " ").split())


def test_page_shows_lines_totals_and_why_the_takings_differ(accountant, trade):
    page = text_of(accountant.get(QUARTER))
    assert "4.º trimestre de 2026" in page
    assert "Cobrado en el periodo 357,40 € = facturado 302,40 € + sin factura 55,00 €." in page
    for shown in (
        "F2026-00001", "Sustituida por R2026-00001 el 02/11/2026", "Sustituye a F2026-00001",
        "Baja de F2026-00001, sustituida", "Rectifica F2026-00002 por diferencias", "-182,40 €",
        "Academia de Bruno, S. L.", "B12345674", "Exenta",
    ):  # fmt: skip
        assert shown in page, shown
    assert "por explicar" not in page

    differences = text_of(accountant.get(f"{BOOK}2026-T4/cuadre/?que=sin-factura"))
    assert f"Pedido {trade.pk}" in differences
    assert "55,00 €" in differences
    assert "emitir la factura" not in differences, "that needs another permission"


def test_list_of_invoices_leads_to_the_book_and_names_the_substitute(accountant, trade):
    invoices = text_of(accountant.get("/admin/invoices/invoice/"))
    assert f'href="{BOOK}"' in invoices
    assert invoices.count(">Sustituida</span> por") == 1
    wrong, right = Invoice.objects.get(code="F2026-00001"), Invoice.objects.get(kind="R4")
    page = text_of(accountant.get(f"/admin/invoices/invoice/{wrong.pk}/change/"))
    assert f'<a href="/admin/invoices/invoice/{right.pk}/change/">{right.code}</a>' in page
    page = text_of(accountant.get(f"/admin/invoices/invoice/{right.pk}/change/"))
    assert f'Sustituye a <a href="/admin/invoices/invoice/{wrong.pk}/change/">' in page


def test_replacing_an_invoice_does_not_change_its_pdf():
    wrong = invoice(pay("2026-10-05", (Vat.GENERAL, 182_40)), "2026-10-05")
    with time_machine.travel(timezone.now(), tick=False):
        before = pdf.invoice_pdf(wrong)
        substitute(wrong, "2026-11-02")
        assert pdf.invoice_pdf(Invoice.objects.get(pk=wrong.pk)) == before


def test_csv_is_that_of_a_spanish_accountant(accountant, trade):
    Invoice.objects.filter(code="F2026-00002").update(recipient={"name": "=1+1", "country": "ES"})
    answer = accountant.get(f"{BOOK}2026-T4.csv")
    assert answer["Content-Disposition"].endswith('"facturas-expedidas-2026-T4.csv"')
    assert answer.content.startswith("\N{BYTE ORDER MARK}".encode())
    headings, *rows = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")), delimiter=";")
    assert headings[:4] == ["Fecha de expedición", "Fecha de operación", "Serie", "Número"]
    first, *_ = rows
    assert first == [
        "05/10/2026", "05/10/2026", "F", "F2026-00001", "Factura", "12345678Z", "Bruno Núñez",
        "ES", "Sujeta", "21", "150,74", "31,66", "182,40", "",
        "Sustituida por R2026-00001 el 02/11/2026",
    ]  # fmt: skip
    assert [row[6] for row in rows if row[3] == "F2026-00002"] == ["'=1+1"] * 2
    cents = [int(row[12].replace(",", "")) for row in rows]
    totals = [row for row in rows if row[8].startswith("Total")]
    assert [row[8:10] for row in totals] == [
        ["Total: Sujeta", "21"], ["Total: Exenta (artículo 20)", "0"], ["Total", ""],
    ]  # fmt: skip
    assert sum(cents[:-3]) == sum(cents[-3:-1]) == cents[-1] == 302_40
    action = StaffAction.objects.get(kind="exported")
    assert "Libro de facturas de 2026-T4 exportado (csv)" in action.text


def test_workbook_has_numbers_days_and_a_sheet_of_totals(accountant, trade):
    content = accountant.get(f"{BOOK}2026-T4.xlsx").content
    lines, totals = load_workbook(io.BytesIO(content))
    _, *rows = lines.iter_rows(values_only=True)
    assert rows[0][0].date() == date(2026, 10, 5)
    assert rows[0][9:13] == (21, 150.74, 31.66, 182.40)
    added = sum(Decimal(str(row[12])) for row in rows)
    assert added == Decimal(str([*totals.iter_rows(values_only=True)][-1][-1]))
    assert added == Decimal("302.40")


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_period_without_invoices_has_empty_files(accountant, ending):
    assert accountant.get(f"{BOOK}2020-T1.{ending}").status_code == 200
    assert "Ninguna factura" in text_of(accountant.get(f"{BOOK}?periodo=2020-T1"))
    assert "todo lo cobrado" in text_of(accountant.get(f"{BOOK}2020-T1/cuadre/"))


@pytest.mark.parametrize(
    "query",
    ["periodo=x", "periodo=2026-T9", "desde=2026-01-01", "desde=2026-02-30&hasta=2026-03-01",
     "desde=2026-03-02&hasta=2026-03-01", "desde=2024-01-01&hasta=2026-01-01", "desde=&hasta="],
)  # fmt: skip
def test_wrong_periods_are_named_and_show_the_present_quarter(accountant, query):
    assert "Ese periodo no vale" in text_of(accountant.get(f"{BOOK}?{query}"))


def test_days_of_a_form_are_a_period(accountant, trade):
    page = text_of(accountant.get(f"{BOOK}?desde=2026-10-05&hasta=2026-10-05&pagina=x"))
    assert "del 05/10/2026 al 05/10/2026" in page.lower()
    assert "facturado 182,40 €" in page


@pytest.mark.parametrize(
    "address", ["2026-T9.csv", "2026-T4.pdf", "x/cuadre/", "archivo/99/", "archivo/99/zip"]
)
def test_other_addresses_are_not_found(accountant, address):
    assert accountant.get(f"{BOOK}{address}").status_code == 404


def test_pages_of_many_invoices_have_fifty(accountant, trade, monkeypatch):
    monkeypatch.setattr(book_pages, "PER_PAGE", 2)
    first, second = (text_of(accountant.get(f"{QUARTER}&pagina={n}")) for n in (1, 2))
    assert "Página 1 de 2" in first
    assert "R2026-00002" not in first
    assert "R2026-00002" in second
    # The totals are those of all pages.
    assert "facturado 302,40 €" in first
    assert "facturado 302,40 €" in second


def test_too_large_a_file_is_refused_with_a_sentence(accountant, trade, monkeypatch):
    monkeypatch.setattr(book_pages, "MOST_IN_FILE", 1)
    answer = accountant.get(f"{BOOK}2026-T4.csv", follow=True)
    assert "elige un periodo más corto" in text_of(answer)


def test_page_takes_few_statements(accountant, trade):
    assert count_queries(accountant, QUARTER) <= 24


def test_zip_of_pdfs_is_made_by_a_worker(accountant, trade, work):
    answer = accountant.post(f"{BOOK}2026-T4/pdf/", {"parte": "1"}, follow=True)
    made = InvoiceArchive.objects.get()
    assert made.state == "waiting", "no web process draws the PDFs"
    assert "Preparando los PDF" in text_of(answer)
    assert accountant.get(f"{BOOK}archivo/{made.pk}/zip").status_code == 404

    work()

    assert "Descargar facturas-2026-T4-1.zip" in text_of(
        accountant.get(answer.redirect_chain[0][0])
    )
    file = accountant.get(f"{BOOK}archivo/{made.pk}/zip")
    with zipfile.ZipFile(io.BytesIO(file.content)) as found:
        assert found.namelist() == [
            "F2026-00001.pdf", "F2026-00002.pdf", "R2026-00001.pdf", "R2026-00002.pdf",
        ]  # fmt: skip
        assert all(found.read(name).startswith(b"%PDF") for name in found.namelist())
    assert StaffAction.objects.filter(text__contains="PDF de las facturas de 2026-T4").exists()


def test_no_file_is_made_that_the_log_refuses(accountant, trade, monkeypatch):
    monkeypatch.setattr(admin_log, "READINGS", (Limit("few", times=1, seconds=3600),))
    for status in (302, 429):
        answer = accountant.post(f"{BOOK}2026-T4/pdf/", {"parte": "1"})
        assert answer.status_code == status
        assert InvoiceArchive.objects.count() == 1
    assert StaffAction.objects.filter(kind="exported").count() == 1


def test_many_pdfs_are_divided_and_a_user_keeps_few_files(accountant, trade, work, monkeypatch):
    monkeypatch.setattr(pdf_archive, "PART", 3)
    monkeypatch.setattr(pdf_archive, "MOST_KEPT", 2)
    assert "parte 2 de 2" in text_of(accountant.get(QUARTER))
    accountant.post(f"{BOOK}2026-T4/pdf/", {"parte": "2"})
    work()
    made = InvoiceArchive.objects.get()
    with zipfile.ZipFile(io.BytesIO(bytes(made.content))) as found:
        assert found.namelist() == ["R2026-00002.pdf"]

    for period in ("2026-10", "2026-11", "2026-12", "2026-12"):
        accountant.post(f"{BOOK}{period}/pdf/")
    assert [row.period for row in InvoiceArchive.objects.order_by("pk")] == ["2026-11", "2026-12"]
    answer = accountant.post(f"{BOOK}2026-T4/pdf/", {"parte": "3"}, follow=True)
    assert "No hay facturas que descargar" in text_of(answer)


def test_failed_archive_names_its_failure_and_can_be_made_again(
    accountant, trade, work, monkeypatch
):
    def fail(invoice):
        raise ValueError

    with monkeypatch.context() as patch:
        patch.setattr(pdf, "invoice_pdf", fail)
        accountant.post(f"{BOOK}2026-T4/pdf/")
        work()
    made = InvoiceArchive.objects.get()
    page = text_of(accountant.get(f"{BOOK}archivo/{made.pk}/"))
    assert "No se ha podido preparar" in page
    assert "Volver a intentarlo" in page
    accountant.post(f"{BOOK}2026-T4/pdf/", {"parte": "1"})
    work()
    assert InvoiceArchive.objects.get().state == "ready"


def test_files_belong_to_their_user_and_are_deleted_after_a_day(accountant, trade, admin_client):
    accountant.post(f"{BOOK}2026-T4/pdf/")
    made = InvoiceArchive.objects.get()
    assert admin_client.get(f"{BOOK}archivo/{made.pk}/").status_code == 404
    with time_machine.travel(timezone.now() + timedelta(days=1, hours=1)):
        call_command("purge_expired")
    assert not InvoiceArchive.objects.exists()


def test_book_and_files_ask_for_their_own_permissions(accountant, trade):
    user = User.objects.get(username="conta")
    forget_password(accountant)
    for answer in (accountant.get(f"{BOOK}2026-T4.csv"), accountant.post(f"{BOOK}2026-T4/pdf/")):
        assert answer["Location"].startswith(reverse("admin:confirm_password"))
    # The page of the password leads back by GET.
    back = accountant.get(f"{BOOK}2026-T4/pdf/", follow=True)
    assert "4.º trimestre de 2026" in text_of(back)
    confirm_password(accountant)
    user.user_permissions.remove(Permission.objects.get(codename="export_vat_book"))
    assert "Libro en CSV" not in text_of(accountant.get(QUARTER))
    assert accountant.get(f"{BOOK}2026-T4.csv").status_code == 403
    assert accountant.post(f"{BOOK}2026-T4/pdf/").status_code == 403
    user.user_permissions.remove(Permission.objects.get(codename="read_vat_book"))
    assert accountant.get(BOOK).status_code == 403
    assert accountant.get(f"{BOOK}2026-T4/cuadre/").status_code == 403
    assert BOOK not in text_of(accountant.get("/admin/invoices/invoice/"))
    assert not InvoiceArchive.objects.exists()
