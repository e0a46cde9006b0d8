"""Saved carts and reminders: the recovery link is paid on the same or on another device."""

import os
import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Request, expect

from apps.catalogue.models import Lesson
from apps.orders.checkout.remind import queue_due_reminders
from apps.orders.models import Order
from tests.browser.conftest import PHONE
from tests.browser.records import (
    CONFIRMATION,
    SAVED,
    bank_undecided,
    check_out,
    clear_faults,
    eventually,
    link_in,
    mail_with,
    mails_to,
    only_order,
    payments_at_provider,
    save_for_later,
    set_fault,
)
from tests.browser.visitor import DECLINED_CARD, SLOW_CARD, Visitor, expect_beside
from tests.helpers.factories import make_promo, single, whole

pytestmark = pytest.mark.usefixtures("money_adds_up")

REMINDER = "Dejaste tu compra a medias"
HOME = re.compile(r"^[^/]+//[^/]+/$")


def expect_paid(visitor: Visitor) -> None:
    """The home page with the toast of the payment, which is shown after the redirect."""
    toast = visitor.toast("¡Pago exitoso!", "Tu matrícula ha sido procesada correctamente")
    expect(toast).to_be_visible()
    expect(visitor.page).to_have_url(HOME)


def expect_already_paid(visitor: Visitor, link: str) -> None:
    """The link of a paid order shows neither the order nor a payment."""
    visitor.page.goto(link)
    heading = visitor.page.get_by_role("heading", name="Esta compra ya está pagada")
    expect(heading).to_be_visible()
    classroom = visitor.page.get_by_role("main").get_by_role("link", name="Ir al aula virtual")
    expect(classroom).to_have_attribute("href", re.compile("/aula$"))
    expect(visitor.pay_button()).to_have_count(0)
    expect(visitor.page.get_by_text(visitor.email)).to_have_count(0)


def test_cart_saved_in_the_dialog_is_paid_in_the_same_browser_and_the_link_does_not_leak(
    visitor, phone, maths, email
):
    visitor.watch.expect("status of 409.*/api/orders/recover")
    visitor.to_step_2(maths.degree, [maths])
    visitor.dialog.get_by_role("button", name="Guardar para más tarde").click()
    expect(visitor.dialog.get_by_role("heading", name="Compra guardada")).to_be_visible()
    expect(visitor.dialog.get_by_text("No se ha cobrado nada.")).to_be_visible()
    saved = only_order(email)
    assert (saved.status, saved.saved_for_later) == (Order.Status.CART, True)
    assert saved.customer_reference == ""
    link = link_in(SAVED, email)
    (token,) = parse_qs(urlsplit(link).query)["token"]
    requests: list[Request] = []
    visitor.page.on("request", lambda request: requests.append(request))

    visitor.page.goto(link)
    visitor.buy("190,00 €")
    expect_paid(visitor)

    paid = only_order(email)
    assert (paid.pk, paid.status, paid.total_cents) == (saved.pk, Order.Status.PAID, 19_000)
    expect_already_paid(visitor, link)
    expect_already_paid(phone, link)
    assert len(payments_at_provider(paid)) == 1
    assert_token_not_sent_elsewhere(requests, token)
    assert_token_not_stored(token)


def test_reload_with_an_open_card_form_offers_to_continue_or_to_discard_the_purchase(
    visitor, maths
):
    page = visitor.page
    offer = page.get_by_role("status").filter(has_text="Tienes una compra a medias")
    visitor.to_step_2(maths.degree, [maths]).tick_boxes().open_card_form("190,00 €")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.reload()
    visitor.wait_for_catalogue()
    expect(offer).to_be_in_viewport(ratio=1)
    # It is in no column of the page's grid.
    expect_beside(page.locator(".subject-request"), visitor.cart)
    visitor.fill_cart([maths])
    expect(offer).to_have_count(0)
    visitor.press(visitor.cart.get_by_role("button", name="Vaciar carrito"))
    offer.get_by_role("link", name="Continuar").click()
    expect(page.get_by_text(maths.name)).to_be_visible()

    page.go_back()
    offer.get_by_role("button", name="Descartar").click()
    expect(offer).to_have_count(0)
    page.reload()
    visitor.wait_for_catalogue()
    expect(offer).to_have_count(0)


def assert_token_not_sent_elsewhere(requests: list[Request], token: str) -> None:
    """The token is in no referrer and is not sent to another origin, such as Stripe."""
    shop = urlsplit(settings.SITE_URL).netloc
    provider = urlsplit(settings.STRIPE_API_BASE).netloc
    assert {shop, provider} <= {urlsplit(request.url).netloc for request in requests}
    for request in requests:
        assert token not in request.headers.get("referer", ""), request.url
        if urlsplit(request.url).netloc != shop:
            assert token not in f"{request.url} {request.post_data or ''}"


def assert_token_not_stored(token: str) -> None:
    """The token is in no file that the shop writes except the database and the mail."""
    var = Path(os.environ["VAR_DIR"])
    log = var / "stack.log"
    eventually(lambda: "Conflict: /api/orders/recover" in log.read_text(encoding="utf-8"))
    holders = [
        path
        for path in var.rglob("*")
        if path.is_file()
        and path.parent.name != "mail"
        and not path.name.startswith("db.sqlite3")
        and token.encode() in path.read_bytes()
    ]
    assert holders == []


def test_buyer_who_hesitated_changes_plan_code_line_and_address_and_pays(
    new_visitor, shelf, maths, email
):
    visitor = new_visitor(viewport=PHONE, has_touch=True)
    lesson = shelf.put("Física", "180.00", lesson_price="50.00").lessons.get(title="PEC 2")
    promo = make_promo(f"MENOS{maths.pk}", kind="FIJO", value="20")
    link = save_for_later(email, whole(maths), single(lesson), total="237.50")
    before = Order.objects.values().get(pk=only_order(email).pk)

    visitor.page.goto(link)
    order = visitor.page.get_by_role("region", name="Tu matrícula")
    expect(order.get_by_text("83,34 € + 2 × 83,33 €")).to_be_visible()
    expect(visitor.page.get_by_role("button", name="Pagar por transferencia")).to_be_visible()
    visitor.press(order.get_by_role("button", name="Quitar PEC 2 del pedido"))
    expect(visitor.pay_button("190,00 €")).to_be_visible()
    expect(order.get_by_role("button", name="Quitar")).to_have_count(0)
    visitor.press(order.get_by_role("radio", name="3 plazos"))
    expect(visitor.pay_button("66,68 €")).to_be_visible()
    order.get_by_label("Código promocional").fill(promo.code.lower())
    visitor.press(order.get_by_role("button", name="Aplicar"))
    expect(visitor.pay_button("60,00 €")).to_be_visible()
    expect(order).to_contain_text(f"Código {promo.code} aplicado")
    visitor.assert_accessible()
    assert Order.objects.values().get(pk=before["id"]) == before, "looking at prices stores nothing"

    visitor.press(order.get_by_role("button", name="Cambiar tus datos"))
    expect(visitor.page.get_by_label("Email")).to_be_focused()
    visitor.assert_accessible()
    visitor.press(visitor.page.get_by_role("button", name="Volver sin cambiar"))
    expect(order).to_contain_text(email)
    visitor.press(order.get_by_role("button", name="Cambiar tus datos"))
    visitor.page.get_by_label("Email").fill(f"otra.{email}")
    for box in visitor.page.get_by_role("checkbox").all():
        visitor.tick(box)
    visitor.press(visitor.page.get_by_role("button", name="Continuar"))
    expect(order).to_contain_text(f"otra.{email}")
    visitor.buy("60,00 €")

    expect_paid(visitor)
    paid = only_order(f"otra.{email}")
    assert paid.pk == before["id"]
    assert (paid.status, paid.total_cents, paid.payment_type) == ("paying", 18_000, "installment")
    assert [line.name for line in paid.lines.all()] == [maths.name]
    mail_with(CONFIRMATION, f"otra.{email}")


def test_order_open_on_two_devices_is_paid_once(visitor, phone, maths, email):
    phone.watch.expect("status of 409.*/api/process-checkout")
    link = save_for_later(email, whole(maths), total="190")
    phone.page.goto(link)
    phone.tick_boxes()
    visitor.page.goto(link)
    visitor.buy("190,00 €")
    expect_paid(visitor)

    phone.press(phone.pay_button("190,00 €"))

    text = "No se ha cobrado nada más. La confirmación está en tu email."
    expect(phone.toast("Este pedido ya está pagado", text)).to_be_visible()
    assert only_order(email).payments.filter(status="succeeded").count() == 1
    assert len(payments_at_provider(only_order(email))) == 1


def test_price_that_changes_while_the_recovery_page_is_open_is_shown_and_confirmed(
    phone, maths, email
):
    phone.watch.expect("status of 409.*/api/process-checkout")
    phone.page.goto(save_for_later(email, whole(maths), total="190"))
    phone.tick_boxes()
    maths.final_price = 220
    maths.save()

    phone.press(phone.pay_button("190,00 €"))

    notice = phone.page.get_by_role("alert").filter(has_text="El precio ha cambiado.")
    expect(notice).to_be_in_viewport(ratio=1)
    expect(notice).to_contain_text("El total es ahora 209,00 €.")
    order = phone.page.get_by_role("region", name="Tu matrícula")
    expect(order.get_by_role("listitem").filter(has_text=maths.name)).to_contain_text("220,00 €")
    assert not only_order(email).payments.exists(), "nothing is asked of the bank unconfirmed"
    phone.accept_price("209,00 €").open_card_form("209,00 €").type_card()
    phone.press(phone.pay_button("209,00 €"))
    expect_paid(phone)
    assert only_order(email).total_cents == 20_900


def test_lesson_that_expires_while_the_recovery_page_is_open_is_named_and_removed(
    visitor, shelf, maths, email
):
    visitor.watch.expect("status of 409.*/api/process-checkout")
    lesson = shelf.put("Física", "180.00", lesson_price="50.00").lessons.get(title="PEC 2")
    link = save_for_later(email, whole(maths), single(lesson), total="237.50")
    visitor.page.goto(link)
    visitor.tick_boxes()
    lesson.status = Lesson.Status.EXPIRED
    lesson.save()

    visitor.pay_button("237,50 €").click()

    gone = visitor.page.get_by_role("alert").filter(has_text="Ya no se puede comprar")
    expect(gone).to_contain_text("PEC 2")
    gone.get_by_role("button", name="Quitar del pedido").click()
    changes = visitor.page.get_by_role("region", name="Tu matrícula").locator(".notice")
    expect(changes).to_contain_text("PEC 2: ya no está disponible y no se incluye.")
    visitor.open_card_form("190,00 €").type_card()
    visitor.press(visitor.pay_button("190,00 €"))
    expect_paid(visitor)
    assert [line.name for line in only_order(email).lines.all()] == [maths.name]


def test_recovery_page_without_any_item_left_links_to_the_catalogue(visitor, shelf, email):
    subject = shelf.put("Física", "180.00", lesson_price="50.00")
    link = save_for_later(email, single(*subject.lessons.all()), total="95")
    subject.lessons.update(status=Lesson.Status.EXPIRED)

    visitor.page.goto(link)

    heading = visitor.page.get_by_role("heading", name="Nada de lo que guardaste sigue disponible")
    expect(heading).to_be_visible()
    names = visitor.page.locator(".recovery").get_by_role("listitem")
    expect(names).to_have_text([f"{subject.name}: PEC 1", f"{subject.name}: PEC 2"])
    expect(visitor.pay_button()).to_have_count(0)
    visitor.assert_accessible()
    visitor.page.get_by_role("link", name="Ver el catálogo").click()
    visitor.wait_for_catalogue()


def move_back(order: Order, hours: int) -> None:
    """Make the order look abandoned for so many hours, and queue the reminders that are due."""
    moment = timezone.now() - timedelta(hours=hours, minutes=1)
    Order.objects.filter(pk=order.pk).update(updated_at=moment, created_at=moment)
    queue_due_reminders()


def reminders(email: str) -> int:
    return sum(mail["Subject"] == REMINDER for mail in mails_to(email))


def test_one_reminder_is_mailed_for_an_unpaid_cart_and_its_link_pays_the_order(phone, maths, email):
    # The visitor agrees to reminders and leaves while the card form is open.
    left = check_out(email, whole(maths), total="190", remindersAccepted=True)
    order = only_order(email)
    move_back(order, 24)

    phone.page.goto(link_in(REMINDER, email))
    phone.buy("190,00 €")
    expect_paid(phone)

    assert only_order(email).pk == left["order_id"]
    mail_with(CONFIRMATION, email)
    move_back(order, 72)
    # A second reminder would be sent after this mail.
    check_out(f"otra.{email}", whole(maths), total="190", save_for_later=True)
    mail_with(SAVED, f"otra.{email}")
    assert reminders(email) == 1


def test_reminders_can_be_stopped_on_a_phone_and_the_cart_is_kept(phone, maths, email):
    path = save_for_later(email, whole(maths), total="190")
    order = only_order(email)
    move_back(order, 24)

    phone.page.goto(link_in(REMINDER, email, "/avisos/baja"))
    expect(phone.page.get_by_role("heading", name="¿Dejamos de avisarte?")).to_be_visible()
    phone.assert_accessible()
    assert only_order(email).reminders_stopped_at is None, "looking ends nothing"
    phone.page.get_by_role("button", name="No quiero más avisos").tap()
    expect(phone.page.get_by_role("heading", name="Ya no te avisaremos")).to_be_visible()
    phone.assert_accessible()

    assert only_order(email).reminders_stopped_at is not None
    move_back(order, 72)
    phone.page.goto(path)
    phone.buy("190,00 €")
    expect_paid(phone)
    assert reminders(email) == 1


@pytest.fixture
def _provider_is_whole_again():
    yield
    clear_faults()


@pytest.mark.usefixtures("_provider_is_whole_again")
def test_failed_payment_on_the_recovery_page_shows_an_error_and_the_next_attempt_pays(
    visitor, maths, email
):
    visitor.watch.expect("status of 502.*/api/process-checkout")
    visitor.watch.expect("status of 402")
    visitor.page.goto(save_for_later(email, whole(maths), total="190"))
    visitor.tick_boxes()
    # Stripe's library retries once by itself if there is no response.
    set_fault(calls="POST /v1/payment_intents", do="error_500", nth=[1, 2])
    visitor.pay_button("190,00 €").click()
    not_prepared = "No se pudo preparar el pago. Inténtalo de nuevo."
    expect(visitor.toast("Error", not_prepared)).to_be_visible()
    expect(visitor.page.get_by_role("alert").filter(has_text=not_prepared)).to_be_visible()
    clear_faults()

    visitor.open_card_form("190,00 €").type_card(DECLINED_CARD).pay_button("190,00 €").click()
    refused = visitor.page.get_by_role("alert").filter(has_text="tarjeta")
    expect(refused).not_to_be_empty()
    expect(visitor.toast("Error en el pago", refused.inner_text())).to_be_visible()
    assert only_order(email).status == Order.Status.CART

    visitor.type_card().pay_button("190,00 €").click()
    expect_paid(visitor)
    assert len(payments_at_provider(only_order(email))) == 1


def test_saved_order_in_instalments_starts_with_its_first_payment(phone, maths, email):
    path = save_for_later(email, whole(maths), total="200", payment_type="installment")

    phone.page.goto(path)
    order = phone.page.get_by_role("region", name="Tu matrícula")
    expect(phone.page.get_by_role("radio", name="3 plazos")).to_be_checked()
    expect(order).to_contain_text("Hoy pagas66,68 €")
    phone.buy("66,68 €")

    expect_paid(phone)
    assert only_order(email).status == Order.Status.PAYING


def test_saved_order_with_a_total_of_0_needs_no_card(visitor, maths, email):
    visitor.page.goto(save_for_later(email, whole(maths), total="0", promo_code="GRATIS100"))

    visitor.tick_boxes()
    visitor.page.get_by_role("button", name="Confirmar sin pagar").click()

    expect_paid(visitor)
    assert (only_order(email).status, only_order(email).total_cents) == (Order.Status.PAID, 0)


def test_recovery_page_says_that_the_bank_is_still_confirming(new_visitor, maths, email):
    visitor = new_visitor(color_scheme="dark")
    link = save_for_later(email, whole(maths), total="190")
    visitor.page.goto(link)

    with bank_undecided():
        visitor.buy("190,00 €", SLOW_CARD)

        heading = visitor.page.get_by_role("heading", name="Tu banco está confirmando el pago")
        expect(heading).to_be_visible()
        visitor.page.goto(link)
        expect(visitor.page.get_by_text("Tu banco todavía está mirando el pago")).to_be_visible()
        expect(visitor.page.get_by_text("si lo rechaza, no se cobra nada")).to_be_visible()
        expect(visitor.pay_button()).to_have_count(0)
        visitor.assert_accessible()
    eventually(lambda: only_order(email).status == Order.Status.PAID)
