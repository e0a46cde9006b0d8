"""The book of a quarter and the reports of its months count the same money."""

import pytest

from apps.backoffice.reports.figures import figures_of
from apps.catalogue.vat import Vat
from apps.core.models import SiteSettings
from apps.core.period import period_of
from apps.invoices.book.agreement import agreement_of
from apps.invoices.book.entries import invoices_in, totals_of
from apps.invoices.models import Invoice
from apps.invoices.tests.book import give_back, invoice, issue, pay, substitute
from apps.orders.models import Refund

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _seller():
    owner = SiteSettings.current()
    owner.legal_name, owner.tax_id = "Academia Faro, S. L.", "B12345674"
    owner.legal_address = "Calle del Faro 7, 28001 Madrid"
    owner.save()


def test_book_of_each_quarter_equals_the_reports_of_its_months_less_what_has_no_invoice():
    replaced = pay("2026-07-01", (Vat.GENERAL, 182_40))
    substitute(invoice(replaced, "2026-09-30"), "2026-10-01")
    in_parts = pay("2026-09-30", (Vat.GENERAL, 100_00), (Vat.EXEMPT, 50_00))
    invoice(in_parts, "2026-09-30")
    give_back(in_parts, "2026-12-31", 30_00)
    issue(in_parts, "2026-12-31")
    by_transfer = pay("2026-11-05", (Vat.GENERAL, 60_00), kind="transfer")
    invoice(by_transfer, "2026-11-06")
    give_back(by_transfer, "2026-11-20", 10_00)
    issue(by_transfer, "2026-11-20")
    without = pay("2026-12-05", (Vat.GENERAL, 55_00))
    give_back(without, "2026-12-06", 5_00)
    # The bank sends a refund back, and staff pay it by other means later.
    back = give_back(pay("2026-10-09", (Vat.GENERAL, 70_00)), "2026-10-10", 70_00)
    at = {"sent_back_at": "2026-11-10T12:00Z", "settled_at": "2027-01-10T12:00Z"}
    Refund.objects.filter(pk=back.pk).update(status="outside", **at)
    pay("2026-12-08", (Vat.GENERAL, 44_00)).payments.update(order=None)

    books = 0
    for text in ("2026-T3", "2026-T4", "2027-T1"):
        period = period_of(text)
        first = period_of(f"{period.first:%Y-%m}")
        months = [figures_of(month) for month in (first, first.next, first.next.next)]
        book = sum(line.total for line in totals_of(invoices_in(period)))
        found = agreement_of(period, invoiced=book)
        assert found.taken == sum(each.gross_cents for each in months)
        returned = sum(each.refunds_cents + each.refunds_elsewhere_cents for each in months)
        assert found.returned == returned
        assert found.unexplained == 0
        assert book == found.taken - returned - found.uninvoiced - found.other_period
        books += book
    assert books == sum(row.total_cents for row in Invoice.objects.in_force()) == 352_40
