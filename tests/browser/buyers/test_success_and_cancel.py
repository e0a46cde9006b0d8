"""The pages /success and /cancel, and the post-payment view of the dialog."""

import json
import re
import time

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.catalogue.models import Subject
from apps.classroom.models import Enrolment, Provisioning
from apps.classroom.provisioning import RESEND_COOLDOWN
from apps.core.models import SiteSettings
from apps.orders.models import Order
from tests.browser.records import (
    ACCESS,
    access_of,
    check_out,
    clear_faults,
    confirm,
    eventually,
    mails_to,
    only_order,
    pay_elsewhere,
    payments_at_provider,
    save_for_later,
    set_fault,
    switch_webhooks,
)
from tests.helpers.factories import whole

BY_PAYMENT = "**/api/orders/by-payment?*"
COMPLETE = "**/api/complete-payment"


def access_mails(email: str) -> int:
    return sum(str(mail["Subject"]).startswith(ACCESS) for mail in mails_to(email))


# ---------------------------------------------------------------- /success


def test_success_page_shows_processing_for_2_s_then_reference_ord_real_amount_and_item_count(
    visitor, maths, email
):
    reference = pay_elsewhere(email, whole(maths), total="190")
    began = time.monotonic()
    visitor.page.goto(
        f"/success?payment_intent_id={reference}&payment_intent_client_secret=secreto"
    )

    expect(visitor.page.get_by_role("heading", name="Procesando tu pago...")).to_be_visible()
    expect(visitor.page.get_by_role("heading", name="Pago exitoso")).to_be_visible()
    assert time.monotonic() - began >= 2

    facts = visitor.page.locator(".payment-result__facts")
    expect(facts).to_contain_text(f"ReferenciaORD-{reference[-8:]}")
    today = timezone.localdate()
    expect(facts).to_contain_text(re.compile(rf"{today.day} de [a-z]+ de {today.year}"))
    expect(facts).to_contain_text(f"Compra1 artículo{maths.name}")
    expect(facts).to_contain_text("Importe pagado190,00 €")
    expect(visitor.page.get_by_text("Credenciales enviadas a tu email", exact=True)).to_be_visible()
    # The page must not reveal the e-mail address to others who have the link.
    expect(visitor.page.get_by_text("a•••@example.com")).to_be_visible()
    expect(visitor.page.get_by_text(email)).to_have_count(0)
    classroom = visitor.page.get_by_role("link", name="Ir al aula virtual")
    expect(classroom).to_have_attribute("href", "/aula")
    profile = visitor.page.get_by_role("link", name="Ver mi perfil")
    expect(profile).to_have_attribute("href", "/aula/perfil")
    support = SiteSettings.current().support_email
    main = visitor.page.get_by_role("main")
    expect(main.get_by_role("link", name=support)).to_have_attribute("href", f"mailto:{support}")
    expect(visitor.page).to_have_url(re.compile(rf"/success\?payment_intent_id={reference}$"))


def test_success_page_of_a_plan_says_when_the_other_instalments_are_charged(visitor, maths, email):
    reference = pay_elsewhere(email, whole(maths), total="200", payment_type="installment")
    visitor.page.goto(f"/success?payment_intent_id={reference}")

    expect(visitor.page.get_by_text("de 200,00 €, en 3 plazos")).to_be_visible()
    expect(visitor.page.get_by_text("uno cada 20 días")).to_be_visible()


def test_success_page_reports_the_payment_to_the_server(visitor, stack, maths, email):
    started = check_out(email, whole(maths), total="190")
    stack.stop("worker", "worker-provider")  # The workers of access and of webhooks.
    reference = started["payment_intent_id"]
    stored = {"reference": reference, "orderId": started["order_id"], "token": started["token"]}
    visitor.page.add_init_script(f"sessionStorage.payment = JSON.stringify({json.dumps(stored)})")
    try:
        confirm(started)
        visitor.page.goto(f"/success?payment_intent_id={reference}")

        expect(visitor.page.get_by_role("heading", name="Pago exitoso")).to_be_visible()
        assert only_order(email).status == Order.Status.PAID
        # While the access is being prepared, the page says so.
        pending = visitor.page.get_by_text("Estamos preparando tu acceso", exact=True)
        expect(pending).to_be_visible()
        assert access_of(only_order(email)) == Provisioning.Status.PENDING
        # The buyer corrects the address, and then goes on to a link.
        visitor.page.get_by_role("button", name="¿No es tu email? Corrígelo").click()
        visitor.page.get_by_label("Tu email, bien escrito").fill(f"b.{email}")
        visitor.page.get_by_role("button", name="Enviar a este email").click()
        expect(visitor.page.get_by_text("pulsa allí el enlace")).to_be_focused()
        profile = visitor.page.get_by_role("link", name="Ver mi perfil")
        profile.focus()
    finally:
        stack.start("worker", "worker-provider")

    sent = visitor.page.get_by_text("Credenciales enviadas a tu email", exact=True)
    expect(sent).to_be_visible()
    expect(profile).to_be_focused()


def test_success_page_says_that_the_access_failed_but_the_payment_succeeded(visitor, maths, email):
    reference = pay_elsewhere(email, whole(maths), total="190")
    Provisioning.objects.filter(order_id=only_order(email).pk).update(
        status=Provisioning.Status.FAILED
    )

    visitor.page.goto(f"/success?payment_intent_id={reference}")

    main = visitor.page.get_by_role("main")
    expect(main).to_contain_text("Error al procesar la autenticación.")
    expect(main).to_contain_text("El pago se ha cobrado correctamente")
    expect(main).to_contain_text("Nuestro equipo recibirá un aviso")
    expect(main.get_by_role("link", name="Ir al aula virtual")).to_have_attribute("href", "/aula")
    expect(main.get_by_text("Credenciales enviadas a tu email")).to_have_count(0)


# The sentences of the other errors: static_src/islands/payment/paymentResult.test.ts.
def test_success_page_without_a_connection_says_so_and_can_ask_again(visitor):
    visitor.watch.expect("net::ERR_FAILED")
    visitor.watch.expect("status of 404.*/api/complete-payment")
    visitor.page.route(BY_PAYMENT, lambda route: route.abort())

    visitor.page.goto("/success?payment_intent_id=pi_nadie")

    sentence = "Error de conexión. Verifica tu conexión a internet."
    expect(visitor.page.get_by_text(sentence, exact=True)).to_be_visible()
    expect(visitor.page.get_by_role("button", name="Volver a comprobar")).to_be_visible()


def test_success_page_of_an_unpaid_payment_redirects_to_cancel(visitor, maths, email):
    visitor.watch.expect("status of 409.*/api/complete-payment")
    started = check_out(email, whole(maths), total="190")

    visitor.page.goto(f"/success?payment_intent_id={started['payment_intent_id']}")

    expect(visitor.page).to_have_url(re.compile("/cancel$"))
    assert only_order(email).status == Order.Status.CART


# ---------------------------------------------------------------- /cancel


def test_cancel_page_links_to_the_saved_cart(visitor, maths, email):
    link = save_for_later(email, whole(maths), total="190")
    visitor.page.goto(link.replace("/complete-payment", "/cancel"))

    visitor.page.get_by_role("link", name="Recuperar mi carrito").click()

    expect(visitor.page.get_by_text(maths.name)).to_be_visible()
    expect(visitor.pay_button("190,00 €")).to_be_attached()


# ---------------------------------------------------------------- the post-payment dialog


def test_failed_completion_offers_3_email_resends_with_a_countdown_of_180_s_then_support(
    visitor, maths, email
):
    visitor.watch.expect("net::ERR_FAILED.*/api/complete-payment")
    visitor.page.route(COMPLETE, lambda route: route.abort())
    visitor.to_step_2(maths.degree, [maths]).buy("190,00 €")

    dialog = visitor.dialog
    expect(dialog.get_by_role("heading", name="Hemos recibido tu pago")).to_be_visible()
    expect(dialog.get_by_text("Tu pago se ha realizado correctamente")).to_be_visible()
    resend = dialog.get_by_role("button", name="Reenviar el email de verificación")
    resend.click()
    toast = visitor.toast("Error al enviar email", "No se pudo reenviar el email")
    expect(toast).to_be_visible()
    # The failed attempt counts for the page. The server has not received any request.
    visitor.page.unroute(COMPLETE)
    eventually(lambda: access_mails(email) == 1)

    visitor.page.clock.install()
    visitor.stop_the_clock()
    resend.click()
    expect(dialog.get_by_text("Te hemos enviado otra vez el email.")).to_be_visible()
    expect(resend).to_be_disabled()
    countdown = dialog.get_by_role("timer")
    expect(countdown).to_contain_text("Podrás volver a enviarlo en 3:00.")
    expect(countdown).to_contain_text("Intentos que quedan: 2.")
    eventually(lambda: access_mails(email) == 2)
    visitor.page.clock.run_for(61_000)
    expect(countdown).to_contain_text("Podrás volver a enviarlo en 1:59.")
    visitor.page.clock.run_for(118_000)
    expect(resend).to_be_disabled()
    visitor.page.clock.run_for(1_000)
    expect(resend).to_be_enabled()

    _end_the_wait_for_a_resend(email)
    resend.click()
    expect(countdown).to_contain_text("Intentos que quedan: 1.")
    visitor.page.clock.run_for(180_000)
    _end_the_wait_for_a_resend(email)
    resend.click()
    support = SiteSettings.current().support_email
    expect(dialog.get_by_role("link", name=support)).to_be_visible()
    expect(resend).to_have_count(0)
    eventually(lambda: access_mails(email) == 4)

    visitor.page.clock.resume()
    dialog.get_by_role("link", name="Ver mi compra").click()
    expect(visitor.page.get_by_role("heading", name="Procesando tu pago...")).to_be_visible()


def _end_the_wait_for_a_resend(email: str) -> None:
    """Move the stored time of the last e-mail back, because the server's clock can't be changed."""
    rows = Provisioning.objects.filter(order_id=only_order(email).pk)
    rows.update(last_resend_at=timezone.now() - RESEND_COOLDOWN)


@pytest.fixture
def _after_faults():
    yield
    clear_faults()
    switch_webhooks(enabled=True)


def expect_one_of_everything(address: str, subject: Subject) -> None:
    """One order, charge and enrolment; one mail each for order, access and friend code."""
    order = only_order(address)
    assert order.status == Order.Status.PAID
    statuses = [payment["status"] for payment in payments_at_provider(order)]
    assert statuses == ["succeeded"]
    eventually(lambda: len(mails_to(address)) == 3)
    assert Enrolment.objects.filter(student=order.student, subject=subject).count() == 1


@pytest.mark.usefixtures("_after_faults")
def test_payment_that_the_server_cannot_read_at_first_is_confirmed_on_the_success_page(
    visitor, maths, email
):
    visitor.watch.expect("status of 502.*/api/complete-payment")
    visitor.to_step_2(maths.degree, [maths])
    switch_webhooks(enabled=False)
    set_fault(calls="GET /v1/payment_intents/*", caller="server", do="error_429")

    visitor.buy("190,00 €")

    # The card was charged, so the dialog must not suggest to pay again.
    expect(visitor.dialog.get_by_role("heading", name="Hemos recibido tu pago")).to_be_visible()
    expect(visitor.dialog).to_contain_text("No hace falta que pagues otra vez.")
    order = only_order(email)
    assert order.status == Order.Status.CART
    visitor.page.goto(f"/success?payment_intent_id={order.stripe_payment_intent_id}")
    waiting = visitor.page.get_by_role("heading", name="Tu banco está confirmando el pago")
    expect(waiting).to_be_visible()
    clear_faults()

    visitor.expect_success()
    expect_one_of_everything(email, maths)
