"""Links to /compra with a binding quote, a promo code, a subject or a friend code."""

import re
from datetime import timedelta
from html import unescape

import pytest
import requests
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect

from apps.catalogue.models import Subject
from apps.leads.models import Quote
from apps.leads.tests.payloads import budget
from apps.orders.models import ReferralReward, UsedQuote
from apps.students.models import Student
from tests.browser.records import (
    eventually,
    html_of,
    mail_with,
    mails_to,
    only_order,
    orders_of,
    pay_elsewhere,
    payments_at_provider,
    text_of,
)
from tests.browser.visitor import CARD_FRAME, Visitor
from tests.helpers.factories import make_promo, whole

PAID = "Tu matrícula ha sido procesada correctamente"
NO_CODE = "El precio de tu presupuesto no se puede combinar con un código promocional."


@pytest.fixture
def pair(shelf):
    """Subjects of 192 € and 185,50 €. Full payment: quoted at 343,50 €, in the cart 343,62 €."""
    return [shelf.put("Cálculo", "192.00"), shelf.put("Derecho", "185.50")]


@pytest.fixture
def quote_link(email, pair):
    """The link in the mail of a quote for both subjects with full payment."""
    return quoted(email, pair, full=True)


def quoted(address: str, subjects: list[Subject], *, full: bool) -> str:
    """The link in the mail of a quote, which a browser elsewhere has asked for."""
    body = {**budget(*subjects, fullPayment=full), "email": address, "phone": "600123123"}
    requests.post(
        f"{settings.SITE_URL}/api/send-budget-email", json=body, timeout=60
    ).raise_for_status()
    mail = html_of(mail_with("Tu presupuesto", address))
    (link,) = {unescape(found) for found in re.findall(r'href="[^"]*(/compra\?[^"]*)"', mail)}
    return link


def open_link(visitor: Visitor, link: str, *subjects: Subject) -> None:
    visitor.page.goto(link)
    visitor.wait_for_catalogue()
    for subject in subjects:
        expect(visitor.cart.get_by_text(subject.name)).to_be_visible()


def test_quote_link_sells_its_subjects_at_the_quoted_price_to_the_cent(
    visitor, quote_link, pair, email
):
    pair[0].final_price = 250
    pair[0].save()

    open_link(visitor, quote_link, *pair)
    expect(visitor.cart).to_contain_text(re.compile(r"Precio de tu presupuesto−92,00\s€"))
    expect(visitor.cart).to_contain_text("con pago completo.")
    expect(visitor.cart_button).to_contain_text("343,50")
    visitor.open_dialog().fill_contact()
    summary = visitor.dialog.locator("dl")
    expect(summary).to_contain_text("Precio de tu presupuesto")
    expect(summary).not_to_contain_text("Pago completo (5 %)")
    expect(visitor.dialog.get_by_text(NO_CODE)).to_be_visible()
    expect(visitor.field("Código promocional")).to_have_count(0)
    visitor.buy("343,50 €")
    visitor.expect_success()

    order = only_order(email)
    quote = Quote.objects.get(lead__email=email)
    assert [row["amount"] for row in payments_at_provider(order)] == [34350]
    assert (order.status, str(order.total_amount)) == ("paid", "343.50")
    assert UsedQuote.objects.get(number=quote.pk).order == order
    assert "Precio de tu presupuesto: −92,00" in text_of(mail_with("Confirmación", email))
    # A quote can be used for one purchase only.
    visitor.page.goto(quote_link)
    expect(visitor.cart).to_contain_text("Este presupuesto ya se usó en una compra.")
    expect(visitor.cart_button).to_contain_text("398,72")


# What it is sold at: apps/leads/tests/test_binding_quotes.py.
def test_quote_in_instalments_opens_the_dialog_with_instalments(visitor, pair, email):
    link = quoted(email, pair, full=False)

    open_link(visitor, link, *pair)
    visitor.open_dialog().fill_contact()
    expect(visitor.dialog.get_by_role("radio", name=re.compile("^3 plazos"))).to_be_checked()
    expect(visitor.pay_button("120,84 €")).to_be_attached()


def test_quote_that_expires_while_the_page_is_open_shows_a_notice_before_charging(
    visitor, quote_link, pair, email
):
    visitor.watch.expect(r"status of 409.*/api/process-checkout")
    open_link(visitor, quote_link, *pair)
    visitor.open_dialog().fill_contact().tick_boxes()
    quotes = Quote.objects.filter(lead__email=email)
    quotes.update(valid_until=timezone.now() - timedelta(days=1))

    visitor.press(visitor.pay_button("343,50 €"))

    expect(visitor.dialog.get_by_text(re.compile("Tu presupuesto caducó el"))).to_be_visible()
    expect(visitor.page.locator(CARD_FRAME)).to_have_count(0)
    visitor.accept_price("343,62 €").open_card_form("343,62 €").type_card()
    visitor.press(visitor.pay_button("343,62 €"))
    visitor.expect_success()
    order = only_order(email)
    assert (str(order.total_amount), order.quote_number) == ("343.62", None)


def test_expired_quote_link_fills_the_cart_at_todays_prices_with_a_notice(
    visitor, quote_link, pair, email
):
    quotes = Quote.objects.filter(lead__email=email)
    quotes.update(valid_until=timezone.now() - timedelta(days=1))

    open_link(visitor, quote_link, *pair)

    expect(visitor.cart).to_contain_text(re.compile("Tu presupuesto caducó el .* precios de hoy"))
    expect(visitor.cart_button).to_contain_text("343,62")


def test_quoted_price_can_be_given_up_for_a_promo_code(visitor, quote_link, pair):
    promo = make_promo(f"MITAD{pair[0].pk}", value="50")
    open_link(visitor, f"{quote_link}&codigo={promo.code}", *pair)
    visitor.open_dialog().fill_contact()
    expect(visitor.dialog.get_by_text(NO_CODE)).to_be_visible()

    visitor.press(visitor.dialog.get_by_role("button", name="Usar los precios de hoy"))

    expect(visitor.toast("¡Código aplicado!")).to_be_visible()
    expect(visitor.pay_button("171,81 €")).to_be_attached()


def test_saved_cart_keeps_the_quoted_price_on_another_device(
    visitor, new_visitor, quote_link, pair, email
):
    open_link(visitor, quote_link, *pair)
    visitor.open_dialog().fill_contact()
    visitor.press(visitor.dialog.get_by_role("button", name="Guardar para más tarde"))
    expect(visitor.dialog.get_by_role("heading", name="Compra guardada")).to_be_visible()
    link = re.search(r"/complete-payment\?\S+", text_of(mail_with("Tu carrito", email)))
    assert link is not None
    elsewhere = new_visitor()

    elsewhere.page.goto(link[0])

    summary = elsewhere.page.get_by_role("region", name="Tu matrícula")
    expect(summary).to_contain_text("Precio de tu presupuesto")
    elsewhere.buy("343,50 €")
    expect(elsewhere.toast("¡Pago exitoso!", PAID)).to_be_visible()
    order = only_order(email)
    assert (order.status, str(order.total_amount)) == ("paid", "343.50")
    assert UsedQuote.objects.get(order=order).number == order.quote_number


# ---------------------------------------------------------------- promo code


def test_promo_code_of_a_link_is_applied_when_the_dialog_opens(visitor, pair):
    promo = make_promo(f"ENLACE{pair[0].pk}", kind="FIJO", value="20")
    visitor.open_catalogue(pair[0].degree, f"codigo=%20{promo.code.lower()}%20")
    visitor.fill_cart([pair[0]]).open_dialog().fill_contact()

    expect(visitor.toast("¡Código aplicado!")).to_be_visible()
    expect(visitor.dialog.get_by_text(f"Código {promo.code} aplicado")).to_be_visible()
    # A removed code is not applied again while the dialog is open.
    visitor.press(visitor.dialog.get_by_role("button", name=f"Quitar el código {promo.code}"))
    expect(visitor.pay_button("182,40 €")).to_be_attached()
    visitor.press(visitor.dialog.get_by_role("button", name="Volver a tus datos"))
    visitor.press(visitor.dialog.get_by_role("button", name="Continuar"))
    expect(visitor.pay_button("182,40 €")).to_be_attached()
    # When the dialog is opened again, the code of the link is applied again.
    visitor.press(visitor.dialog.get_by_role("button", name="Cerrar"))
    visitor.open_dialog().fill_contact()
    expect(visitor.pay_button("162,40 €")).to_be_attached()


def test_refused_promo_code_of_a_link_shows_the_reason(visitor, pair):
    visitor.open_catalogue(pair[0].degree, "codigo=NAVIDAD2024")
    visitor.fill_cart([pair[0]]).open_dialog().fill_contact()

    expect(visitor.toast("Código inválido", "Este código ha caducado.")).to_be_visible()
    expect(visitor.field("Código promocional")).to_have_attribute("aria-invalid", "true")
    expect(visitor.pay_button("182,40 €")).to_be_attached()


# ---------------------------------------------------------------- subject


def test_link_to_a_subject_that_is_not_on_sale_shows_a_message(visitor, pair):
    pair[0].active = False
    pair[0].save()
    for not_on_sale in (pair[0].pk, 999_999_999, "x"):
        visitor.open_catalogue(query=f"asignatura={not_on_sale}")

        sentence = "La asignatura del enlace no está a la venta en este momento."
        expect(visitor.toast(sentence)).to_be_visible()
        expect(visitor.cart_button).to_have_count(0)


# ---------------------------------------------------------------- already bought


def test_signed_in_student_must_confirm_buying_the_same_subject_again(visitor, stack, pair, email):
    visitor.watch.expect(r"status of 409.*/api/process-checkout")
    pay_elsewhere(email, whole(pair[0]), total="182.40")
    visitor.sign_in(Student.objects.get(email=email), stack.url)
    visitor.open_catalogue(pair[0].degree).fill_cart(pair).open_dialog()
    visitor.expect_step_2()
    visitor.tick_boxes()

    visitor.press(visitor.pay_button("343,62 €"))
    told = visitor.dialog.get_by_role("alert")
    expect(told).to_contain_text("Ya lo has comprado:")
    expect(told.get_by_role("listitem")).to_have_text([pair[0].name])
    visitor.assert_accessible()
    visitor.press(told.get_by_role("button", name="Quitar"))
    expect(told).to_have_count(0)
    visitor.open_card_form("176,22 €")
    visitor.press(visitor.dialog.get_by_role("button", name="Cerrar"))

    visitor.press(visitor.select_all(pair[0]))
    visitor.open_dialog()
    visitor.expect_step_2()
    visitor.tick_boxes()
    visitor.press(visitor.pay_button("343,62 €"))
    visitor.press(told.get_by_role("button", name="Comprar de todos modos"))
    visitor.expect_card_form()
    expect(told).to_have_count(0)
    visitor.type_card()
    visitor.press(visitor.pay_button("343,62 €"))
    visitor.expect_success()
    assert [order.status for order in orders_of(email)] == ["paid", "paid"]


def test_repeat_purchase_by_a_visitor_who_is_not_signed_in_reveals_nothing_and_mails_the_student(
    new_visitor, pair, email
):
    pay_elsewhere(email, whole(pair[0]), total="182.40")
    stranger = new_visitor()

    stranger.to_step_2(pair[0].degree, [pair[0]])
    stranger.tick_boxes().open_card_form("182,40 €")

    expect(stranger.dialog.get_by_text("Ya lo has comprado")).to_have_count(0)
    mail = mail_with("Algo de tu carrito ya lo tienes", email)
    assert pair[0].name in text_of(mail)
    assert "/aula" in text_of(mail)
    assert eventually(lambda: len(mails_to(email)) == 4)


# ---------------------------------------------------------------- friend code


def test_referral_link_of_a_first_purchase_gives_the_friend_a_discount_and_the_student_a_reward(
    new_visitor, pair, email
):
    pay_elsewhere(email, whole(pair[0]), total="182.40", phone="+34600000101")
    mail = text_of(mail_with("Tu código para invitar a amigos", email))
    link = re.search(r"/compra\?codigo=AMIGO-[A-Z0-9]{8}", mail)
    assert link is not None
    friend = new_visitor()
    friend.email = f"amiga.{email}"

    friend.open_catalogue(pair[1].degree, link[0].partition("?")[2])
    friend.fill_cart([pair[1]]).open_dialog().fill_contact(phone="600000202")
    expect(friend.toast("¡Código aplicado!")).to_be_visible()
    # 185,50 € minus 9,28 € for full payment and 15 € for the friend code.
    friend.buy("161,22 €")
    friend.expect_success()

    reward = ReferralReward.objects.get(friend__email=friend.email)
    assert (reward.student.email, str(reward.amount), reward.status) == (email, "25.00", "held")
