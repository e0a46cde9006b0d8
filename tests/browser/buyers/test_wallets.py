"""Payments with a wallet: Stripe's Express Checkout Element, which the sandbox plays."""

import re
from decimal import Decimal

import pytest
from playwright.sync_api import FrameLocator, Locator, expect

from apps.orders.models import Gift, Order
from apps.students.consent_wordings import WALLET_WORDINGS
from apps.students.models import Consent
from tests.browser.records import (
    clear_faults,
    only_order,
    orders_of,
    payments_at_provider,
    save_for_later,
    set_fault,
    switch_wallet,
)
from tests.browser.visitor import (
    CHALLENGED_CARD,
    DECLINED_CARD,
    GOOD_CARD,
    HeldRequests,
    Visitor,
    nbsp,
    tab_to,
    wait_until,
)
from tests.helpers.factories import whole

pytestmark = pytest.mark.usefixtures("money_adds_up")

WALLET_FRAME = "iframe[title='Marco de botón de pago seguro']"
SHEET_FRAME = "body > iframe[title='Cartera de prueba']"
BANK_SAID_NO = "Tu banco ha rechazado la tarjeta. Prueba con otra o habla con tu banco."
TICK_THIS_BOX = "Marca esta casilla para pagar."


@pytest.fixture
def maths(shelf):
    """A subject of 200 €, or 190 € with full payment."""
    return shelf.put("Cálculo", "200.00", lessons=3)


@pytest.fixture(autouse=True)
def _restore_sandbox():
    yield
    clear_faults()
    switch_wallet(available=True)


def wallet(visitor: Visitor) -> Locator:
    """The wallet's button."""
    frame = visitor.page.frame_locator(WALLET_FRAME)
    return frame.get_by_role("button", name="Pagar con Cartera de prueba")


def sheet(visitor: Visitor) -> FrameLocator:
    return visitor.page.frame_locator(SHEET_FRAME)


def open_wallet(visitor: Visitor, euros: str) -> FrameLocator:
    """Press the wallet's button, and wait for its sheet with this amount."""
    visitor.press(wallet(visitor))
    opened = sheet(visitor)
    heading = opened.get_by_role("heading", name=re.compile(f"^Pagar {nbsp(euros)}$"))
    expect(heading).to_be_visible()
    return opened


def authorize(visitor: Visitor, euros: str, *, card: str = GOOD_CARD, contact: bool = True) -> None:
    """Pay in the sheet. `contact`: it asks for e-mail and phone."""
    opened = open_wallet(visitor, euros)
    opened.get_by_label("Tarjeta").select_option(card)
    if contact:
        opened.get_by_label("Email").fill(visitor.email)
    else:
        expect(opened.get_by_label("Email")).to_be_hidden()
    visitor.press(opened.get_by_role("button", name=re.compile("^Pagar")))


def test_wallet_pays_from_the_cart_in_two_presses(phone, maths, email):
    phone.open_catalogue(maths.degree).fill_cart([maths])
    phone.open_dialog()
    expect(phone.dialog).to_contain_text(re.compile(f"{maths.name}.*{nbsp('Total: 190,00 €')}"))
    # The wallet opens only after the boxes are ticked.
    phone.press(wallet(phone))
    expect(phone.adult).to_be_focused()
    expect(phone.dialog.get_by_text(TICK_THIS_BOX)).to_have_count(2)
    phone.tick(phone.adult)
    phone.press(wallet(phone))
    expect(phone.waiver).to_be_focused()
    expect(phone.dialog.get_by_text(TICK_THIS_BOX)).to_have_count(1)
    expect(phone.page.locator(SHEET_FRAME)).to_have_count(0)
    phone.tick(phone.waiver)
    said = phone.dialog.locator("label", has=phone.adult).inner_text()
    phone.assert_accessible()

    # A canceled sheet leaves everything as it was.
    phone.press(open_wallet(phone, "190,00 €").get_by_role("button", name="Cancelar"))
    expect(phone.page.locator(SHEET_FRAME)).to_have_count(0)
    expect(phone.dialog.get_by_role("heading", name="Tus datos")).to_be_visible()
    expect(phone.adult).to_be_checked()
    assert not orders_of(email)
    authorize(phone, "190,00 €")

    phone.expect_success()
    order = only_order(email)
    assert order.status == Order.Status.PAID
    assert order.total_amount == Decimal("190.00")
    assert (order.email, order.phone) == (email, "+34600123123")
    assert [payment["amount"] for payment in payments_at_provider(order)] == [19000]
    # The consents record what the page said.
    consents = Consent.objects.filter(order_id=order.pk)
    assert dict(consents.values_list("kind", "wording")) == {
        kind: WALLET_WORDINGS[kind]
        for kind in (
            Consent.Kind.TERMS,
            Consent.Kind.PRIVACY,
            Consent.Kind.ADULT,
            Consent.Kind.WITHDRAWAL,
        )
    }
    said = re.sub(r"\s*\(se abre en otra pestaña\)\s*", " ", said)
    assert said == WALLET_WORDINGS[Consent.Kind.ADULT]


def test_wallet_above_the_card_form_uses_the_contact_data_of_step_1(visitor, maths, email):
    visitor.to_step_2(maths.degree, [maths])
    visitor.press(wallet(visitor))
    expect(visitor.adult).to_be_focused()
    visitor.tick_boxes()
    visitor.open_card_form("190,00 €")

    authorize(visitor, "190,00 €", contact=False)

    visitor.expect_success()
    order = only_order(email)
    assert order.status == Order.Status.PAID
    # The card form and the wallet share one payment.
    assert [payment["status"] for payment in payments_at_provider(order)] == ["succeeded"]
    privacy = Consent.objects.get(order_id=order.pk, kind=Consent.Kind.PRIVACY)
    assert privacy.wording == "Acepto la política de privacidad"


def test_declined_wallet_shows_the_sentence_of_the_card_form_and_another_card_is_challenged(
    phone, maths, email
):
    phone.watch.expect("status of 402.*/confirm")
    phone.open_catalogue(maths.degree).fill_cart([maths]).open_dialog().tick_boxes()

    authorize(phone, "190,00 €", card=DECLINED_CARD)

    phone.expect_step_2()
    phone.expect_declined(BANK_SAID_NO)
    expect(phone.dialog).to_contain_text(email)
    phone.expect_card_form()
    # Step 2 asks for its own boxes.
    expect(phone.adult).not_to_be_checked()
    phone.tick_boxes()
    authorize(phone, "190,00 €", card=CHALLENGED_CARD, contact=False)
    phone.press(phone.challenge.get_by_role("button", name="Autorizar pago"))
    phone.expect_success()
    order = only_order(email)
    assert order.status == Order.Status.PAID
    assert [payment["status"] for payment in payments_at_provider(order)] == ["succeeded"]


def test_price_that_changed_meanwhile_is_shown_and_nothing_is_charged(visitor, maths, email):
    visitor.watch.expect("status of 409.*/api/process-checkout")
    visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog().tick_boxes()
    opened = open_wallet(visitor, "190,00 €")
    opened.get_by_label("Email").fill(email)
    maths.final_price = Decimal("300.00")
    maths.save()

    opened.get_by_role("button", name=re.compile("^Pagar")).click()

    visitor.expect_step_2()
    assert not orders_of(email)
    visitor.tick_boxes()
    # The new total has to be accepted before any way to pay.
    visitor.press(wallet(visitor))
    expect(visitor.page.locator(SHEET_FRAME)).to_have_count(0)
    visitor.accept_price("285,00 €")
    authorize(visitor, "285,00 €", contact=False)
    visitor.expect_success()
    assert only_order(email).total_amount == Decimal("285.00")


def test_code_of_the_link_is_applied_before_a_wallet_is_offered(visitor, maths):
    visitor.open_catalogue(maths.degree, "codigo=BIENVENIDA10").fill_cart([maths]).open_dialog()
    expect(visitor.field("Email")).to_be_visible()
    expect(visitor.page.locator(".wallets")).to_have_count(0)

    visitor.fill_contact()

    expect(visitor.dialog.locator("dl")).to_contain_text("Código promocional−19,00 €")
    visitor.tick_boxes()
    open_wallet(visitor, "171,00 €")


def test_instalments_by_wallet_save_its_card_for_the_later_charges(visitor, maths, email):
    visitor.to_step_2(maths.degree, [maths])
    visitor.press(visitor.dialog.get_by_role("radio", name=re.compile("^3 plazos")))
    visitor.tick_boxes()
    opened = open_wallet(visitor, "66,68 €")
    expect(opened.get_by_text("Se guardará la tarjeta para los pagos siguientes.")).to_be_visible()

    opened.get_by_role("button", name=re.compile("^Pagar")).click()

    visitor.expect_success()
    order = only_order(email)
    assert order.status == Order.Status.PAYING
    [payment] = payments_at_provider(order)
    assert (payment["amount"], payment["setup_future_usage"]) == (6668, "off_session")
    assert order.card_reference == payment["payment_method"]


def test_lost_connection_and_a_provider_that_is_away_are_reported_as_with_a_card(
    visitor, maths, email
):
    visitor.watch.expect("request: .*/api/process-checkout")
    visitor.watch.expect("status of 502.*/api/process-checkout")
    visitor.watch.expect("net::ERR_CONNECTION_FAILED")
    visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog().tick_boxes()
    visitor.page.route("**/api/process-checkout", lambda route: route.abort("connectionfailed"))
    authorize(visitor, "190,00 €")
    lost = "La conexión no responde. No se ha cobrado nada: compruébala e inténtalo otra vez."
    expect(visitor.toast("Error en el pago", lost)).to_be_visible()
    assert not orders_of(email)
    visitor.page.unroute("**/api/process-checkout")
    visitor.tick_boxes()
    set_fault(calls="POST /v1/payment_intents", do="error_500", nth=[1, 2])

    authorize(visitor, "190,00 €", contact=False)

    sentence = "No se pudo preparar el pago. Inténtalo de nuevo."
    expect(visitor.toast("Error", sentence)).to_be_visible()
    expect(visitor.dialog.get_by_role("alert")).to_have_text(sentence)
    authorize(visitor, "190,00 €", contact=False)
    visitor.expect_success()
    assert only_order(email).status == Order.Status.PAID


def test_unusable_phone_of_the_wallet_is_corrected_in_step_1(visitor, maths, email):
    visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog().tick_boxes()
    opened = open_wallet(visitor, "190,00 €")
    opened.get_by_label("Email").fill(email)
    opened.get_by_label("Teléfono").fill("12345")

    opened.get_by_role("button", name=re.compile("^Pagar")).click()

    expect(visitor.field("Teléfono")).to_be_focused()
    expect(visitor.field("Email")).to_have_value(email)
    expect(visitor.dialog).to_contain_text("El teléfono debe tener al menos 9 dígitos.")
    assert not orders_of(email)
    visitor.field("Teléfono").fill("600123123")
    visitor.press(visitor.dialog.get_by_role("button", name="Continuar"))
    visitor.expect_step_2()


def test_keyboard_alone_pays_by_wallet(visitor, maths, email):
    visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog()
    keyboard = visitor.page.keyboard
    for box in (visitor.adult, visitor.waiver):
        tab_to(visitor, box)
        keyboard.press("Space")
        expect(box).to_be_checked()
    tab_to(visitor, wallet(visitor))
    keyboard.press("Enter")
    opened = sheet(visitor)
    expect(opened.get_by_role("heading", name=re.compile("^Pagar"))).to_be_focused()

    keyboard.press("Escape")

    expect(visitor.page.locator(SHEET_FRAME)).to_have_count(0)
    expect(wallet(visitor)).to_be_focused()
    keyboard.press("Enter")
    tab_to(visitor, opened.get_by_label("Email"))
    keyboard.press("Control+A")
    keyboard.type(email)
    keyboard.press("Enter")
    visitor.expect_success()
    assert only_order(email).status == Order.Status.PAID


def test_without_a_wallet_nothing_is_shown_and_nothing_moves(visitor, maths):
    switch_wallet(available=False)
    visitor.open_catalogue(maths.degree).fill_cart([maths])
    with visitor.page.expect_response("**/v3/frame/express"):
        visitor.open_dialog()
    expect(visitor.page.locator(WALLET_FRAME)).to_be_attached()
    expect(visitor.box("He leído y acepto")).to_have_count(0)
    expect(visitor.dialog.get_by_text("Pedido con obligación de pago.")).to_have_count(0)

    def at_the_top() -> bool:
        lead = visitor.dialog.get_by_text("Te enviaremos a este email").bounding_box()
        body = visitor.dialog.locator(".modal__body").bounding_box()
        assert lead is not None
        assert body is not None
        return lead["y"] - body["y"] < 30

    wait_until(visitor.page, at_the_top)
    visitor.fill_contact()
    expect(visitor.dialog.get_by_text("o paga con otro medio")).to_have_count(0)


def test_wallet_does_not_push_down_a_form_that_is_being_filled_in(visitor, maths):
    held = HeldRequests(visitor.page, "**/v3/frame/express")
    visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog()
    expect(visitor.page.locator(WALLET_FRAME)).to_be_attached()
    held.first()
    field = visitor.field("Email")
    field.click()
    before = field.bounding_box()

    held.release()

    button = visitor.page.frame_locator(WALLET_FRAME).locator("#pay:not([hidden])")
    expect(button).to_be_attached()
    assert field.bounding_box() == before
    visitor.page.unroute("**/v3/frame/express")
    visitor.fill_contact()
    # In step 2 it stands below the boxes, so that it moves nothing.
    expect(wallet(visitor)).to_be_visible()


def test_recovered_order_is_paid_by_wallet(visitor, maths, email):
    link = save_for_later(email, whole(maths), total="190.00")
    visitor.page.goto(link)
    visitor.tick_boxes()

    authorize(visitor, "190,00 €", contact=False)

    visitor.page.wait_for_url("**/")
    assert only_order(email).status == Order.Status.PAID


def test_wallet_pays_a_gift_once_its_data_are_complete(visitor, maths, email):
    visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog()
    expect(wallet(visitor)).to_be_visible()
    visitor.tick_boxes()
    visitor.tick(visitor.box("Es un regalo"))
    visitor.field("Email de quien lo recibe").fill(f"leo-{email}")

    visitor.press(wallet(visitor))

    expect(visitor.field("De parte de")).to_be_focused()
    expect(visitor.page.locator(SHEET_FRAME)).to_have_count(0)
    visitor.field("De parte de").fill("Bruno")
    authorize(visitor, "190,00 €")
    visitor.expect_success()
    assert Gift.objects.filter(order=only_order(email)).exists()
