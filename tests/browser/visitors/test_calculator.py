"""The budget calculator on /precios and home."""

import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from playwright.sync_api import Route, expect

from apps.catalogue.models import University
from apps.leads.models import Quote
from tests.browser.records import html_of, mail_with
from tests.browser.visitor import HeldRequests
from tests.browser.visitors.calculator import SENT, Calculator

BUDGET = "/api/send-budget-email"
CAREFUL = {"reduced_motion": "reduce"}


@pytest.fixture
def micro(shelf):
    return shelf.put("Microeconomía", "192.00")


@pytest.fixture
def macro(shelf):
    return shelf.put("Macroeconomía", "215.50")


def test_selectors_for_university_degree_and_subjects_appear_in_turn_and_hide_chosen_subjects(
    visitor, shelf, micro, macro
):
    soon = University.objects.filter(status=University.Status.COMING_SOON).first()
    assert soon
    held = HeldRequests(visitor.page, "**/api/universities")
    calculator = Calculator(visitor)
    expect(calculator.select("Número de asignaturas").locator("option")).to_have_count(6)
    expect(calculator.select("Amigos que invitas tú").locator("option")).to_have_count(9)
    calculator.ask(2)
    university = calculator.select("Universidad")
    expect(university.locator("option").first).to_have_text("Cargando...")
    held.release()
    expect(university.locator("option").first).to_have_text("Selecciona una universidad")
    expect(university.locator("option", has_text=soon.name)).to_be_disabled()
    first = shelf.degree.university
    name = f"{first.name} ({first.acronym})"
    expect(university.locator("option", has_text=name)).to_be_attached()
    expect(calculator.select("Carrera")).to_have_count(0)
    expect(calculator.button("Ver presupuesto")).to_be_disabled()

    university.select_option(str(first.pk))
    expect(calculator.select("Carrera").locator("option").first).to_have_text(
        "Selecciona una carrera"
    )
    expect(calculator.select("Asignatura 1")).to_have_count(0)

    calculator.choose_degree(shelf)
    expect(calculator.card.get_by_role("heading", name="Selecciona 2 asignaturas")).to_be_visible()
    options = calculator.select("Asignatura 1").locator("option")
    expect(options).to_have_text(
        [
            "Selecciona una asignatura",
            f"{macro.name} – 215,50\xa0€",
            f"{micro.name} – 192,00\xa0€",
        ]
    )
    expect(calculator.select("Asignatura 2")).to_be_visible()
    expect(calculator.select("Asignatura 3")).to_have_count(0)

    # A chosen subject is hidden in the other selector. The button needs both.
    calculator.select("Asignatura 1").select_option(str(micro.pk))
    # A long name cannot push the price out of the selector.
    expect(calculator.card.locator(".calculator__picked")).to_have_text("192,00\xa0€")
    expect(calculator.select("Asignatura 2").locator("option")).to_have_text(
        ["Selecciona una asignatura", f"{macro.name} – 215,50\xa0€"]
    )
    expect(calculator.button("Ver presupuesto")).to_be_disabled()
    calculator.select("Asignatura 2").select_option(str(macro.pk))
    expect(calculator.button("Ver presupuesto")).to_be_enabled()


def test_failed_loading_of_a_list_is_only_logged_and_the_list_stays_empty(visitor):
    visitor.watch.expect("503")
    visitor.watch.expect("ApiError")
    visitor.page.route("**/api/universities", lambda route: route.fulfill(status=503, body=""))
    calculator = Calculator(visitor).ask()

    options = calculator.select("Universidad").locator("option")
    expect(options).to_have_text(["Selecciona una universidad"])
    expect(visitor.page.locator(".toast")).to_have_count(0)


def test_result_is_blurred_until_the_budget_is_sent_and_equals_the_server_s_result(
    new_visitor, shelf, micro, macro
):
    visitor = new_visitor(**CAREFUL)
    calculator = Calculator(visitor)
    visitor.tick(visitor.box("Pago completo"))
    visitor.tick(visitor.box("Me ha invitado un amigo"))
    calculator.card.get_by_label("Código de amigo").fill("AMIGA")
    calculator.select("Amigos que invitas tú").select_option("2")
    calculator.ask(2).choose(shelf, micro, macro)
    # 5 % of 192,00 € + 215,50 € are 20,38 €, rounded to whole euros 20 €.
    expected = [
        "Precio base 407,50 €",
        "Descuento por volumen −15,00 €",
        "Pago completo (5 %) −20,00 €",
        "Código de amigo −15,00 €",
        "Amigos invitados −40,00 €",
        "Precio final 317,50 €",
    ]

    calculator.expect_lines(*expected)
    calculator.expect_blurred()
    expect(calculator.figures).to_have_attribute("inert", "")
    calculator.open_contact()

    held = HeldRequests(visitor.page, f"**{BUDGET}")
    calculator.send(visitor.email)
    expect(calculator.button("Enviando...")).to_be_disabled()
    expect(
        calculator.card.get_by_text("Guardando tu presupuesto y enviándolo por email...")
    ).to_be_visible()
    expect(calculator.card.get_by_label("Email")).to_be_disabled()
    expect(calculator.card.get_by_label("Teléfono")).to_be_disabled()
    held.release()

    expect(calculator.card.get_by_text(SENT)).to_be_visible()
    expect(
        visitor.toast(
            "¡Perfect! Tu presupuesto ha sido enviado a tu email. Te contactaremos pronto."
        )
    ).to_be_visible()
    expect(calculator.card.get_by_label("Email")).to_have_count(0)
    expect(calculator.figures).to_have_css("filter", "none")
    calculator.expect_lines(*expected)

    quote = Quote.objects.get(lead__email=visitor.email)
    assert [str(quote.base_price), str(quote.final_price)] == ["407.50", "317.50"]
    mail = html_of(mail_with("Tu presupuesto", visitor.email)).replace("\xa0", " ")
    assert "317,50 €" in mail
    assert micro.name in mail
    assert macro.name in mail
    assert re.search(r"/compra\?presupuesto=", mail)

    # The screen says what the mail says, and its button leads on with the data filled in.
    guarantee = (
        r"^Precio garantizado: 372,50 € hasta el \d+ de \w+ de \d{4}, para estas mismas "
        r"asignaturas y con pago completo\. No incluye «Código de amigo» \(15,00 €\) ni "
        r"«Amigos invitados» \(40,00 €\): los descuentos por invitación están sujetos a "
        r"comprobación y los confirmamos contigo\.$"
    )
    expect(calculator.card.locator(".calculator__guarantee")).to_have_text(
        re.compile(guarantee.replace(" ", r"\s+")), use_inner_text=True
    )
    calculator.card.get_by_role("link", name="Abrir la tienda con estas asignaturas").click()
    visitor.wait_for_catalogue()
    # Today's price, without the quote's rounding to whole euros, is the lower one.
    expect(visitor.cart_button).to_contain_text("372,12 €")
    visitor.open_dialog()
    expect(visitor.dialog.get_by_label("Teléfono")).to_have_value("600123123")
    expect(visitor.dialog.locator("input[type=email]")).to_have_value(visitor.email)
    expect(visitor.terms).not_to_be_checked()


def answering(status: int, body: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=status, body=body)


LIMIT = '{"success": false, "error": "Demasiadas solicitudes.", "code": "too_many_requests"}'


def test_budget_that_is_not_sent_shows_the_reason_and_the_result_stays_blurred(
    visitor, shelf, micro
):
    """The rules of the fields: static_src/schemas/leads.test.ts."""
    for problem in ("429", "400", "500", "ApiError"):
        visitor.watch.expect(problem)
    calculator = Calculator(visitor).ask().choose(shelf, micro).open_contact()
    requests = visitor.responses_of(BUDGET)
    for email, phone, sentence, focused in (
        ("", "", "Por favor, completa todos los campos", "Email"),
        ("ana@example.com", "12345678", "Por favor, introduce un teléfono válido", "Teléfono"),
    ):
        calculator.send(email, phone)
        expect(visitor.toast("Error", sentence)).to_be_visible()
        expect(calculator.card.locator(".field__error").first).to_have_text(sentence)
        field = calculator.card.get_by_label(focused)
        expect(field).to_be_focused()
        expect(field).to_have_accessible_description(sentence)
    assert requests == []

    # The fields were disabled while the server was asked. It wants two letters there.
    calculator.send("ana@example.c")
    expect(calculator.card.get_by_label("Email")).to_have_attribute("aria-invalid", "true")
    expect(calculator.card.get_by_label("Email")).to_be_focused()

    for status, body, sentence in (
        (429, LIMIT, "Demasiadas solicitudes."),
        (500, "<h1>no</h1>", "Error al enviar el presupuesto"),
    ):
        visitor.page.route(f"**{BUDGET}", answering(status, body))
        calculator.send(visitor.email)
        expect(visitor.toast("Error", sentence)).to_be_visible()
        expect(calculator.button("Enviar presupuesto")).to_be_enabled()
        expect(calculator.card.get_by_label("Email")).to_have_value(visitor.email)
    calculator.expect_blurred()


def test_sent_budget_shows_the_prices_of_the_server(visitor, shelf, micro):
    calculator = Calculator(visitor).ask().choose(shelf, micro).open_contact()
    # The price changes after the page has loaded the lists.
    micro.final_price = Decimal("200.00")
    micro.name = "Microeconomía I"
    micro.save()
    calculator.send(visitor.email)

    expect(calculator.card.get_by_text(SENT)).to_be_visible()
    expect(calculator.figures.get_by_role("listitem")).to_have_text(
        ["Microeconomía I 200,00 €"], use_inner_text=True
    )
    calculator.expect_lines("Precio base 200,00 €", "Precio final 200,00 €")


def test_all_three_steps_by_keyboard_only(visitor, shelf, micro):
    calculator = Calculator(visitor)
    keyboard = visitor.page.keyboard
    calculator.select("Número de asignaturas").focus()
    for _ in range(4):
        keyboard.press("Tab")
    keyboard.press("Enter")
    expect(calculator.card.get_by_role("heading", level=3)).to_be_focused()
    calculator.choose_degree(shelf)
    calculator.select("Asignatura 1").focus()
    keyboard.press("ArrowDown")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(calculator.card.get_by_role("heading", level=3)).to_be_focused()
    keyboard.press("Tab")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(calculator.card.get_by_label("Email")).to_be_focused()
    keyboard.type(visitor.email)
    keyboard.press("Tab")
    keyboard.type("600123123")
    keyboard.press("Enter")
    expect(calculator.card.get_by_text(SENT)).to_be_focused()


def test_quote_link_with_a_bad_signature_opens_the_catalogue_with_an_error(visitor):
    visitor.watch.expect("404")
    visitor.open_catalogue(query="presupuesto=1.x")
    expect(visitor.toast("Error", "El presupuesto no existe.")).to_be_visible()
    expect(visitor.cart_button).to_have_count(0)
