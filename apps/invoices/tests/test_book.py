"""The book of issued invoices: what counts in which period, and why it differs from the takings."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.catalogue.vat import Vat
from apps.core.period import period_between, period_of
from apps.invoices.amounts import TaxLine
from apps.invoices.book.agreement import Why, agreement_of
from apps.invoices.book.entries import entries_of, invoices_in, totals_of
from apps.invoices.models import Invoice
from apps.invoices.tests.book import give_back, invoice, issue, pay, substitute

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("seller")]
THIRD, FOURTH, LATER = (period_of(text) for text in ("2026-T3", "2026-T4", "2027-T1"))
GENERAL = (Vat.GENERAL, 182_40)


def lines(period):
    """Number, removed invoice and total of each line of a period."""
    return [
        (entry.code, entry.removes, entry.line.total) for entry in entries_of(invoices_in(period))
    ]


def total(period):
    """The total of the book, which its lines add up to."""
    cents = sum(line.total for line in totals_of(invoices_in(period)))
    assert cents == sum(cents for *_, cents in lines(period))
    return cents


def agreed(period):
    """Net takings, book, without invoice, other periods. They explain each other to the cent."""
    found = agreement_of(period, invoiced=total(period))
    assert found.unexplained == 0
    assert found.net == found.invoiced + found.uninvoiced + found.other_period
    return found.net, found.invoiced, found.uninvoiced, found.other_period


def test_corrective_by_differences_counts_in_the_quarter_in_which_it_is_issued():
    order = pay("2026-09-30", GENERAL)
    invoice(order, "2026-09-30")
    give_back(order, "2026-10-01", 50_00)
    issue(order, "2026-10-01")

    assert lines(THIRD) == [("F2026-00001", "", 182_40)]
    assert lines(FOURTH) == [("R2026-00001", "", -50_00)]
    assert agreed(THIRD) == (182_40, 182_40, 0, 0)
    assert agreed(FOURTH) == (-50_00, -50_00, 0, 0)
    [entry] = entries_of(invoices_in(FOURTH))
    assert entry.note == "Rectifica F2026-00001 por diferencias"


def test_substitute_counts_instead_of_the_replaced_invoice_and_its_correctives():
    order = pay("2026-10-05", GENERAL)
    wrong = invoice(order, "2026-10-05")
    give_back(order, "2026-10-20", 20_00)
    issue(order, "2026-10-20")
    substitute(wrong, "2026-11-02")

    assert lines(FOURTH) == [
        ("F2026-00001", "", 182_40),
        ("R2026-00001", "", -20_00),
        ("R2026-00002", "", 162_40),
        ("R2026-00002", "F2026-00001 y R2026-00001", -162_40),
    ]
    assert total(FOURTH) == 162_40
    first, *_, removal = entries_of(invoices_in(FOURTH))
    assert first.replaced_by == "Sustituida por R2026-00002 el 02/11/2026"
    assert removal.note == "Baja de F2026-00001 y R2026-00001, sustituidas"
    assert (removal.name, removal.tax_id) == ("Academia de Bruno, S. L.", "B12345674")
    assert agreed(FOURTH) == (162_40, 162_40, 0, 0)


def test_substitute_in_a_later_quarter_leaves_the_closed_quarter_as_it_was_declared():
    order = pay("2026-09-30", GENERAL)
    wrong = invoice(order, "2026-09-30")
    declared = total(THIRD)
    substitute(wrong, "2026-10-01")

    assert total(THIRD) == declared == 182_40
    assert total(FOURTH) == 0
    assert len(lines(FOURTH)) == 2
    assert agreed(FOURTH) == (0, 0, 0, 0)


def test_invoice_replaced_twice_counts_once():
    order = pay("2026-09-20", GENERAL)
    first = substitute(invoice(order, "2026-09-20"), "2026-10-02")
    second = substitute(first, "2027-01-03", name="Otra, S. L.")
    give_back(order, "2027-02-01", 10_00)
    issue(order, "2027-02-01")

    assert [total(period) for period in (THIRD, FOURTH, LATER)] == [182_40, 0, -10_00]
    assert lines(LATER) == [
        (second.code, "", 182_40),
        (second.code, first.code, -182_40),
        ("R2027-00002", "", -10_00),
    ]
    everything = sum(total(period) for period in (THIRD, FOURTH, LATER))
    in_force = sum(row.total_cents for row in Invoice.objects.in_force())
    assert everything == in_force == 172_40


def test_full_invoice_counts_instead_of_the_simplified_one(seller):
    seller.simplified_invoices = True
    seller.save()
    order = pay("2026-12-30", GENERAL)
    simplified = issue(order, "2026-12-30")
    full = invoice(order, "2027-01-02")

    assert (simplified.kind, full.kind) == ("F2", "F3")
    assert [total(period) for period in (FOURTH, LATER)] == [182_40, 0]
    assert lines(LATER) == [("F2027-00001", "", 182_40), ("F2027-00001", simplified.code, -182_40)]


def test_series_and_years_stand_in_the_order_of_their_days():
    orders = [pay("2026-12-31", GENERAL), pay("2026-12-31", GENERAL)]
    invoice(orders[0], "2026-12-31")
    give_back(orders[0], "2026-12-31", 2_40)
    issue(orders[0], "2026-12-31")
    invoice(orders[1], "2027-01-01")

    assert [code for code, *_ in lines(FOURTH)] == ["F2026-00001", "R2026-00001"]
    assert [code for code, *_ in lines(LATER)] == ["F2027-00001"]
    both = period_between("2026-12-31", "2027-01-01")
    assert [code for code, *_ in lines(both)] == ["F2026-00001", "R2026-00001", "F2027-00001"]


def test_rounding_is_that_of_each_invoice_and_rate():
    """Base and tax are added up as the invoices have them, never computed from a sum again."""
    for _ in range(3):
        order = pay("2026-10-05", (Vat.GENERAL, 10_05), (Vat.REDUCED, 3_33), (Vat.EXEMPT, 1_01))
        invoice(order, "2026-10-05")
        for cents in (1, 3_32, 5_01):
            give_back(order, "2026-10-06", cents)
            issue(order, "2026-10-06")

    totals = totals_of(invoices_in(FOURTH))
    for line in totals:
        rows = [e.line for e in entries_of(invoices_in(FOURTH)) if e.line.vat == line.vat]
        assert line == TaxLine(line.vat, sum(r.base for r in rows), sum(r.tax for r in rows))
    invoices = Invoice.objects.all()
    assert sum(line.tax for line in totals) == sum(row.tax_cents for row in invoices)
    assert agreed(FOURTH) == (3 * 6_05, 3 * 6_05, 0, 0)


def test_a_period_without_invoices_is_empty_and_names_what_was_taken():
    pay("2026-10-05", GENERAL)
    pay("2026-10-06", (Vat.GENERAL, 60_00), kind="transfer")

    assert lines(FOURTH) == []
    assert totals_of(invoices_in(FOURTH)) == []
    assert agreed(FOURTH) == (242_40, 0, 242_40, 0)
    assert agreed(LATER) == (0, 0, 0, 0)


def test_invoice_of_another_quarter_than_its_payment_is_no_order_without_invoice():
    late, never = pay("2026-09-30", GENERAL), pay("2026-09-29", (Vat.GENERAL, 55_00))
    invoice(late, "2026-10-02")

    assert agreed(THIRD) == (237_40, 0, 55_00, 182_40)
    assert agreed(FOURTH) == (0, 182_40, 0, -182_40)
    found = agreement_of(THIRD, invoiced=0)
    assert [(each.order_id, each.why) for each in found.differences] == [
        (never.pk, Why.UNINVOICED), (late.pk, Why.OTHER_PERIOD),
    ]  # fmt: skip


def test_payment_without_order_has_no_invoice():
    order = pay("2026-10-05", GENERAL)
    order.payments.update(order=None)
    assert agreed(FOURTH) == (182_40, 0, 182_40, 0)


def test_refund_requested_at_midnight_may_belong_to_another_quarter_than_its_corrective():
    order = pay("2026-09-10", GENERAL)
    invoice(order, "2026-09-10")
    give_back(order, "2026-09-30", 182_40)
    issue(order, "2026-10-01")
    assert agreed(THIRD) == (0, 182_40, 0, -182_40)
    assert agreed(FOURTH) == (0, -182_40, 0, 182_40)


def test_an_invoice_that_contradicts_its_breakdown_is_not_hidden():
    order = pay("2026-10-05", GENERAL)
    invoice(order, "2026-10-05")
    Invoice.objects.update(total=1)
    assert agreement_of(FOURTH, invoiced=total(FOURTH)).unexplained == -181_40


def statements(work):
    with CaptureQueriesContext(connection) as captured:
        work()
    return len(captured)


def test_ten_thousand_invoices_take_no_more_statements_than_one():
    order = pay("2026-10-05", GENERAL)
    substitute(invoice(order, "2026-10-05"), "2026-10-06")

    def read():
        list(entries_of(invoices_in(FOURTH)))
        agreement_of(FOURTH, invoiced=sum(line.total for line in totals_of(invoices_in(FOURTH))))

    few = statements(read)
    first = Invoice.objects.get(series="F")
    Invoice.objects.bulk_create(
        Invoice(
            code=f"F2026-{number:05}", series="F", year=2026, number=number, kind="F1",
            issued_on=first.issued_on, order=order, recipient=first.recipient, total=first.total,
            tax=first.tax, content=first.content,
        )
        for number in range(2, 10_001)
    )  # fmt: skip
    assert statements(read) == few <= 20
    assert total(FOURTH) == 10_000 * 182_40


@pytest.mark.parametrize(
    ("text", "first", "last", "label"),
    [
        ("2026-T4", "2026-10-01", "2026-12-31", "4.º trimestre de 2026"),
        ("2028-02", "2028-02-01", "2028-02-29", "febrero de 2028"),
        ("2026", "2026-01-01", "2026-12-31", "año 2026"),
        ("2026-10-05_2026-11-20", "2026-10-05", "2026-11-20", "del 05/10/2026 al 20/11/2026"),
    ],
)
def test_period_is_written_and_read(text, first, last, label):
    period = period_of(text)
    assert (str(period), f"{period.first}", f"{period.last}") == (text, first, last)
    assert period.label == label
    assert period.next.before == period.before.next == period
    assert period.end == period.next.start


@pytest.mark.parametrize(
    "text",
    ["", "2026-T5", "2026-13", "1999", "2026-02-01_2026-02-30", "2026-11-02_2026-11-01",
     "2025-01-01_2026-06-01", "²026", "2026-T4 ", "2026-10-05"],
)  # fmt: skip
def test_other_texts_are_no_period(text):
    assert period_of(text) is None
