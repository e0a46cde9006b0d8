"""The page and the API by which buyers ask for their invoice, and what staff may do."""

import hashlib
from datetime import timedelta

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from apps.core.models import Mail
from apps.core.privacy import CannotErase, erase_all, export_all
from apps.invoices import views
from apps.invoices.models import BillingDetails, Invoice, PendingInvoice
from apps.invoices.pdf import invoice_pdf
from apps.invoices.views import DOWNLOADS_OF_ORDER, PAGES_OF_ORDER
from apps.orders.admin_pages import order_page
from apps.orders.invoice_link import invoice_token, invoice_url
from apps.orders.models import Order, Payment
from apps.orders.models.statuses import PaymentKind
from tests.helpers.admin import press
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.plans import buy_in_instalments, day, link_of
from tests.helpers.refunds import buy, refund

from .conftest import DETAILS

pytestmark = pytest.mark.django_db


@pytest.fixture
def order(seller, api, sandbox):
    return buy(api, sandbox)


def by_payment(order):
    return f"/factura?pago={order.payments.get().reference}"


def test_payment_opens_the_form_and_shows_nothing_that_was_given(order, api, work):
    assert api.client.post(by_payment(order), DETAILS).status_code == 302
    work()

    page = api.client.get(by_payment(order)).content.decode()
    assert "La factura está emitida" in page
    assert "Bruno Núñez" not in page
    assert Invoice.objects.get().code not in page
    pdf = reverse("factura-pdf", args=[Invoice.objects.get().code])
    reference = order.payments.get().reference
    assert api.client.get(f"{pdf}?pago={reference}").status_code == 404


def test_payment_opens_the_form_for_an_hour(order, api, work):
    """Staff read it in their lists, and may not issue invoices."""
    Order.objects.update(paid_at=timezone.now() - timedelta(minutes=61))

    page = api.client.post(by_payment(order), DETAILS)
    work()

    assert (page.status_code, Invoice.objects.count()) == (409, 0)
    assert "con el enlace del correo de confirmación" in page.content.decode()
    assert api.client.post(invoice_url(order), DETAILS).status_code == 302


def test_personal_link_shows_and_downloads_the_invoices(order, api, ask):
    ask(order)
    invoice = Invoice.objects.get()
    assert invoice.code in api.client.get(invoice_url(order)).content.decode()
    pdf = reverse("factura-pdf", args=[invoice.code])
    answer = api.client.get(f"{pdf}?pedido={order.pk}&clave={invoice_token(order)}")
    assert answer["Content-Type"] == "application/pdf"
    assert answer.content.startswith(b"%PDF")
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "query", ["", "?pedido=1&clave=x", "?pedido=abc&clave=x", "?pago=", "?pago=pi_x",
              "?pedido=99999999999999999999&clave=x", "?pedido=²&clave=x"],
)  # fmt: skip
def test_other_links_open_nothing(order, api, query):
    assert api.client.get(f"/factura{query}").status_code == 404
    assert api.client.post(f"/factura{query}", DETAILS).status_code == 404


def test_a_cart_has_no_invoice_page(seller, api, sandbox):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    cart = Order.objects.get(pk=placed["order_id"])
    assert api.client.get(invoice_url(cart)).status_code == 404
    assert api.client.get(f"/factura?pago={placed['payment_intent_id']}").status_code == 404


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("tax_id", "12345678A", "Ese NIF no es correcto"),
        ("tax_id", "", "Escribe tu NIF"),
        ("postal_code", "99999", "cinco cifras"),
        ("country", "XX", "Elige un país"),
        ("name", "Иван", "letras latinas"),
        ("name", "x" * 121, "como mucho 120"),
    ],
)
def test_wrong_details_are_refused_with_a_sentence(order, api, field, value, message):
    answer = api.client.post(invoice_url(order), {**DETAILS, field: value})
    assert answer.status_code == 400
    assert message in answer.content.decode()
    assert not BillingDetails.objects.exists()


def test_details_can_not_be_changed_once_the_invoice_is_issued(order, api, ask):
    ask(order)
    again = ask(order, name="Otra persona")
    assert again.status_code == 409
    assert BillingDetails.objects.get().name != "Otra persona"
    assert Mail.objects.filter(template="invoice").count() == 1


def test_other_sites_can_not_send_the_form(order, api):
    answer = api.client.post(
        invoice_url(order), DETAILS, headers={"Origin": "https://otro.example"}
    )
    assert answer.status_code == 403
    assert not BillingDetails.objects.exists()


def test_downloads_of_an_order_are_limited_over_all_networks(order, api, ask):
    """A PDF costs up to 450 ms."""
    ask(order)
    pdf = reverse("factura-pdf", args=[Invoice.objects.get().code])
    url = f"{pdf}?pedido={order.pk}&clave={invoice_token(order)}"
    for _ in range(DOWNLOADS_OF_ORDER.times):
        DOWNLOADS_OF_ORDER.count_key(str(order.pk))
    assert api.client.get(url, REMOTE_ADDR="198.51.100.7").status_code == 429


def test_pages_of_an_order_show_its_newest_invoices(order, api, ask, monkeypatch, admin_client):
    """Each refund of a cent, and each corrected recipient, adds an invoice."""
    ask(order)
    first = Invoice.objects.get()
    newest = Invoice.objects.create(
        code="R2026-00010", series="R", year=2026, number=10, kind="R4", total=187, tax=0,
        issued_on=first.issued_on, order=order, replaces=first, recipient=first.recipient,
        content=first.content,
    )  # fmt: skip
    monkeypatch.setattr(views, "MOST_INVOICES", 1)
    monkeypatch.setattr(order_page, "MOST_INVOICES", 1)
    theirs = api.client.get(invoice_url(order)).text
    assert f"{newest.code} (PDF)" in theirs
    assert f"{first.code} (PDF)" not in theirs
    ours = admin_client.get(reverse("admin:orders_order_change", args=[order.pk])).text
    assert f"{newest.code}</a>, sustituye a {first.code}" in ours
    assert f"factura {first.code}</a>" not in ours


def test_pages_of_an_order_are_limited_for_each_network(order, api):
    """Whoever has the payment's id keeps no buyer from their page."""
    for _ in range(PAGES_OF_ORDER.times):
        PAGES_OF_ORDER.count_key(f"{order.pk} 198.51.100.7")
    for ask in (api.client.get, api.client.post):
        answer = ask(by_payment(order), REMOTE_ADDR="198.51.100.7")
        assert answer.status_code == 429
        assert answer["Content-Type"].startswith("text/plain")
        assert ask(by_payment(order), REMOTE_ADDR="203.0.113.7").status_code in {200, 400}


def test_requests_are_limited(order, api):
    answers = [api.client.post(invoice_url(order), {}).status_code for _ in range(21)]
    assert answers == [400] * 20 + [429]


def test_api_takes_the_details_with_the_payment_or_the_link(order, api, work):
    reference = order.payments.get().reference
    wrong = {**DETAILS, "payment_intent_id": reference, "tax_id": "1"}
    status, answer = api.post("invoice-details", wrong)
    assert (status, list(answer["fields"])) == (400, ["tax_id"])
    assert api.post("invoice-details", {**DETAILS, "token": "x", "order": order.pk})[0] == 404
    linked = {**DETAILS, "order": order.pk, "token": invoice_token(order)}
    assert api.post("invoice-details", linked) == (200, {"success": True})
    work()
    status, answer = api.post("invoice-details", {**DETAILS, "payment_intent_id": reference})
    assert (status, answer["code"]) == (409, "already_invoiced")


def test_who_prepared_the_cart_gets_no_invoice_of_what_another_person_has_paid(
    seller, api, sandbox, work
):
    """They know the payment's id: repeating the checkout with the cart's token returns it."""
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    api.get("orders/recover", order=placed["order_id"], token=placed["token"])
    reference = placed["payment_intent_id"]
    sandbox.confirm(placed["client_secret"])
    api.post("complete-payment", {"payment_intent_id": reference})
    order = Order.objects.get(pk=placed["order_id"])

    status, answer = api.post("invoice-details", {**DETAILS, "payment_intent_id": reference})
    assert (status, answer["code"]) == (409, "invoice_by_link")
    for answer in (
        api.client.get(f"/factura?pago={reference}"),
        api.client.post(f"/factura?pago={reference}", DETAILS),
    ):
        assert answer.status_code == 409
        page = answer.content.decode()
        assert "enlace del correo de confirmación" in page
        assert 'name="tax_id"' not in page
    assert not BillingDetails.objects.exists()

    assert api.client.post(invoice_url(order), DETAILS).status_code == 302
    work()
    assert Invoice.objects.get().order == order


def test_who_passed_the_page_of_stripe_on_learns_no_more_than_that_it_was_paid(
    seller, api, sandbox, settings, clerk, work
):
    """They know the session's id. Whoever got the address of the page has paid there."""
    settings.STRIPE_CHECKOUT = "hosted"
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    assert sandbox.pay(placed) == ""
    session = placed["session_id"]
    api.post("complete-payment", {"session_id": session})
    order = Order.objects.get(pk=placed["order_id"])

    status, answer = api.post("invoice-details", {**DETAILS, "session_id": session})
    assert (status, answer["code"]) == (409, "invoice_by_link")
    assert api.client.get(f"/factura?pago={session}").status_code == 409
    assert not BillingDetails.objects.exists()
    assert api.client.post(invoice_url(order), DETAILS).status_code == 302
    refund(order, clerk)
    work()
    assert order.status == Order.Status.REFUNDED
    status, answer = api.get("orders/by-payment", session_id=session)
    assert (status, answer["status"], "refund" in answer) == (200, "paid", False)


def test_refunded_orders_have_nothing_to_invoice(order, api, clerk, work):
    refund(order, clerk)
    work()
    linked = {**DETAILS, "order": order.pk, "token": invoice_token(order)}
    status, answer = api.post("invoice-details", linked)
    assert (status, answer["code"]) == (409, "nothing_to_invoice")


def test_an_invoice_survives_the_erasure_of_its_buyer(order, ask):
    ask(order)
    assert (
        export_all(order.email)["facturas"]["facturas"][0]["número"] == Invoice.objects.get().code
    )

    sentences = erase_all(order.email)

    assert any("por obligación fiscal: 1 factura" in sentence for sentence in sentences)
    assert not BillingDetails.objects.exists()
    assert Invoice.objects.get().recipient["tax_id"] == "12345678Z"

    # After the time that the law asks for, the PDF names no recipient, and still opens.
    with time_machine.travel(timezone.now() + timedelta(days=366 * 7)):
        call_command("purge_expired")
    invoice = Invoice.objects.get()
    assert invoice.recipient_tax_id == ""
    assert invoice_pdf(invoice).startswith(b"%PDF")


def test_an_invoice_that_was_asked_for_is_issued_before_the_erasure(order, seller, ask):
    seller.tax_id = ""
    seller.save()
    ask(order)
    with pytest.raises(CannotErase):
        erase_all(order.email)


def test_staff_issue_an_invoice_and_send_it_again(order, admin_client, work):
    page = reverse("admin:invoices_invoice_issue")
    with time_machine.travel(timezone.now() + timedelta(minutes=20)):
        assert admin_client.get(page).status_code == 302, "a fresh password is asked for"
    answer = admin_client.post(page, {**DETAILS, "order": order.pk})
    assert answer.status_code == 302
    invoice = Invoice.objects.get()
    assert LogEntry.objects.filter(change_message__contains="Factura pedida").exists()

    changelist = reverse("admin:invoices_invoice_changelist")
    said = press(admin_client, changelist, "send_again", invoice).text
    assert "Facturas que se vuelven a enviar: 1." in said
    assert Mail.objects.filter(template="invoice").count() == 2
    # Once a day to one address.
    said = press(admin_client, changelist, "send_again", invoice).text
    assert "Sin enviar: 1. Ya se han vuelto a enviar hoy" in said
    # Whoever reads the key of a mail can't find out the address by trying addresses.
    bare = hashlib.sha256(Order.objects.get().email.encode()).hexdigest()[:12]
    assert not Mail.objects.filter(key__contains=bare).exists()
    Order.objects.update(email="otra@example.com")
    press(admin_client, changelist, "send_again", invoice)
    assert Mail.objects.filter(template="invoice").count() == 3
    assert (
        b"%PDF"
        in admin_client.get(reverse("admin:invoices_invoice_pdf", args=[invoice.pk])).content
    )
    missing = admin_client.post(page, {**DETAILS, "order": 999})
    assert "No hay ningún pedido" in missing.content.decode()


def test_waiting_orders_are_tried_again_by_staff(order, seller, ask, admin_client):
    seller.tax_id = ""
    seller.save()
    ask(order)
    seller.tax_id = "B12345674"
    seller.save()
    row = PendingInvoice.objects.get()
    changelist = reverse("admin:invoices_pendinginvoice_changelist")
    assert "Faltan los datos del emisor" in admin_client.get(changelist).content.decode()
    admin_client.post(changelist, {"action": "try_again", "_selected_action": row.pk})
    assert Invoice.objects.count() == 1


@pytest.mark.parametrize("term", ["F2026-00001", "12.345.678-Z", "bruno@example.com", "núñez bru"])
def test_invoices_are_found_by_number_tax_number_name_and_address(order, ask, admin_client, term):
    ask(order)
    code = Invoice.objects.get().code
    term = term.replace("F2026-00001", code.lower())
    changelist = reverse("admin:invoices_invoice_changelist")
    assert code in admin_client.get(changelist, {"q": term}).content.decode()
    assert code not in admin_client.get(changelist, {"q": "otra"}).content.decode()


def test_payment_by_the_link_of_a_plan_asks_for_no_invoice(seller, api, sandbox, work):
    """The link may be passed on: whoever pays the next instalment is not the buyer."""
    order = buy_in_instalments(api, sandbox)
    with time_machine.travel(day(0, hours=0.5), tick=False):
        work()
        asked = {**link_of(order), "number": 2, "what": "next"}
        status, paying = api.post("instalments/pay", asked)
        assert status == 200
        assert sandbox.confirm(paying["client_secret"]) == ""
        reference = paying["payment_intent_id"]
        api.post("complete-payment", {"payment_intent_id": reference})
        answer = api.client.post(f"/factura?pago={reference}", {**DETAILS, "name": "Otra Persona"})
    assert answer.status_code != 302
    assert not BillingDetails.objects.exists()


def test_payment_of_an_exchange_asks_for_no_invoice(order, client):
    """A clerk makes it, so its reference is known to staff and not to the buyer."""
    Payment.objects.update(kind=PaymentKind.CREDIT)

    assert client.post(by_payment(order), DETAILS).status_code != 302
    assert not BillingDetails.objects.exists()
