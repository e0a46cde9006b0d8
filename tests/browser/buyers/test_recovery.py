"""The page /complete-payment of a recovery link: a saved order and its payment."""

import re

from django.utils import timezone
from playwright.sync_api import expect

from apps.catalogue.models import Lesson
from apps.orders.models import Order
from tests.browser.records import check_out, only_order, save_for_later
from tests.browser.visitor import HeldRequests, expect_beside, expect_to_fit, set_text_size
from tests.helpers.factories import single, whole

RECOVER = "**/api/orders/recover?*"


def test_recovery_link_without_order_or_token_or_with_a_bad_order_id_shows_an_error_card(visitor):
    for query, sentence in (
        ("", "Enlace de recuperación inválido"),
        ("?order=12", "Enlace de recuperación inválido"),
        ("?token=abc", "Enlace de recuperación inválido"),
        ("?order=doce&token=abc", "ID de orden inválido"),
        ("?order=1.5&token=abc", "ID de orden inválido"),
    ):
        visitor.page.goto(f"/complete-payment{query}")
        card = visitor.page.get_by_role("alert")
        expect(card.get_by_role("heading")).to_have_text(sentence)
    card.get_by_role("link", name="Volver al inicio").click()
    expect(visitor.page).to_have_url(re.compile(r"^[^/]+//[^/]+/$"))


def test_recovery_page_with_text_at_200_percent_is_no_wider_than_a_small_phone(
    new_visitor, maths, email
):
    page = new_visitor(viewport={"width": 320, "height": 640}).page
    set_text_size(page, 32)
    page.goto(save_for_later(email, whole(maths), total="190"))
    expect(page.get_by_role("heading", name="Tu matrícula", exact=True)).to_be_visible()
    expect_to_fit(page)


def test_recovery_link_with_a_wrong_token_opens_no_order(visitor, maths, email):
    visitor.watch.expect("status of 404.*/api/orders/recover")
    link = save_for_later(email, whole(maths), total="190")

    visitor.page.goto(f"{link[:-5]}xxxxx")

    heading = visitor.page.get_by_role("alert").get_by_role("heading")
    expect(heading).to_have_text("Orden no encontrada o enlace inválido")
    expect(visitor.page.get_by_text(email)).to_have_count(0)


def test_failed_loading_of_the_order_shows_an_error(visitor, maths, email):
    visitor.watch.expect("net::ERR_FAILED.*/api/orders/recover")
    visitor.page.route(RECOVER, lambda route: route.abort())

    visitor.page.goto(save_for_later(email, whole(maths), total="190"))

    heading = visitor.page.get_by_role("alert").get_by_role("heading")
    expect(heading).to_have_text("Orden no encontrada o enlace inválido")
    visitor.page.unroute(RECOVER)
    visitor.page.get_by_role("button", name="Reintentar").click()
    expect(visitor.page.get_by_role("region", name="Tu matrícula")).to_contain_text(maths.name)


def test_recovery_page_shows_that_it_is_loading(visitor, maths, email):
    held = HeldRequests(visitor.page, RECOVER)
    visitor.page.goto(save_for_later(email, whole(maths), total="190"))

    expect(visitor.page.get_by_role("status")).to_have_text("Cargando tu matrícula...")
    held.release()
    expect(visitor.page.get_by_role("heading", name="Tu matrícula", exact=True)).to_be_visible()


def test_recovery_link_shows_the_saved_order_and_the_card_payment(visitor, shelf, maths, email):
    lesson = shelf.put("Física", "180.00", lesson_price="50.00").lessons.get(title="PEC 2")
    items = (whole(maths), single(lesson))

    visitor.page.goto(save_for_later(email, *items, total="237.50", phone="+34611222333"))

    order = visitor.page.get_by_role("region", name="Tu matrícula")
    rows = order.get_by_role("listitem")
    university = maths.degree.university.name
    expect(rows.nth(0)).to_contain_text(maths.name)
    expect(rows.nth(0)).to_contain_text(f"{maths.degree.name} · {university}")
    expect(rows.nth(0).get_by_text("Asignatura Completa", exact=True)).to_be_visible()
    expect(rows.nth(0)).to_contain_text("200,00 €")
    expect(rows.nth(1)).to_contain_text("PEC 2")
    expect(rows.nth(1)).to_contain_text(f"{lesson.subject.name} · {maths.degree.name}")
    expect(rows.nth(1).get_by_text("Lección Individual", exact=True)).to_be_visible()
    expect(rows.nth(1)).to_contain_text("50,00 €")
    expect(order).to_contain_text("237,50 €")
    expect(order).to_contain_text(email)
    expect(order).to_contain_text("+34611222333")
    today = timezone.localdate()
    months = (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    )
    saved_on = f"{today.day} de {months.split()[today.month - 1]} de {today.year}"
    expect(order).to_contain_text(f"Guardada el{saved_on}")
    payment = visitor.page.get_by_role("region", name="Pago con tarjeta")
    expect_beside(order, payment)


def test_changed_price_and_expired_lesson_are_shown_before_the_payment(
    visitor, shelf, maths, email
):
    lesson = shelf.put("Física", "180.00", lesson_price="50.00").lessons.get(title="PEC 2")
    link = save_for_later(email, whole(maths), single(lesson), total="237.50")
    maths.final_price = 220
    maths.save()
    lesson.status = Lesson.Status.EXPIRED
    lesson.save()

    visitor.page.goto(link)

    changes = visitor.page.get_by_role("region", name="Tu matrícula").locator(".notice")
    expect(changes).to_contain_text("Ha cambiado desde que la guardaste")
    expect(changes).to_contain_text(f"{maths.name}: costaba 200,00 € y ahora cuesta 220,00 €.")
    name = f"{lesson.subject.name}: PEC 2"
    expect(changes).to_contain_text(f"{name}: ya no está disponible y no se incluye.")
    expect(changes).to_contain_text("El total era de 237,50 € y ahora es de 209,00 €.")
    visitor.buy("209,00 €")
    expect(
        visitor.toast("¡Pago exitoso!", "Tu matrícula ha sido procesada correctamente")
    ).to_be_visible()
    order = only_order(email)
    assert (order.status, order.total_cents) == (Order.Status.PAID, 20_900)
    assert [line.name for line in order.lines.all()] == [maths.name]


def test_cart_that_others_may_know_asks_its_buyer_for_the_contact_data_again(
    new_visitor, maths, email
):
    link = save_for_later(email, whole(maths), total="190")
    page = new_visitor(viewport={"width": 390, "height": 844}).page
    page.goto(link)
    expect(page.get_by_role("region", name="Tu matrícula")).to_contain_text(email)
    order = only_order(email)
    saved = {"recovery_order_id": order.pk, "token": order.auth_token, "phone": "+34611222333"}
    check_out(email, whole(maths), total="190", **saved)

    page.goto(link)

    expect(page.get_by_role("heading", name="Tus datos")).to_be_visible()
    expect(page.get_by_label("Email")).to_have_value("")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Teléfono").fill("611222333")
    expect(page.get_by_role("button", name="Volver sin cambiar")).to_have_count(0)
    for box in ("términos y condiciones", "política de privacidad"):
        page.get_by_role("checkbox", name=box).check()
    page.get_by_role("button", name="Continuar").click()
    expect(page.get_by_role("region", name="Tu matrícula")).to_contain_text(email)
