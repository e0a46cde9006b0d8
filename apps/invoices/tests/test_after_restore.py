"""After a restore no number of an invoice is given twice, and the chain of records begins anew."""

from datetime import UTC, datetime

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.backoffice.today.page import today_for
from apps.core.backup.numbers import GAP, skip_ids, skip_lost_ids
from apps.core.dates import today
from apps.core.models import Restore
from apps.invoices.jobs import verify_tax_chains
from apps.invoices.models import Invoice, PendingInvoice, TaxRecord
from apps.invoices.numbering import go_on_after, restores_to_confirm
from apps.invoices.pending import issue_all_pending
from apps.invoices.tests.agency import known
from apps.orders.models import Order
from apps.students.models import Student
from tests.helpers.refunds import buy

CAROL = {"email": "carol@example.com", "phone": "+34600333333"}


@pytest.fixture
def restored(seller, settings, api, sandbox, ask):
    """A shop with an invoice and its record, restored from a backup."""
    settings.VERIFACTU = "pruebas"
    ask(buy(api, sandbox))
    return Restore.objects.create(backup_made_at=timezone.now(), is_rehearsal=False)


def _year():
    return today().year


def test_no_invoice_is_issued_until_the_last_numbers_are_known(
    restored, api, sandbox, ask, clerk, work
):
    ask(buy(api, sandbox, **CAROL))

    assert Invoice.objects.count() == 1
    row = PendingInvoice.objects.get()
    assert "Se restauró una copia" in row.get_problem_display()
    assert "Facturas en espera" in [tile.label for tile in today_for(clerk).waiting]

    stated = [f"F{_year()}-7", f"S{_year()}-0", f"R{_year()}-2"]
    call_command("resume_invoices", *stated, offline=True)
    issue_all_pending()
    assert Invoice.objects.latest("pk").code == f"F{_year()}-00008"
    assert not PendingInvoice.objects.exists()
    with pytest.raises(CommandError, match="No hay nada que confirmar"):
        call_command("resume_invoices")


def test_stated_numbers_are_complete_and_possible(restored):
    year = _year()
    for stated, sentence in (
        ([], f"Falta el último número de la serie F de {year}; en la copia es F{year}-00001."),
        ([f"F{year}-0", f"S{year}-0", f"R{year}-0"], "en la copia es 1: no puede ser 0"),
        ([f"F{year}-90000", f"S{year}-0", f"R{year}-0"], "no puede ser 90000"),
        ([f"F{year}-1", f"S{year}-0", f"R{year}-0", "S1999-3"], "ninguna serie S de 1999"),
        (["12"], "no es un número de factura"),
    ):
        with pytest.raises(CommandError, match=sentence):
            call_command("resume_invoices", *stated, offline=True)
    assert Invoice.objects.count() == 1


def test_stated_numbers_follow_those_that_the_agency_knows(restored, agency):
    year = _year()
    stated = [f"F{year}-3", f"S{year}-0", f"R{year}-0"]
    with pytest.raises(CommandError, match="No se ha podido preguntar a Hacienda"):
        call_command("resume_invoices", *stated)

    # The agency files invoices by month; each query gets the same page.
    agency.pages = [known(f"F{year}-00004"), known("A-1")] * 2
    with pytest.raises(CommandError, match=f"Hacienda tiene ya la F{year}-00004"):
        call_command("resume_invoices", *stated)
    agency.pages = [known(f"F{year}-00004")] * 2
    call_command("resume_invoices", f"F{year}-4", *stated[1:])

    assert not restores_to_confirm().exists()


def test_both_years_are_asked_for_after_new_year(seller):
    with time_machine.travel(datetime(2027, 1, 1, 12, tzinfo=UTC)):
        Restore.objects.create(
            backup_made_at=datetime(2026, 12, 31, 3, tzinfo=UTC), is_rehearsal=False
        )
        with pytest.raises(CommandError) as asked:
            call_command("resume_invoices")
    found = {f"{series} de {year}" for series in "FSR" for year in (2026, 2027)}
    assert all(name in str(asked.value) for name in found)


def test_records_begin_a_chain_as_a_new_installation(restored, api, sandbox, ask):
    go_on_after({("F", _year()): 5})
    ask(buy(api, sandbox, **CAROL))

    old, new = TaxRecord.objects.order_by("pk")
    assert (old.installation, new.installation) == (
        "1",
        f"R{restored.restored_at:%Y%m%d%H%M%S}",
    )
    assert (new.number, new.previous_hash) == (1, "")
    assert verify_tax_chains() == "Cadenas sin cambios: 2"


@pytest.mark.django_db
def test_ids_that_may_have_been_given_out_are_passed_over(api, sandbox):
    before = buy(api, sandbox)

    skip_lost_ids()
    after = buy(api, sandbox, **CAROL)

    assert after.pk == before.pk + GAP + 1
    assert after.student_id > Student.objects.earliest("pk").pk + GAP
    assert skip_ids(Order, after.pk + 7) == after.pk + 7 + GAP + 1
    # The ids are beyond that number already: they go on.
    assert skip_ids(Order, 1) == after.pk + 7 + GAP + 1
