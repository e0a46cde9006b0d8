"""The invoice of an order, from the buyer's request to its corrective."""

from io import BytesIO

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from apps.core.models import SiteSettings
from apps.invoices.models import Invoice
from apps.orders.invoice_link import invoice_url
from tests.browser.records import eventually, mail_with, only_order, pay_elsewhere
from tests.browser.visitor import sign_in_staff
from tests.helpers.factories import whole

pytestmark = pytest.mark.usefixtures("money_adds_up")


@pytest.fixture
def seller(stack):
    """The academy's own data, instead of the sample's."""
    sample = SiteSettings.objects.filter(pk=1)
    before = sample.values("tax_id", "legal_address").get()
    sample.update(tax_id="B12345674", legal_address="Calle del Faro 7, 28001 Madrid")
    yield
    sample.update(**before)


def attached_pdf(subject: str, address: str) -> str:
    [part] = mail_with(subject, address).iter_attachments()
    content = part.get_content()
    return " ".join(PdfReader(BytesIO(content)).pages[0].extract_text().split())


def test_buyer_asks_for_an_invoice_and_a_refund_corrects_it(visitor, shelf, email, seller):
    page = visitor.page
    reference = pay_elsewhere(email, whole(shelf.put("Cálculo", "200.00")), total="190")
    order = only_order(email)

    page.goto(f"/success?payment_intent_id={reference}")
    page.get_by_role("link", name="Pídela aquí").click()
    expect(page.get_by_role("heading", name=f"Factura del pedido n.º {order.pk}")).to_be_visible()
    visitor.assert_accessible()
    page.get_by_label("Nombre y apellidos, o razón social").fill("Bruno Núñez")
    page.get_by_label("NIF, NIE o número de IVA").fill("12345678A")
    page.get_by_label("Dirección").fill("Calle Mayor 1")
    page.get_by_label("Código postal").fill("28013")
    page.get_by_label("Localidad").fill("Madrid")
    visitor.watch.expect(r"status of 400 .*/factura")
    page.get_by_role("button", name="Pedir la factura").click()
    expect(page.get_by_text("Ese NIF no es correcto")).to_be_visible()
    page.get_by_label("NIF, NIE o número de IVA").fill("12345678-z")
    page.get_by_role("button", name="Pedir la factura").click()
    expect(page.get_by_role("status").first).to_be_visible()

    first = eventually(lambda: Invoice.objects.filter(order=order).first())
    assert first is not None
    text = attached_pdf(f"Factura {first.code}", email)
    assert "Bruno Núñez" in text
    assert "12345678Z" in text
    page.goto(invoice_url(order))
    with page.expect_download() as download:
        page.get_by_role("link", name=f"Factura {first.code} (PDF)").click()
    assert download.value.suggested_filename == f"{first.code}.pdf"

    sign_in_staff(page)
    page.goto(f"/admin/devolver/{order.pk}")
    page.get_by_label("Importe (€)").fill("40,00")
    page.get_by_label("Motivo").fill("Se equivocó")
    page.get_by_role("button", name="Ver qué cambiaría").click()
    page.get_by_role("button", name="Devolver 40,00 €").click()
    expect(page.get_by_text("Devueltos 40,00 €.")).to_be_visible()
    corrective = eventually(lambda: Invoice.objects.filter(root=first).first())
    assert corrective is not None
    text = attached_pdf(f"Factura rectificativa {corrective.code}", email)
    assert f"la factura {first.code}" in text
    assert "-40,00" in text

    page.goto(f"/admin/orders/order/{order.pk}/change/")
    expect(page.get_by_role("link", name="Facturar…")).to_have_count(0)  # It has its invoice.
    page.get_by_role("link", name="Facturas", exact=True).last.click()
    rows = page.locator("#result_list tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(corrective.code)
    with page.expect_download() as download:
        rows.first.get_by_role("link", name=f"Descargar {corrective.code}").click()
    assert download.value.suggested_filename == f"{corrective.code}.pdf"
