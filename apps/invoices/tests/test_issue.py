"""Invoices of orders: when they are issued, with which numbers and amounts."""

from datetime import datetime
from io import BytesIO
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.conf import settings
from django.db import connection
from pypdf import PdfReader

from apps.catalogue.models import Subject
from apps.catalogue.vat import Vat
from apps.core.dates import today
from apps.core.models import Mail, SiteSettings
from apps.invoices import pending
from apps.invoices.issue import bring_up_to_date, try_to_issue
from apps.invoices.jobs import issue_invoices
from apps.invoices.models import BillingDetails, Invoice, PendingInvoice, SeriesCounter
from apps.invoices.pdf import invoice_pdf
from apps.orders.models import Refund
from apps.orders.refunds.sent_back_by_bank import record_paid_by_other_means
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel
from tests.helpers.plans import buy_in_instalments
from tests.helpers.refunds import buy, refund

pytestmark = pytest.mark.django_db


def pdf_text(invoice):
    pages = PdfReader(BytesIO(invoice_pdf(invoice))).pages
    return " ".join(" ".join(page.extract_text().split()) for page in pages)


def codes():
    return list(Invoice.objects.order_by("pk").values_list("code", "total"))


def test_a_buyer_who_asks_gets_a_numbered_invoice_by_mail(seller, api, sandbox, ask, mailoutbox):
    order = buy(api, sandbox)
    mailoutbox.clear()

    with time_machine.travel(datetime(2026, 11, 22, 12, tzinfo=ZoneInfo("Europe/Madrid"))):
        ask(order)

    invoice = Invoice.objects.get()
    assert (invoice.code, invoice.kind, invoice.total_cents) == ("F2026-00001", "F1", 18240)
    assert invoice.recipient["tax_id"] == "12345678Z"
    [mail] = [mail for mail in mailoutbox if mail.attachments]
    assert mail.to == [order.email]
    [(name, content, kind)] = mail.attachments
    assert (name, kind) == ("F2026-00001.pdf", "application/pdf")
    text = " ".join(PdfReader(BytesIO(content)).pages[0].extract_text().split())
    for part in (
        "Factura", "F2026-00001", "22/11/2026", "B12345674", "Calle del Faro 7, 28001 Madrid",
        "Bruno Núñez Łukasz", "12345678Z", "28013 Madrid (España)", "Microeconomía",
        "21 %", "150,74 €", "31,66 €", "182,40 €", "Descuentos: Pago completo (5 %).",
    ):  # fmt: skip
        assert part.replace("\xa0", " ") in text.replace("\xa0", " "), part
    assert not PendingInvoice.objects.exists()


def test_refunds_are_corrected_in_a_series_of_their_own(seller, api, sandbox, ask, clerk, work):
    order = buy(api, sandbox)
    ask(order)

    refund(order, clerk, 5000)
    work()
    refund(order, clerk)
    work()

    year = Invoice.objects.first().year
    assert [(code, str(total)) for code, total in codes()] == [
        (f"F{year}-00001", "182.40"), (f"R{year}-00001", "-50.00"), (f"R{year}-00002", "-132.40"),
    ]  # fmt: skip
    first, *correctives = Invoice.objects.order_by("pk")
    assert {invoice.kind for invoice in correctives} == {"R1"}
    assert {invoice.root for invoice in correctives} == {first}
    assert sum(invoice.tax_cents for invoice in Invoice.objects.all()) == 0
    text = pdf_text(correctives[0])
    assert f"Rectifica, por diferencias, la factura F{year}-00001" in text
    assert "-50,00 €" in text.replace("\xa0", " ")
    assert Mail.objects.filter(template="invoice").count() == 3


def test_correctives_name_the_refunded_lines_with_their_rates(
    seller, api, sandbox, ask, clerk, work
):
    exempt = make_subject("Cálculo", vat=Vat.EXEMPT)
    taxed = make_subject("Micro")
    order = buy(api, sandbox, exempt, taxed, total="349.80")
    ask(order)
    first, second = order.lines.all()

    refund(order, clerk, 17490, line_ids=frozenset({second.pk}))
    work()
    refund(order, clerk, 1000)
    work()
    refund(order, clerk, 16490, line_ids=frozenset({first.pk}))
    work()

    _, *correctives = Invoice.objects.order_by("pk")
    assert [
        [(line["name"], line["vat"], line["total"]) for line in invoice.content["lines"]]
        for invoice in correctives
    ] == [
        [("Devolución: Micro", "general", -17490)],
        [("Devolución", "exempt", -1000)],
        [("Devolución: Cálculo", "exempt", -16490)],
    ]
    assert "Devolución: Micro" in pdf_text(correctives[0])


def test_one_corrective_of_two_refunds_names_the_lines_of_both(
    seller, api, sandbox, ask, clerk, work
):
    exempt = make_subject("Cálculo", vat=Vat.EXEMPT)
    order = buy(api, sandbox, exempt, make_subject("Micro"), make_subject("Macro"), total="502.20")
    ask(order)
    first, second, _ = order.lines.all()

    refund(order, clerk, 16740, line_ids=frozenset({first.pk}))
    refund(order, clerk, 16740, line_ids=frozenset({second.pk}))
    work()

    corrective = Invoice.objects.get(root__isnull=False)
    assert [(line["name"], line["total"]) for line in corrective.content["lines"]] == [
        ("Devolución: Micro", -16740), ("Devolución: Cálculo", -16740),
    ]  # fmt: skip


def test_nothing_is_issued_twice(seller, api, sandbox, ask, clerk, work):
    order = buy(api, sandbox)
    ask(order)
    refund(order, clerk, 5000)
    work()
    before = codes()

    assert bring_up_to_date(order.pk) == []
    issue_invoices()

    assert codes() == before
    assert Mail.objects.filter(template="invoice").count() == 2


def test_orders_wait_while_the_academys_data_are_missing(api, sandbox, ask, work, seller):
    seller.legal_address = SiteSettings._meta.get_field("legal_address").default
    seller.save()
    order = buy(api, sandbox)
    ask(order)

    assert not Invoice.objects.exists()
    assert PendingInvoice.objects.get().problem == "seller_data"
    assert "1 en espera" in issue_invoices()
    issue_invoices()
    mail = Mail.objects.get(template="invoices_waiting")
    assert mail.to == settings.STAFF_EMAIL

    seller.legal_address = "Calle del Faro 7, 28001 Madrid"
    seller.save()
    assert "1 emitidas" in issue_invoices()
    assert Invoice.objects.get().order == order


@pytest.mark.parametrize("tax_id", ["", "B00000000", "B12345670"])
def test_no_invoice_has_the_samples_or_a_wrong_tax_number(api, sandbox, ask, seller, tax_id):
    seller.tax_id = tax_id
    seller.save()
    ask(buy(api, sandbox))
    assert not Invoice.objects.exists()


def test_without_a_request_there_is_no_invoice(seller, api, sandbox, work):
    buy(api, sandbox)
    work()
    assert not Invoice.objects.exists()
    assert not PendingInvoice.objects.exists()


def test_simplified_invoices_and_the_full_one_in_their_place(
    seller, api, sandbox, ask, clerk, work
):
    seller.simplified_invoices = True
    seller.save()
    order = buy(api, sandbox)
    work()
    refund(order, clerk, 2000)
    work()
    ask(order)
    refund(order, clerk, 1000)
    work()

    rows = Invoice.objects.order_by("pk")
    assert [(row.kind, row.series, str(row.total)) for row in rows] == [
        ("F2", "S", "182.40"), ("R5", "R", "-20.00"), ("F3", "F", "162.40"), ("R1", "R", "-10.00"),
    ]  # fmt: skip
    assert rows[2].replaces == rows[0]
    assert [row.recipient for row in rows[:2]] == [None, None]
    assert "Sustituye a la factura simplificada" in pdf_text(rows[2])
    in_force = Invoice.objects.in_force()
    assert sum(row.total_cents for row in in_force) == 15240


def test_simplified_invoices_end_at_400_euros(seller, api, sandbox, ask, work):
    seller.simplified_invoices = True
    seller.save()
    order = buy(api, sandbox, make_subject(price="500.00"), total="475.00")
    work()
    assert not Invoice.objects.exists()
    assert PendingInvoice.objects.get().problem == "over_limit"

    ask(order)
    assert Invoice.objects.get().kind == "F1"


def test_vat_is_that_of_the_sale_and_discounts_are_spread(seller, api, sandbox, ask):
    exempt = make_subject("Álgebra", price="100.00", vat=Vat.EXEMPT)
    taxed = make_subject("Física", price="60.01")
    order = buy(api, sandbox, exempt, taxed, total="137.01")
    Subject.objects.update(vat=Vat.REDUCED)
    ask(order)

    invoice = Invoice.objects.get()
    assert [line["total"] for line in invoice.content["lines"]] == [8563, 5138]
    assert invoice.content["breakdown"] == [
        {"vat": "general", "base": 4246, "tax": 892},
        {"vat": "exempt", "base": 8563, "tax": 0},
    ]
    assert "artículo 20.Uno.9.º de la Ley 37/1992" in pdf_text(invoice)
    assert order.vat_note == "impuestos incluidos"


def test_a_plan_is_invoiced_whole_and_corrected_when_it_is_canceled(
    seller, api, sandbox, ask, clerk, work
):
    order = buy_in_instalments(api, sandbox)
    ask(order)
    assert Invoice.objects.get().total == order.total_amount

    refund(order, clerk)
    work()
    assert sum(row.total_cents for row in Invoice.objects.all()) == 0
    assert Invoice.objects.count() == 2


def test_a_refund_that_the_bank_sends_back_is_corrected_once(
    seller, api, sandbox, ask, clerk, work
):
    order = buy(api, sandbox)
    ask(order)
    refund(order, clerk, 5000)
    work()
    Refund.objects.update(status="failed")
    bring_up_to_date(order.pk)
    record_paid_by_other_means(Refund.objects.values_list("pk", flat=True), actor="carla")
    work()
    assert [str(total) for _, total in codes()] == ["182.40", "-50.00"]


def test_an_issued_invoice_is_never_changed(seller, api, sandbox, ask):
    ask(buy(api, sandbox))
    invoice = Invoice.objects.get()
    invoice.total = 1
    with pytest.raises(TypeError):
        invoice.save()


def test_later_data_of_the_academy_do_not_change_an_invoice(seller, api, sandbox, ask):
    ask(buy(api, sandbox))
    seller.legal_name = "Otra, S. A."
    seller.save()
    assert "Academia Faro, S. L." in pdf_text(Invoice.objects.get())


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_parallel_invoices_have_numbers_without_gaps(seller, api, sandbox, monkeypatch):
    """Each number is read while another transaction has the counter, unless that locks its row."""
    orders = [
        buy(api, sandbox, email=f"comprador{n}@example.com", phone=f"+3460000000{n}")
        for n in range(2)
    ]
    details = {"name": "Ana", "tax_id": "12345678Z", "address": "C/ 1", "postal_code": "28013",
               "city": "Madrid"}  # fmt: skip
    for order in orders:
        BillingDetails.objects.create(order=order, **details)
    # Creating the counter's row would keep the second transaction waiting, too.
    SeriesCounter.objects.create(series="F", year=today().year)
    arrived = []
    save = SeriesCounter.save

    def save_once_both_have_read(counter, **fields):
        arrived.append(counter.last_number)
        while len(arrived) < 2 and not somebody_waits_for_a_lock():
            pass
        save(counter, **fields)

    monkeypatch.setattr(SeriesCounter, "save", save_once_both_have_read)
    waiting = [order.pk for order in orders]

    results = in_parallel(lambda: try_to_issue(waiting.pop()), times=2)

    assert results == [True] * 2
    assert arrived == [1, 2]
    assert sorted(Invoice.objects.values_list("number", flat=True)) == [1, 2]


def somebody_waits_for_a_lock():
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return cursor.fetchone()[0]


def test_orders_that_cannot_be_invoiced_do_not_keep_others_from_their_turn(
    seller, api, sandbox, monkeypatch
):
    seller.simplified_invoices = True
    seller.save()
    large = buy(api, sandbox, make_subject(price="500.00"), total="475.00")
    monkeypatch.setattr(pending, "AT_ONCE", 1)
    issue_invoices()
    assert PendingInvoice.objects.get(order=large).problem == "over_limit"

    small = buy(api, sandbox, email="otra@example.com")
    issue_invoices()
    assert Invoice.objects.get().order == small


def test_a_requested_refund_does_not_replace_one_that_was_sent_back(
    seller, api, sandbox, ask, clerk, work
):
    order = buy(api, sandbox)
    ask(order)
    refund(order, clerk, 5000)
    work()
    sent_back = Refund.objects.get()
    sent_back.status = "failed"
    sent_back.save()
    Refund.objects.create(
        payment=sent_back.payment, batch="b", amount=50, reason="Otra vez", actor="carla"
    )
    assert bring_up_to_date(order.pk) == []
