"""Links that lead into the shop: a quote that binds, a promo code, one subject (issue 4)."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone
from playwright.sync_api import Locator, expect

from academy.dev.stack import Stack
from academy.tests.browser.calculator import SENT, Calculator
from academy.tests.browser.records import (
    Shelf,
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
from academy.tests.browser.visitor import Visitor
from academy.tests.factories import make_promo, whole
from apps.catalogue.models import Subject
from apps.leads.models import Quote
from apps.orders.models import ReferralReward, UsedQuote
from apps.students.models import Student
from apps.students.session import SESSION_KEY

OTHER_SUBJECTS = "El precio de tu presupuesto es para exactamente sus asignaturas, completas."
PAID = "Tu matrícula ha sido procesada correctamente"
NO_CODE = "El precio de tu presupuesto no admite además un código promocional."


@pytest.fixture
def pair(shelf: Shelf) -> list[Subject]:
    """192 and 185,50: quoted at 343,50 when paid at once; the cart of today asks 343,62."""
    return [shelf.put("Cálculo", "192.00"), shelf.put("Derecho", "185.50")]


@pytest.fixture
def quote_link(visitor: Visitor, shelf: Shelf, pair: list[Subject]) -> str:
    """The link in the mail of a quote for both, paid at once."""
    return quoted(visitor, shelf, pair, full=True)


def quoted(visitor: Visitor, shelf: Shelf, subjects: list[Subject], *, full: bool) -> str:
    calculator = Calculator(visitor)
    if full:
        visitor.tick(calculator.card.get_by_label("Pago completo"))
    calculator.ask(len(subjects)).choose(shelf, *subjects)
    calculator.open_contact().send(visitor.email)
    expect(calculator.card.get_by_text(SENT)).to_be_visible()
    mail = html_of(mail_with("Tu presupuesto", visitor.email))
    (link,) = {unescape(found) for found in re.findall(r'href="[^"]*(/compra\?[^"]*)"', mail)}
    return link


def open_link(visitor: Visitor, link: str, *subjects: Subject) -> None:
    visitor.page.goto(link)
    visitor.wait_for_catalogue()
    for subject in subjects:
        expect(visitor.cart.get_by_text(subject.name)).to_be_visible()


def remove(visitor: Visitor, subject: Subject) -> Locator:
    return visitor.cart.get_by_role("button", name=f"Quitar {subject.name} del carrito")


def test_from_the_mail_to_the_paid_order_the_quoted_price_to_the_cent(
    visitor: Visitor, quote_link: str, pair: list[Subject], email: str
) -> None:
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
    visitor.assert_accessible()
    visitor.buy("343,50 €")
    visitor.expect_success()

    order = only_order(email)
    quote = Quote.objects.get(lead__email=email)
    assert [row["amount"] for row in payments_at_provider(order)] == [34350]
    assert (order.status, str(order.total_amount)) == ("paid", "343.50")
    assert UsedQuote.objects.get(number=quote.pk).order == order
    assert "Precio de tu presupuesto: −92,00" in text_of(mail_with("Confirmación", email))
    # The offer was for one purchase.
    visitor.page.goto(quote_link)
    expect(visitor.cart).to_contain_text("Este presupuesto ya se usó en una compra.")
    expect(visitor.cart_button).to_contain_text("398,72")


def test_a_quote_in_instalments_opens_the_dialog_with_instalments(
    visitor: Visitor, shelf: Shelf, pair: list[Subject], email: str
) -> None:
    link = quoted(visitor, shelf, pair, full=False)

    open_link(visitor, link, *pair)
    visitor.open_dialog().fill_contact()
    expect(visitor.dialog.get_by_role("radio", name=re.compile("^3 plazos"))).to_be_checked()
    visitor.buy("120,84 €")
    visitor.expect_success()

    order = only_order(email)
    assert (order.status, str(order.total_amount)) == ("paying", "362.50")


def test_another_cart_or_payment_type_is_at_today_s_prices_and_says_why(
    visitor: Visitor, quote_link: str, pair: list[Subject]
) -> None:
    open_link(visitor, quote_link, *pair)
    visitor.press(remove(visitor, pair[1]))
    expect(visitor.cart).to_contain_text(OTHER_SUBJECTS)
    expect(visitor.cart_button).to_contain_text("182,40")

    open_link(visitor, quote_link, *pair)
    visitor.open_dialog().fill_contact()
    visitor.dialog.get_by_role("radio", name=re.compile("^3 plazos")).check()
    expect(
        visitor.dialog.get_by_text("El precio de tu presupuesto es para el pago completo.")
    ).to_be_visible()
    # 362,50 in three, what does not divide on the first.
    expect(visitor.pay_button("120,84 €")).to_be_attached()
    visitor.dialog.get_by_role("radio", name=re.compile("^Pago completo")).check()
    expect(visitor.pay_button("343,50 €")).to_be_attached()


def test_an_offer_that_ended_while_the_page_was_open_says_so_before_it_charges(
    visitor: Visitor, quote_link: str, pair: list[Subject], email: str
) -> None:
    visitor.watch.expect(r"status of 409.*/api/process-checkout")
    open_link(visitor, quote_link, *pair)
    visitor.open_dialog().fill_contact().tick_boxes()
    quotes = Quote.objects.filter(lead__email=email)
    quotes.update(valid_until=timezone.now() - timedelta(days=1))

    visitor.press(visitor.pay_button("343,50 €"))

    expect(visitor.dialog.get_by_text(re.compile("Tu presupuesto caducó el"))).to_be_visible()
    expect(visitor.page.locator("iframe")).to_have_count(0)
    visitor.ask_for_card_form("343,62 €").type_card()
    visitor.press(visitor.pay_button("343,62 €"))
    visitor.expect_success()
    order = only_order(email)
    assert (str(order.total_amount), order.quote_number) == ("343.62", None)


def test_an_expired_link_fills_the_cart_at_today_s_prices_and_says_why(
    visitor: Visitor, quote_link: str, pair: list[Subject], email: str
) -> None:
    quotes = Quote.objects.filter(lead__email=email)
    quotes.update(valid_until=timezone.now() - timedelta(days=1))

    open_link(visitor, quote_link, *pair)

    expect(visitor.cart).to_contain_text(re.compile("Tu presupuesto caducó el .* precios de hoy"))
    expect(visitor.cart_button).to_contain_text("343,62")


def test_the_price_of_a_quote_can_be_given_up_for_a_code(
    visitor: Visitor, quote_link: str, pair: list[Subject]
) -> None:
    promo = make_promo(f"MITAD{pair[0].pk}", value="50")
    open_link(visitor, f"{quote_link}&codigo={promo.code}", *pair)
    visitor.open_dialog().fill_contact()
    expect(visitor.dialog.get_by_text(NO_CODE)).to_be_visible()

    visitor.press(visitor.dialog.get_by_role("button", name="Usar los precios de hoy"))

    expect(visitor.toast("¡Código aplicado!")).to_be_visible()
    expect(visitor.pay_button("171,81 €")).to_be_attached()


def test_a_saved_cart_keeps_the_quoted_price_on_another_device(
    visitor: Visitor,
    new_visitor: Callable[..., Visitor],
    quote_link: str,
    pair: list[Subject],
    email: str,
) -> None:
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


# ---------------------------------------------------------------- a code


def test_the_code_of_a_link_is_applied_in_the_dialog_as_when_typed(
    visitor: Visitor, pair: list[Subject], email: str
) -> None:
    promo = make_promo(f"ENLACE{pair[0].pk}", kind="FIJO", value="20")
    visitor.open_catalogue(pair[0].degree, f"codigo=%20{promo.code.lower()}%20")
    visitor.fill_cart([pair[0]]).open_dialog().fill_contact()

    expect(visitor.toast("¡Código aplicado!")).to_be_visible()
    expect(visitor.dialog.get_by_text(f"Código {promo.code} aplicado")).to_be_visible()
    # Whoever takes it off has taken it off.
    visitor.press(visitor.dialog.get_by_role("button", name=f"Quitar el código {promo.code}"))
    expect(visitor.pay_button("182,40 €")).to_be_attached()
    visitor.press(visitor.dialog.get_by_role("button", name="Volver a tus datos"))
    visitor.press(visitor.dialog.get_by_role("button", name="Continuar"))
    expect(visitor.pay_button("182,40 €")).to_be_attached()
    # The dialog opens anew, and so does the link.
    visitor.press(visitor.dialog.get_by_role("button", name="Cerrar"))
    visitor.open_dialog().fill_contact()
    visitor.buy("162,40 €")
    visitor.expect_success()
    assert only_order(email).promo_code == promo


def test_a_link_s_code_that_is_refused_says_why(visitor: Visitor, pair: list[Subject]) -> None:
    visitor.open_catalogue(pair[0].degree, "codigo=NAVIDAD2024")
    visitor.fill_cart([pair[0]]).open_dialog().fill_contact()

    expect(visitor.toast("Código inválido", "Este código ha caducado.")).to_be_visible()
    expect(visitor.field("Código promocional")).to_have_attribute("aria-invalid", "true")
    expect(visitor.pay_button("182,40 €")).to_be_attached()


# ---------------------------------------------------------------- one subject


def test_the_subject_of_a_link_is_in_the_cart(visitor: Visitor, pair: list[Subject]) -> None:
    visitor.open_catalogue(query=f"asignatura={pair[0].pk}")

    expect(visitor.cart.get_by_text(pair[0].name)).to_be_visible()
    expect(visitor.cart_button).to_contain_text("182,40")
    visitor.open_dialog().fill_contact()
    expect(visitor.pay_button("182,40 €")).to_be_attached()


@pytest.mark.parametrize("why", ["not on sale", "unknown", "nonsense"])
def test_a_link_to_a_subject_that_is_not_on_sale_says_so(
    visitor: Visitor, pair: list[Subject], why: str
) -> None:
    pair[0].active = why != "not on sale"
    pair[0].save()
    named = {"not on sale": pair[0].pk, "unknown": 999_999_999, "nonsense": "x"}[why]

    visitor.open_catalogue(query=f"asignatura={named}")

    sentence = "La asignatura del enlace no está a la venta en este momento."
    expect(visitor.toast(sentence)).to_be_visible()
    expect(visitor.cart_button).to_have_count(0)


# ---------------------------------------------------------------- already bought


def test_a_signed_in_student_is_asked_before_paying_for_the_same_again(
    visitor: Visitor, stack: Stack, pair: list[Subject], email: str
) -> None:
    visitor.watch.expect(r"status of 409.*/api/process-checkout")
    pay_elsewhere(email, whole(pair[0]), total="182.40")
    session = SessionStore()
    session[SESSION_KEY] = Student.objects.get(email=email).pk
    session.create()
    cookie = {"name": settings.SESSION_COOKIE_NAME, "value": session.session_key, "url": stack.url}
    visitor.page.context.add_cookies([cookie])  # type: ignore[list-item]
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
    visitor.ask_for_card_form("176,22 €")
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


def test_a_stranger_sees_nothing_and_the_owner_gets_a_mail(
    new_visitor: Callable[..., Visitor], pair: list[Subject], email: str
) -> None:
    pay_elsewhere(email, whole(pair[0]), total="182.40")
    stranger = new_visitor()

    stranger.to_step_2(pair[0].degree, [pair[0]])
    stranger.tick_boxes().ask_for_card_form("182,40 €")

    expect(stranger.dialog.get_by_text("Ya lo has comprado")).to_have_count(0)
    mail = mail_with("Algo de tu carrito ya lo tienes", email)
    assert pair[0].name in text_of(mail)
    assert "/aula" in text_of(mail)
    assert eventually(lambda: len(mails_to(email)) == 4)


# ---------------------------------------------------------------- a friend's link


def test_the_link_in_the_mail_of_a_first_purchase_brings_a_friend_and_a_reward(
    new_visitor: Callable[..., Visitor], pair: list[Subject], email: str
) -> None:
    pay_elsewhere(email, whole(pair[0]), total="182.40", phone="+34600000101")
    mail = text_of(mail_with("Tu código para invitar a amigos", email))
    link = re.search(r"/compra\?codigo=AMIGO-[A-Z0-9]{8}", mail)
    assert link is not None
    friend = new_visitor()
    friend.email = f"amiga.{email}"

    friend.open_catalogue(pair[1].degree, link[0].partition("?")[2])
    friend.fill_cart([pair[1]]).open_dialog().fill_contact(phone="600000202")
    expect(friend.toast("¡Código aplicado!")).to_be_visible()
    # 185,50 less 9,28 for paying at once and 15 for the friend.
    friend.buy("161,22 €")
    friend.expect_success()

    reward = ReferralReward.objects.get(friend__email=friend.email)
    assert (reward.student.email, str(reward.amount), reward.status) == (email, "25.00", "held")
