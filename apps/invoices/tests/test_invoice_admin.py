"""What staff do with invoices: correct the recipient, try again, send again."""

import pytest

from apps.core.errors import Invalid
from apps.core.models import StaffAction
from apps.invoices import billing, issue
from apps.invoices.billing import clean_details
from apps.invoices.models import BillingDetails, Invoice, PendingInvoice
from apps.invoices.tests.conftest import DETAILS
from tests.helpers.admin import confirm_password, forget_password, make_staff, press
from tests.helpers.refunds import buy, refund

pytestmark = pytest.mark.django_db
RIGHT = {**DETAILS, "name": "Academia de Bruno, S. L.", "tax_id": "B12345674"}


@pytest.fixture
def accountant(client):
    make_staff(
        "conta",
        "view_invoice",
        "issue_invoice",
        "send_invoice",
        "view_pendinginvoice",
        client=client,
        password="una clave muy larga",
    )
    confirm_password(client)
    return client


def test_wrong_recipient_is_corrected_by_an_invoice_that_replaces_the_first(
    accountant, seller, api, sandbox, ask, clerk, work, mailoutbox
):
    order = buy(api, sandbox)
    ask(order)
    refund(order, clerk, 2000)
    work()
    first = Invoice.objects.get(kind="F1")
    page = f"/admin/invoices/invoice/{first.pk}/destinatario/"
    assert page in accountant.get(f"/admin/invoices/invoice/{first.pk}/change/").content.decode()

    answer = accountant.post(page, {**DETAILS, "name": "Bruno Núñez Łukasz"}, follow=True)
    assert "ya lleva esos datos" in answer.content.decode()
    accountant.post(page, {**RIGHT, "tax_id": "B12345670"})
    assert Invoice.objects.count() == 2
    answer = accountant.post(page, RIGHT, follow=True)
    work()

    corrective = Invoice.objects.get(kind="R4")
    assert f"{corrective.code} sustituye a {first.code}" in answer.content.decode()
    assert (corrective.replaces, corrective.series, corrective.total_cents) == (first, "R", 16240)
    assert corrective.recipient["name"] == RIGHT["name"]
    assert first.recipient["tax_id"] == "12345678Z"
    assert "corrige los datos del destinatario" in mailoutbox[-1].body
    assert StaffAction.objects.filter(text__contains="Destinatario corregido").exists()
    # The first invoice and its corrective no longer count, and can't be corrected again.
    assert [row.pk for row in Invoice.objects.in_force()] == [corrective.pk]
    assert "que esté en vigor" in accountant.post(page, DETAILS).content.decode()
    assert BillingDetails.objects.get().name == RIGHT["name"]

    refund(order, clerk, 1000)
    work()
    last = Invoice.objects.get(root=corrective)
    assert (last.kind, last.total_cents, last.recipient) == ("R1", -1000, corrective.recipient)


def test_recipient_is_corrected_a_bounded_number_of_times(
    accountant, seller, api, sandbox, ask, monkeypatch
):
    """Each corrective stays for ever, and is drawn for whoever asks for all of an order."""
    monkeypatch.setattr(billing, "MOST_RECIPIENTS", 1)
    ask(buy(api, sandbox))
    answers = []
    for details in (RIGHT, DETAILS):
        newest = Invoice.objects.latest("pk")
        page = f"/admin/invoices/invoice/{newest.pk}/destinatario/"
        answers.append(accountant.post(page, details, follow=True).content.decode())
    assert ["ya se ha corregido" in answer for answer in answers] == [False, True]
    assert Invoice.objects.filter(kind="R4").count() == 1


def test_an_order_without_money_left_or_a_weak_session_gets_no_corrective(
    accountant, seller, api, sandbox, ask, clerk, work
):
    order = buy(api, sandbox)
    ask(order)
    first = Invoice.objects.get()
    page = f"/admin/invoices/invoice/{first.pk}/destinatario/"
    refund(order, clerk)
    work()
    assert "nada que facturar" in accountant.post(page, RIGHT).content.decode()
    assert (
        page not in accountant.get(f"/admin/invoices/invoice/{first.pk}/change/").content.decode()
    )

    forget_password(accountant)
    assert "/admin/clave" in accountant.post(page, RIGHT)["Location"]
    assert not Invoice.objects.filter(kind="R4").exists()


def test_an_error_of_one_order_is_kept_and_shown(
    accountant, seller, api, sandbox, monkeypatch, ask
):
    order = buy(api, sandbox)

    def fail(order_id):
        raise ValueError

    monkeypatch.setattr(issue, "locked_order", fail)
    answer = accountant.post(
        "/admin/invoices/invoice/emitir/", {**DETAILS, "order": order.pk}, follow=True
    )
    assert "No se ha podido emitir" in answer.content.decode()
    row = PendingInvoice.objects.get()
    again = {"action": "try_again", "_selected_action": row.pk}
    answer = accountant.post("/admin/invoices/pendinginvoice/", again, follow=True)
    assert "Siguen en espera: 1" in answer.content.decode()
    assert StaffAction.objects.filter(text__contains="Volver a intentar").exists()

    monkeypatch.undo()
    forget_password(accountant)
    accountant.post("/admin/invoices/pendinginvoice/", again)
    assert not Invoice.objects.exists()


def test_sending_an_invoice_again_is_logged(accountant, seller, api, sandbox, ask):
    ask(buy(api, sandbox))
    invoice = Invoice.objects.get()
    press(accountant, "/admin/invoices/invoice/", "send_again", invoice)
    assert StaffAction.objects.get(text__contains="Enviar otra vez").text.endswith(str(invoice.pk))


@pytest.mark.parametrize("field", ["name", "address", "city"])
def test_staff_put_no_friend_code_into_an_invoice(accountant, seller, api, sandbox, field):
    order = buy(api, sandbox)
    texts = {**DETAILS, field: "Usa AMIGO-ANA22222", "order": order.pk}

    answer = accountant.post("/admin/invoices/invoice/emitir/", texts)

    assert "cobraría por cada compra" in answer.text
    assert not Invoice.objects.exists()


@pytest.mark.parametrize("name", ["Calle ٣", "Piso ₃", "Local ³"])
def test_digits_that_the_invoice_cannot_print_are_refused(name):
    with pytest.raises(Invalid):
        clean_details({**DETAILS, "address": name})
    clean_details({**DETAILS, "address": "Calle O\u2019Donnell 3, 2.ª – 1 €"})
