"""Purchases from the catalogue to a paid order."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from playwright.sync_api import Locator, expect

from apps.catalogue.models import Lesson, Subject
from apps.classroom.models import Enrolment
from apps.core.dates import today
from apps.orders.models import Instalment, Order, Payment, PromoUse
from apps.students.models import Consent, Student
from tests.browser.records import (
    ACCESS,
    CONFIRMATION,
    bank_undecided,
    eventually,
    html_of,
    mail_with,
    mails_to,
    only_order,
    orders_of,
    payments_at_provider,
    subjects_of_mails,
    switch_webhooks,
    text_of,
)
from tests.browser.visitor import (
    BANK_DECLINED,
    CARD_FRAME,
    CHALLENGED_CARD,
    DECLINED_CARD,
    FORM_EXPIRED,
    SLOWLY_DECLINED_CARD,
    Visitor,
    in_both_modes,
    sign_in_staff,
)
from tests.helpers.factories import make_promo

pytestmark = pytest.mark.usefixtures("money_adds_up")

BANK_SAID_NO = "Tu banco ha rechazado la tarjeta. Prueba con otra o habla con tu banco."


@pytest.fixture
def maths(shelf):
    """A subject of 200 €, or 190 € with full payment."""
    return shelf.put("Cálculo", "200.00", lessons=3)


def expect_both_mails(address: str) -> None:
    eventually(lambda: len(mails_to(address)) == 3)
    first, second, third = subjects_of_mails(address)
    assert first.startswith(CONFIRMATION)
    assert second.startswith(ACCESS)
    assert third == "Tu código para invitar a amigos"


@in_both_modes
def test_purchase_of_two_subjects_and_a_lesson_with_promo_code_from_home_to_the_classroom(
    visitor, new_visitor, shelf, email
):
    maths, physics, chemistry = (
        shelf.put("Cálculo", "200.00", lessons=3),
        shelf.put("Física", "180.00"),
        shelf.put("Química", "160.00"),
    )
    page = visitor.page
    page.goto("/")
    page.get_by_role("link", name="Compra asignaturas").first.click()
    visitor.wait_for_catalogue()
    search = page.get_by_label("Buscar asignatura", exact=True)
    for subject in (maths, physics):
        search.fill(subject.name)
        visitor.select_all(subject).click()
    search.fill(chemistry.name)
    visitor.lesson_box(chemistry.lessons.get(title="PEC 2")).check()
    # 430 € minus 15 € for two complete subjects minus 5 % of 430 €.
    expect(visitor.cart_button).to_contain_text("3 artículos")
    expect(visitor.cart_button).to_contain_text("393,50 €")

    visitor.open_dialog().fill_contact().apply_code("bienvenida10")
    summary = visitor.dialog.locator("dl")
    expect(summary).to_contain_text("Código promocional−39,35 €")
    visitor.buy("354,15 €")
    reference = visitor.expect_success()

    facts = page.locator(".payment-result__facts")
    expect(facts).to_contain_text(f"ORD-{reference[-8:]}")
    expect(facts).to_contain_text("3 artículos")
    expect(facts).to_contain_text("354,15 €")
    expect(page.get_by_text("Credenciales enviadas a tu email", exact=True)).to_be_visible()

    order = only_order(email)
    assert order.status == Order.Status.PAID
    assert order.total_amount == Decimal("354.15")
    assert list(order.lines.values_list("name", "price")) == [
        (maths.name, Decimal(200)),
        (physics.name, Decimal(180)),
        (f"{chemistry.name}: PEC 2", Decimal(50)),
    ]
    assert list(order.discounts.values_list("name", "amount")) == [
        ("Descuento por volumen", Decimal(15)),
        ("Pago completo (5 %)", Decimal("21.50")),
        ("Código promocional", Decimal("39.35")),
    ]
    assert order.phone == "+34600123123"
    assert order.promo_uses.get().status == PromoUse.Status.USED
    assert set(Consent.objects.filter(order_id=order.pk).values_list("kind", flat=True)) == {
        Consent.Kind.TERMS,
        Consent.Kind.PRIVACY,
        Consent.Kind.ADULT,
        Consent.Kind.WITHDRAWAL,
    }
    assert [payment["amount"] for payment in payments_at_provider(order)] == [35415]

    expect_both_mails(email)
    confirmation = mail_with(CONFIRMATION, email)
    for part in (text_of(confirmation), html_of(confirmation)):
        for words in (maths.name, physics.name, "PEC 2", "39,35", "354,15", "desistimiento"):
            assert words in part

    _sees_the_order_in_the_admin(new_visitor(), order)
    _enters_the_classroom(new_visitor(), email, [maths, physics, chemistry])


def _sees_the_order_in_the_admin(carla: Visitor, order: Order) -> None:
    sign_in_staff(carla.page)
    expect(carla.page.get_by_role("button", name="Tu cuenta: admin")).to_be_visible()
    carla.page.goto(f"/admin/orders/order/?q={order.email}")
    row = carla.page.get_by_role("row").filter(has_text=order.email)
    expect(row).to_contain_text("Pagado")
    row.get_by_role("link").first.click()
    content = carla.page.locator("#content")
    expect(content).to_contain_text(order.email)
    expect(content).to_contain_text("354,15")
    for line in order.lines.all():
        expect(content).to_contain_text(line.name)


def _enters_the_classroom(student: Visitor, email: str, subjects: list[Subject]) -> None:
    link = re.search(r"https?://\S+/aula/acceso\?enlace=\S+", text_of(mail_with(ACCESS, email)))
    assert link is not None
    page = student.page
    page.goto(link[0])
    page.get_by_label("Nombre", exact=True).fill("Ana")
    page.get_by_label("Apellidos").fill("Muñoz")
    page.get_by_label("Contraseña nueva").fill("ñandú-veloz-27")
    page.get_by_label("Repite la contraseña").fill("ñandú-veloz-27")
    page.get_by_role("button", name="Guardar y entrar en el aula").click()
    expect(page).to_have_url(re.compile("/aula$"))
    expect(page.get_by_role("heading", name="Hola, Ana")).to_be_visible()
    for subject in subjects:
        expect(page.get_by_role("heading", level=2, name=subject.name)).to_be_visible()
    # The access link works only once.
    page.context.clear_cookies()
    student.watch.expect("status of 410")
    page.goto(link[0])
    expect(page.get_by_role("heading", name="El enlace ya no sirve")).to_be_visible()


def test_purchase_in_3_instalments_charges_the_first_without_the_full_payment_discount(
    visitor, shelf, email
):
    subjects = [shelf.put("Cálculo", "200.00"), shelf.put("Física", "180.00")]
    visitor.to_step_2(shelf.degree, subjects)
    # 380 € minus 15 € is 365 €, without the 5 %. The remainder is added to the first instalment.
    plan = visitor.dialog.get_by_role("radio", name="3 plazos")
    expect(visitor.dialog.get_by_text("121,68 € + 2 × 121,66 €", exact=True)).to_be_visible()
    expect(
        visitor.dialog.get_by_text(
            "Cada 20 días, sin intereses. Hoy 121,68 €; 121,66 € dentro de 20 y de 40 días.",
            exact=True,
        )
    ).to_be_visible()

    plan.check()
    summary = visitor.dialog.locator("dl")
    expect(summary).to_contain_text("365,00 €")
    expect(summary).to_contain_text("Hoy pagas121,68 €")
    visitor.buy("121,68 €")
    visitor.expect_success()

    expect(visitor.page.locator(".payment-result__facts")).to_contain_text(
        "121,68 € de 365,00 €, en 3 plazos"
    )
    order = only_order(email)
    assert order.status == Order.Status.PAYING
    rows = order.instalments.order_by("number").values_list("number", "amount", "due_on", "status")
    assert list(rows) == [
        (1, Decimal("121.68"), today(), Instalment.Status.PAID),
        (2, Decimal("121.66"), today() + timedelta(days=20), Instalment.Status.DUE),
        (3, Decimal("121.66"), today() + timedelta(days=40), Instalment.Status.DUE),
    ]
    (payment,) = payments_at_provider(order)
    assert (payment["amount"], payment["setup_future_usage"]) == (12168, "off_session")
    assert order.payments.get().payment_method.startswith("pm_")
    expect_both_mails(email)
    assert "Plazo 2: 121,66" in text_of(mail_with(CONFIRMATION, email))


def test_declined_card_and_rejected_challenge_charge_nothing_and_an_accepted_challenge_pays(
    visitor, maths, email
):
    visitor.watch.expect("status of 402")
    visitor.to_step_2(maths.degree, [maths]).buy("190,00 €", DECLINED_CARD)

    visitor.expect_declined(BANK_SAID_NO)
    assert only_order(email).status == Order.Status.CART
    assert mails_to(email) == []

    visitor.type_card(CHALLENGED_CARD).pay_button("190,00 €").click()
    expect(visitor.challenge.get_by_text("190,00")).to_be_visible()
    visitor.challenge.get_by_role("button", name="Rechazar").click()
    sentence = "Tu banco no ha podido confirmar que eres tú. Inténtalo de nuevo o usa otra tarjeta."
    visitor.expect_declined(sentence)
    assert only_order(email).status == Order.Status.CART

    visitor.type_card(CHALLENGED_CARD).pay_button("190,00 €").click()
    expect(visitor.page.get_by_role("button", name="Procesando")).to_be_attached()
    visitor.challenge.get_by_role("button", name="Autorizar pago").click()
    visitor.expect_success()
    order = only_order(email)
    assert order.status == Order.Status.PAID
    assert len(payments_at_provider(order)) == 1
    expect_both_mails(email)


def test_card_form_left_open_over_a_price_change_says_that_it_has_expired(visitor, maths, email):
    visitor.watch.expect("status of 400.*/confirm")
    visitor.watch.expect("status of 409.*/api/process-checkout")
    visitor.to_step_2(maths.degree, [maths]).tick_boxes().open_card_form("190,00 €").type_card()
    maths.final_price = Decimal("210.00")
    maths.save()
    call_command("reconcile_payments", verbosity=0)

    visitor.press(visitor.pay_button("190,00 €"))

    visitor.expect_declined(FORM_EXPIRED)
    visitor.press(visitor.pay_button("190,00 €"))
    expect(visitor.pay_button("199,50 €")).to_be_visible()
    assert only_order(email).status == Order.Status.CART


# A bank that confirms later: test_bizum_and_paypal.py and test_recovery_journeys.py.
def test_dialog_waits_for_the_bank_and_offers_another_card_when_it_declines(visitor, maths, email):
    visitor.watch.expect("status of 409.*/api/complete-payment")
    with bank_undecided():
        visitor.to_step_2(maths.degree, [maths]).buy("190,00 €", SLOWLY_DECLINED_CARD)
        waiting = visitor.dialog.get_by_role("heading", name="Tu banco está confirmando el pago")
        expect(waiting).to_be_visible()
        state = visitor.dialog.get_by_role("link", name="Ver el estado del pago")
        expect(state).to_have_attribute("href", re.compile(r"^/success\?"))
        assert only_order(email).status == Order.Status.CART
        assert mails_to(email) == []

    visitor.expect_declined(BANK_DECLINED)

    visitor.open_card_form("190,00 €").type_card()
    visitor.press(visitor.pay_button("190,00 €"))
    visitor.expect_success()
    assert only_order(email).status == Order.Status.PAID


def test_changed_price_is_shown_before_anything_is_charged(visitor, maths, email):
    visitor.watch.expect(r"status of 409.*/api/process-checkout")
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()
    maths.final_price = Decimal("210.00")
    maths.save()

    visitor.pay_button("190,00 €").click()

    alert = visitor.dialog.get_by_role("alert")
    expect(alert).to_contain_text("El precio ha cambiado. El total es ahora 199,50 €.")
    expect(visitor.dialog.locator("dl")).to_contain_text("199,50 €")
    assert orders_of(email) == []

    visitor.accept_price("199,50 €")
    visitor.open_card_form("199,50 €").type_card().pay_button("199,50 €").click()
    visitor.expect_success()
    order = only_order(email)
    assert (order.status, order.total_amount) == (Order.Status.PAID, Decimal("199.50"))
    assert [payment["amount"] for payment in payments_at_provider(order)] == [19950]


def test_lesson_that_expired_meanwhile_is_named_and_removed(visitor, shelf, maths, email):
    visitor.watch.expect(r"status of 409.*/api/process-checkout")
    gone, kept = maths.lessons.get(title="PEC 1"), maths.lessons.get(title="PEC 2")
    visitor.to_step_2(shelf.degree, [], lessons=[gone, kept]).tick_boxes()
    gone.status = Lesson.Status.EXPIRED
    gone.save()

    visitor.pay_button("95,00 €").click()

    alert = visitor.dialog.get_by_role("alert")
    expect(alert).to_contain_text(f"Ya no se puede comprar:{maths.name}: PEC 1")
    alert.get_by_role("button", name="Quitar del pedido").click()
    visitor.open_card_form("47,50 €")

    # The card behind the dialog offers it no longer.
    visitor.page.keyboard.press("Escape")
    expect(visitor.card(maths)).to_contain_text(re.compile(r"PEC 1\s*Caducada"))
    expect(visitor.lesson_box(gone)).to_be_disabled()
    visitor.open_dialog().fill_contact()
    visitor.tick_boxes().open_card_form("47,50 €").type_card().pay_button("47,50 €").click()
    visitor.expect_success()
    assert [line.lesson for line in only_order(email).lines.all()] == [kept]


def test_order_is_paid_by_webhook_when_the_tab_is_closed_after_the_charge(visitor, maths, email):
    visitor.watch.expect("net::ERR_FAILED.*/api/complete-payment")
    visitor.page.route("**/api/complete-payment", lambda route: route.abort())
    visitor.to_step_2(maths.degree, [maths])
    visitor.tick_boxes().open_card_form("190,00 €").type_card()
    switch_webhooks(enabled=False)
    try:
        visitor.pay_button("190,00 €").click()
        # Charged, and the tab could not tell the shop.
        title = visitor.dialog.get_by_role("heading", name="Hemos recibido tu pago")
        expect(title).to_be_visible()
        assert only_order(email).status == Order.Status.CART
        visitor.page.close()
    finally:
        switch_webhooks(enabled=True)

    eventually(lambda: only_order(email).status == Order.Status.PAID)
    expect_both_mails(email)
    assert Enrolment.objects.filter(student__email=email, subject=maths).count() == 1
    assert only_order(email).events.get(to_status="paid").actor == "Stripe"


def burst_of_clicks(button: Locator) -> None:
    """Click faster than React renders, so that the button is not disabled in between."""
    button.evaluate("button => { for (let n = 0; n < 5; n += 1) button.click() }")


def test_burst_of_clicks_on_pay_creates_one_order_and_one_payment_and_leads_to_success(
    visitor, maths, email
):
    checkouts = visitor.responses_of("/api/process-checkout")
    confirmations = visitor.responses_of("/v1/payment_methods")
    completions = visitor.responses_of("/api/complete-payment")
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()

    burst_of_clicks(visitor.pay_button("190,00 €"))
    visitor.expect_card_form()
    burst_of_clicks(visitor.type_card().pay_button("190,00 €"))
    visitor.expect_success()

    assert len(checkouts) == 1
    assert len(confirmations) == 1
    # One call of the dialog and one of the success page.
    assert [answer.status for answer in completions] == [200, 200]
    order = only_order(email)
    assert len(payments_at_provider(order)) == 1
    assert order.payments.get().status == Payment.Status.SUCCEEDED
    expect_both_mails(email)


def test_change_after_the_card_form_is_shown_needs_a_new_payment(visitor, maths, email):
    make_promo(f"MENOS{maths.pk}", kind="FIJO", value="15")
    visitor.to_step_2(maths.degree, [maths]).tick_boxes().open_card_form("190,00 €")

    visitor.apply_code(f"MENOS{maths.pk}")
    expect(visitor.page.locator(CARD_FRAME)).to_have_count(0)
    visitor.open_card_form("175,00 €").type_card().pay_button("175,00 €").click()
    visitor.expect_success()

    order = only_order(email)
    states = sorted((row["amount"], row["status"]) for row in payments_at_provider(order))
    assert states == [(17500, "succeeded"), (19000, "canceled")]


def test_signed_in_student_starts_at_step_2_with_contact_data_and_no_checkbox_ticked(
    visitor, stack, maths, email
):
    student = Student.objects.create(email=email, phone="+34611222333", first_name="Ana")
    visitor.sign_in(student, stack.url)

    visitor.open_catalogue(maths.degree).fill_cart([maths]).open_dialog()

    visitor.expect_step_2()
    for box in visitor.dialog.get_by_role("checkbox").all():
        expect(box).not_to_be_checked()
    visitor.dialog.get_by_role("button", name="Volver a tus datos").click()
    expect(visitor.field("Email")).to_have_value(email)
    prefix, number = (visitor.field(label).input_value() for label in ("Prefijo", "Teléfono"))
    assert f"+{prefix}{number}" == student.phone
    expect(visitor.terms).to_be_checked()
    expect(visitor.privacy).to_be_checked()
    visitor.dialog.get_by_role("button", name="Continuar").click()
    visitor.buy("190,00 €")
    visitor.expect_success()
    assert only_order(email).student == student
