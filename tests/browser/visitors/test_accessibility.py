"""axe finds no accessibility problem, in the light and dark scheme, on desktop and phone."""

import re
from typing import Literal

import pytest
from playwright.sync_api import ViewportSize, expect

from apps.pages import models as pages
from tests.browser.records import (
    ACCESS,
    mail_with,
    pay_elsewhere,
    save_for_later,
    text_of,
)
from tests.browser.visitor import Visitor, axe_problems, expect_to_fit
from tests.browser.visitors.calculator import SENT, Calculator
from tests.helpers.factories import whole

# Widths decide the layout and schemes the colours, so two looks have both of each.
LOOKS: tuple[tuple[ViewportSize, Literal["light", "dark"]], ...] = (
    ({"width": 390, "height": 844}, "dark"),
    ({"width": 1440, "height": 900}, "light"),
)
DIALOG = "[role=dialog]"


@pytest.fixture
def reader(new_visitor):
    # Reduced motion: axe must not measure colors in the middle of a transition.
    return new_visitor(viewport=LOOKS[-1][0], reduced_motion="reduce")


@pytest.fixture(params=["desktop", "phone"])
def reader_of_menus(request, new_visitor):
    """A reader who keeps one width: a change of it closes the menus."""
    phone = {"viewport": LOOKS[0][0], "has_touch": True, "is_mobile": True, "color_scheme": "dark"}
    look = phone if request.param == "phone" else {"viewport": LOOKS[-1][0]}
    return new_visitor(**look, reduced_motion="reduce")


def assert_accessible(reader: Visitor, part: str = "html") -> None:
    """Assert that axe finds no problem in this part in either look. The reader keeps the last one.

    The plain page is judged whole. What a step changes in it is judged alone, in less time.
    """
    found = []
    for size, scheme in LOOKS:
        reader.page.set_viewport_size(size)
        reader.page.emulate_media(color_scheme=scheme)
        found += [f"{scheme}: {problem}" for problem in axe_problems(reader.page, part=part)]
    assert not found, "\n".join(found)


@pytest.fixture
def maths(shelf):
    """A subject of 200 €, or 190 € with full payment."""
    return shelf.put("Cálculo", "200.00", lessons=3)


def test_catalogue_and_payment_dialog_are_accessible(reader, maths):
    reader.open_catalogue(maths.degree).fill_cart([maths])
    assert_accessible(reader)

    reader.open_dialog()
    reader.press(reader.dialog.get_by_role("button", name="Continuar"))
    expect(reader.dialog.get_by_text("Escribe tu teléfono.", exact=True)).to_be_visible()
    assert_accessible(reader)

    reader.fill_contact()
    assert_accessible(reader, DIALOG)
    reader.apply_code("NOEXISTE")
    expect(reader.field("Código promocional")).to_have_attribute("aria-invalid", "true")
    reader.apply_code("BIENVENIDA10")
    expect(reader.dialog.get_by_text("Código BIENVENIDA10 aplicado")).to_be_visible()
    reader.tick_boxes().open_card_form("171,00 €")
    assert_accessible(reader, DIALOG)


def test_success_page_and_recovery_page_are_accessible(reader, maths, email):
    reader.page.goto(save_for_later(email, whole(maths), total="190"))
    reader.tick_boxes().open_card_form("190,00 €")
    assert_accessible(reader)

    reference = pay_elsewhere(f"otra.{email}", whole(maths), total="190")
    reader.page.goto(f"/success?payment_intent_id={reference}")
    assert_accessible(reader)
    reader.expect_success()
    assert_accessible(reader)


def test_classroom_is_accessible(reader, maths, email):
    reader.page.goto("/aula")
    assert_accessible(reader)

    pay_elsewhere(email, whole(maths), total="190")
    link = re.search(r"https?://\S+/aula/acceso\?enlace=\S+", text_of(mail_with(ACCESS, email)))
    assert link is not None
    reader.page.goto(link[0])
    assert_accessible(reader)
    reader.page.get_by_label("Nombre", exact=True).fill("Ana")
    reader.page.get_by_label("Apellidos").fill("Muñoz")
    reader.page.get_by_label("Contraseña nueva").fill("ñandú-veloz-27")
    reader.page.get_by_label("Repite la contraseña").fill("ñandú-veloz-27")
    reader.page.get_by_role("button", name="Guardar y entrar en el aula").click()
    expect(reader.page.get_by_role("heading", name="Hola, Ana")).to_be_visible()
    assert_accessible(reader)
    reader.page.goto("/aula/perfil")
    assert_accessible(reader)


def test_cancel_recovery_404_and_login_pages_are_accessible(reader):
    reader.watch.expect("status of 404.*/no-existe")
    for path in ("/cancel", "/no-existe", "/complete-payment", "/login"):
        reader.page.goto(path)
        assert_accessible(reader)


# The five legal pages have one template.
def test_accessibility_statement_is_reached_from_footer_and_legal_notice(reader):
    page = reader.page
    page.goto("/aviso-legal")
    for link in (
        page.get_by_role("contentinfo").get_by_role("link", name="Accesibilidad"),
        page.get_by_role("main").get_by_role("link", name="declaración de accesibilidad"),
    ):
        link.click()
        expect(page.get_by_role("heading", name="Accesibilidad", level=1)).to_be_visible()
        page.go_back()
    page.go_forward()
    expect(page.get_by_role("heading", name="Si encuentras una barrera")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^\d+ de \w+ de 20\d\d · versión \d+$"))).to_be_visible()
    assert_accessible(reader)
    for size, _ in LOOKS:
        page.set_viewport_size(size)
        expect_to_fit(page)


# ---------------------------------------------------------------- the public site
def mount_visible_islands(reader: Visitor) -> None:
    """Scroll to every island that loads when it becomes visible, and wait until it is mounted."""
    for island in reader.page.locator("[data-island][data-load=visible]").all():
        island.scroll_into_view_if_needed()
        expect(island).to_have_attribute("data-mounted", "")


@pytest.mark.parametrize(
    ("path", "form", "button"),
    [
        ("/", "contact", "Enviar mensaje"),
        ("/servicios", "preview-contact", "Enviar"),
        ("/nosotros", "", ""),
        ("/precios", "", ""),
        ("/contenido-asignatura", "", ""),
    ],
)
def test_public_pages_and_the_error_messages_of_their_forms_are_accessible(
    reader, path, form, button
):
    reader.page.goto(path)
    mount_visible_islands(reader)
    if form:
        island = reader.page.locator(f"[data-island={form}]")
        reader.press(island.get_by_role("button", name=button, exact=True))
        expect(island.locator(".field__error").first).to_be_visible()
        expect(reader.page.locator(".toast")).to_be_visible()
    folded = reader.page.locator("main details")
    folded.evaluate_all("(all) => all.forEach((one) => { one.open = true; })")
    assert_accessible(reader)


def test_open_menus_and_help_card_are_accessible(reader_of_menus):
    page = reader_of_menus.page
    page.goto("/precios")
    small = page.locator(".menu summary")
    if small.is_visible():
        reader_of_menus.press(small)
        expect(page.get_by_role("navigation", name="Menú")).to_be_visible()
        reader_of_menus.assert_accessible()
        reader_of_menus.press(small)
    else:
        for name in ("Planes de la demo", "Presupuesto y descuentos"):
            toggle = page.get_by_role("button", name=name)
            reader_of_menus.press(toggle)
            expect(toggle).to_have_attribute("aria-expanded", "true")
            reader_of_menus.assert_accessible()
    reader_of_menus.press(page.locator(".help summary"))
    expect(page.get_by_text("Tienes dudas?", exact=True)).to_be_visible()
    reader_of_menus.assert_accessible()


def test_form_dialogs_and_their_error_messages_are_accessible(reader):
    page = reader.page
    page.goto("/precios")
    reader.press(page.locator("main").get_by_text("Solicitar mi descuento", exact=True))
    send = reader.dialog.get_by_role("button", name="Solicitar descuento")
    expect(send).to_be_visible()
    assert_accessible(reader)
    reader.press(send)
    expect(reader.dialog.locator(".field__error").first).to_be_visible()
    assert_accessible(reader, DIALOG)
    page.keyboard.press("Escape")
    expect(reader.dialog).to_have_count(0)

    reader.press(page.get_by_text("¿No encuentras tu asignatura?"))
    reader.press(page.locator(".subject-request").get_by_text("Solicitar asignatura"))
    reader.press(reader.dialog.get_by_role("button", name="Enviar solicitud"))
    expect(reader.dialog.locator(".field__error")).to_have_count(6)
    assert_accessible(reader, DIALOG)
    page.keyboard.press("Escape")

    reader.press(
        page.get_by_role("banner").get_by_text("Asignatura gratis").locator("visible=true")
    )
    expect(reader.dialog.get_by_role("button", name="Solicitar")).to_be_disabled()
    assert_accessible(reader, DIALOG)


def test_calculator_steps_and_error_messages_are_accessible(reader, shelf, maths):
    calculator = Calculator(reader)
    reader.tick(reader.box("Me ha invitado un amigo"))
    calculator.card.get_by_label("Código de amigo").fill("AMIGA")
    calculator.press("Aplicar")
    assert_accessible(reader, ".calculator")
    calculator.ask()
    calculator.choose(shelf, maths)
    assert_accessible(reader, ".calculator")
    calculator.open_contact().send("", "")
    expect(calculator.card.locator(".field__error")).to_have_count(2)
    assert_accessible(reader, ".calculator")
    calculator.send(reader.email)
    expect(calculator.card.get_by_text(SENT)).to_be_visible()
    assert_accessible(reader, ".calculator")


def test_both_tabs_of_the_plan_preview_are_accessible(reader):
    reader.page.goto("/servicios")
    mount_visible_islands(reader)
    reader.press(reader.page.get_by_role("tab", name="Asignatura Completa"))
    expect(reader.page.get_by_role("tabpanel", name="Asignatura Completa")).to_be_visible()
    assert_accessible(reader, "[data-island=plan-preview]")
    reader.press(reader.page.get_by_role("button", name=re.compile("EXAMEN")))
    expect(reader.page.get_by_role("heading", name=re.compile("EXAMEN"))).to_be_visible()
    assert_accessible(reader, "[data-island=plan-preview]")


def test_site_without_sample_content_is_accessible(reader, stack):
    """The site before its owner has added teachers, testimonials and institutions."""
    models = (pages.Institution, pages.TeamMember, pages.Testimonial)
    hidden = {model: list(model.objects.all()) for model in models}
    for model in models:
        model.objects.all().delete()
    try:
        reader.page.goto("/nosotros")
        expect(reader.page.get_by_text("Pronto te los presentamos aquí")).to_be_visible()
        assert_accessible(reader)
        reader.page.goto("/")
        expect(reader.page.get_by_role("link", name="Leer las 128 reseñas")).to_be_visible()
        mount_visible_islands(reader)
        assert_accessible(reader)
    finally:
        for model, rows in hidden.items():
            model.objects.bulk_create(rows)  # type: ignore[attr-defined]
