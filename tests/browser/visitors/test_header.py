"""The header, menus, scrolling to anchors, the help widget, tooltips and toasts."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.visitor import (
    expect_to_fit,
    next_frame,
    pass_time,
    point_at,
    settled,
    wait_until,
)

TABLET = {"width": 768, "height": 1024}
SMALL_LAPTOP = {"width": 1024, "height": 768}


def open_page(page: Page, path: str) -> None:
    """Open the page and wait until its loader has run."""
    page.goto(path)
    page.wait_for_load_state("load")


def demo_button(page: Page):  # type: ignore[no-untyped-def]
    return page.get_by_role("button", name="Planes de la demo")


# ---------------------------------------------------------------- hover menus
def test_hover_menus_open_on_mouse_enter_and_close_on_mouse_leave(visitor):
    page = visitor.page
    open_page(page, "/nosotros")
    nav = page.get_by_role("navigation", name="Principal")
    plan = nav.get_by_role("link", name="Plan PEC Individual")
    budget = nav.get_by_role("link", name="Generar presupuesto instantáneo")
    expect(plan).to_be_hidden()

    nav.get_by_role("link", name="Demo plataforma").hover()
    expect(plan).to_be_visible()
    assert plan.get_attribute("href") == "/servicios#plan-individual"
    full = nav.get_by_role("link", name="Plan Asignatura Completa")
    assert full.get_attribute("href") == "/servicios#plan-completo"

    nav.get_by_role("link", name="Precios").hover()
    expect(plan).to_be_hidden()
    expect(budget).to_be_visible()
    expect(nav.get_by_role("link", name="Descuentos")).to_be_visible()

    page.mouse.move(5, 600)
    expect(budget).to_be_hidden()


def test_clicking_precios_opens_the_prices_page_that_was_fetched_before(visitor):
    page = visitor.page
    with page.expect_response("**/speculation-rules.json"):
        open_page(page, "/nosotros")
    page.get_by_role("navigation", name="Principal").get_by_role("link", name="Precios").click()
    page.wait_for_url("**/precios")
    delivery = "performance.getEntriesByType('navigation')[0].deliveryType"
    assert page.evaluate(delivery) == "navigational-prefetch"


def test_hover_menus_open_and_close_by_keyboard(visitor):
    page = visitor.page
    open_page(page, "/nosotros")
    plan = page.get_by_role("navigation", name="Principal").get_by_role(
        "link", name="Plan PEC Individual"
    )
    button = demo_button(page)
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Tab")
    expect(plan).to_be_focused()
    page.keyboard.press("Escape")
    expect(plan).to_be_hidden()
    expect(button).to_be_focused()

    page.keyboard.press("Space")
    expect(plan).to_be_visible()
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Nuestros profesores").first).to_be_focused()
    expect(plan).to_be_hidden()


def test_hover_menus_open_and_close_by_touch(new_visitor):
    page = new_visitor(viewport=TABLET, has_touch=True, is_mobile=True).page
    open_page(page, "/nosotros")
    plan = page.get_by_role("navigation", name="Principal").get_by_role(
        "link", name="Plan PEC Individual"
    )
    demo_button(page).tap()
    expect(plan).to_be_visible()
    demo_button(page).tap()
    expect(plan).to_be_hidden()
    demo_button(page).tap()
    page.touchscreen.tap(380, 800)
    expect(plan).to_be_hidden()
    demo_button(page).tap()
    plan.tap()
    page.wait_for_url("**/servicios#plan-individual")


# ---------------------------------------------------------------- header bar
def test_header_buttons_have_long_labels_on_wide_screens_only_and_login_opens_a_new_tab(visitor):
    page = visitor.page
    open_page(page, "/nosotros")
    header = page.get_by_role("banner")
    for viewport in (TABLET, SMALL_LAPTOP):
        page.set_viewport_size(viewport)
        expect(header.get_by_role("link", name="Ingresar")).to_be_visible()
        expect(header.get_by_role("link", name="Comprar", exact=True)).to_be_visible()
        expect(header.get_by_role("link", name="Iniciar sesión")).to_be_hidden()
        expect_to_fit(page)
    page.set_viewport_size(DESKTOP)
    login = page.get_by_role("banner").get_by_role("link", name="Iniciar sesión")
    expect(login).to_be_visible()
    assert login.get_attribute("href") == "/aula"
    assert login.get_attribute("target") == "_blank"
    buy = page.get_by_role("banner").get_by_role("link", name="Compra asignaturas")
    assert buy.get_attribute("href") == "/compra"


def test_login_button_on_home_is_hidden_until_scrolled_past_the_video(visitor):
    page = visitor.page
    open_page(page, "/")
    login = page.get_by_role("banner").get_by_role("link", name="Iniciar sesión")
    expect(login).to_be_hidden()
    page.locator("#metodo").evaluate("element => element.scrollIntoView({behavior: 'instant'})")
    expect(login).to_be_visible()
    expect(page.get_by_role("banner")).to_be_in_viewport(ratio=1)
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    expect(login).to_be_hidden()


def test_mobile_menu_has_all_items_and_opiniones_scrolls_to_the_testimonials(phone):
    page = phone.page
    open_page(page, "/")
    expect(page.get_by_role("navigation", name="Principal")).to_be_hidden()
    page.get_by_label("Menú", exact=True).first.tap()
    menu = page.get_by_role("navigation", name="Menú")
    expect(menu).to_be_visible()
    items = [text.strip() for text in menu.get_by_role("link").all_inner_texts()]
    assert [item for item in items if item != "Asignatura gratis"] == [
        "Demo plataforma",
        "Nuestros profesores",
        "Opiniones",
        "Precios",
        "Generar presupuesto instantáneo",
        "Descuentos",
        "Contacto",
        "Iniciar sesión",
        "Compra asignaturas",
    ]
    menu.get_by_role("link", name="Opiniones").tap()
    expect(menu).to_be_hidden()
    expect(
        page.get_by_role("heading", name="Lo que dicen nuestros estudiantes")
    ).to_be_in_viewport()


def test_mobile_menu_closes_on_escape_and_on_a_touch_outside(phone):
    page = phone.page
    open_page(page, "/login")
    opener = page.locator(".menu summary")
    menu = page.get_by_role("navigation", name="Menú")
    opener.focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(opener).to_be_focused()
    opener.tap()
    page.touchscreen.tap(190, 820)
    expect(menu).to_be_hidden()


# ---------------------------------------------------------------- anchors
RECORD_SCROLLS = """
  window.scrolls = [];
  const own = Element.prototype.scrollIntoView;
  Element.prototype.scrollIntoView = function (options) {
    scrolls.push([this.id, options.behavior, scrollY, performance.now()
      - performance.timing.loadEventStart + performance.timing.navigationStart]);
    own.call(this, options);
  };
"""


def first_scroll(page: Page) -> list[object]:
    wait_until(page, lambda: page.evaluate("scrolls.length > 0"))
    return list(page.evaluate("scrolls[0]"))


def in_view(page: Page, anchor: str) -> None:
    expect(page.locator(anchor)).to_be_in_viewport()


def expect_scroll_after(page: Page, anchor: str, milliseconds: int) -> None:
    """The page scrolls no sooner than so long after it has loaded."""
    *scroll, after_ms = first_scroll(page)
    assert scroll == [anchor, "smooth", 0]
    assert float(str(after_ms)) >= milliseconds - 10
    in_view(page, f"#{anchor}")


def test_link_to_a_section_of_another_page_scrolls_300_ms_after_loading(visitor):
    page = visitor.page
    page.add_init_script(RECORD_SCROLLS)
    open_page(page, "/nosotros")
    page.get_by_role("navigation", name="Principal").get_by_role("link", name="Contacto").click()
    page.wait_for_url("**/*#contacto")
    expect_scroll_after(page, "contacto", 300)


# A late jump of the browser, and the lowest place that was drawn between loading and the page's own
# scroll. A slow page may draw the browser's first jump, before any script of the page has run.
JUMP = """
  window.lowest = 0;
  addEventListener("load", () => {
    setTimeout(() => scrollTo({ top: 3000 }), 100);
    requestAnimationFrame(function drawn() {
      if (scrolls.length) return;
      lowest = Math.max(lowest, scrollY);
      requestAnimationFrame(drawn);
    });
  });
"""


def test_late_jump_of_the_browser_is_never_drawn(visitor):
    page = visitor.page
    page.add_init_script(RECORD_SCROLLS + JUMP)
    page.goto("/#faq")
    assert first_scroll(page)[:3] == ["faq", "smooth", 0]
    assert page.evaluate("lowest") == 0
    in_view(page, "#faq")


def test_page_opens_at_the_top_and_going_back_restores_the_scroll_position(visitor):
    page = visitor.page
    open_page(page, "/")
    page.evaluate("scrollTo({top: 1500, behavior: 'instant'})")
    # Playwright's click would scroll the page to a sticky element.
    page.evaluate("document.querySelector('.header__buy').click()")
    page.wait_for_url("**/compra")
    wait_until(page, lambda: page.evaluate("scrollY === 0"))
    page.go_back()
    page.wait_for_url(re.compile(r"/$"))
    wait_until(page, lambda: page.evaluate("Math.abs(scrollY - 1500) < 60"))


def test_reduced_motion_jumps_to_the_hash_without_smooth_scrolling(new_visitor):
    page = new_visitor(reduced_motion="reduce").page
    page.add_init_script(RECORD_SCROLLS)
    page.goto("/#faq")
    in_view(page, "#faq")
    pass_time(page, 500)
    assert page.evaluate("scrolls") == []
    expect(page.locator("html")).to_have_css("scroll-behavior", "auto")


# ---------------------------------------------------------------- help widget
def test_help_widget_appears_4_s_after_load_expands_minimises_and_closes_until_reload(visitor):
    page = visitor.page
    visitor.load_with_stopped_clock()
    open_page(page, "/nosotros")
    button = page.locator(".help summary")
    page.clock.run_for(3000)
    expect(button).to_be_hidden()
    page.clock.run_for(1100)
    expect(button).to_be_visible()
    for side in ("width", "height"):
        expect(button).to_have_css(side, "56px")

    visitor.press(button)
    card = page.get_by_role("complementary", name="Ayuda")
    expect(card.get_by_text("Tienes dudas?", exact=True)).to_be_visible()
    links = {
        link.inner_text().strip(): (link.get_attribute("href"), link.get_attribute("target"))
        for link in card.get_by_role("link").all()
    }
    assert links == {
        "Comprar": ("/compra", None),
        "Presupuesto": ("/precios#presupuesto", None),
        "Chat": (
            "https://wa.me/34910000000?text=Hola%2C+me+gustar%C3%ADa+recibir+m%C3%A1s+"
            "informaci%C3%B3n.",
            "_blank",
        ),
        "Email": ("mailto:hola@academia.example", None),
    }
    # A card in the corner on a wide screen, a sheet at the bottom on a phone.
    expect(page.locator(".help__card")).not_to_have_css("width", "390px")
    page.set_viewport_size(PHONE)
    expect(page.locator(".help__card")).to_have_css("width", "390px")

    visitor.press(card.get_by_role("button", name="Minimizar"))
    expect(card.get_by_text("Tienes dudas?", exact=True)).to_be_hidden()
    expect(button).to_be_focused()
    visitor.press(button)
    card.get_by_role("link", name="Email").focus()
    page.keyboard.press("Escape")
    expect(card.get_by_text("Tienes dudas?", exact=True)).to_be_hidden()
    expect(button).to_be_focused()
    visitor.press(button)
    visitor.press(card.get_by_role("button", name="Cerrar"))
    page.clock.run_for(20_000)
    expect(page.locator(".help")).to_have_count(0)
    open_page(page, "/nosotros?origen=correo")
    page.clock.run_for(4100)
    expect(page.locator(".help")).to_have_count(0)

    page.reload()
    page.clock.run_for(4100)
    expect(button).to_be_visible()


# ---------------------------------------------------------------- tooltips
def test_tooltip_opens_after_700_ms_and_the_next_one_at_once_within_300_ms(visitor):
    page = visitor.page
    page.clock.install()
    open_page(page, "/nosotros")
    visitor.stop_the_clock()
    page.clock.run_for(4100)
    # Pointing at the first element with a tooltip loads the code of all tooltips.
    with page.expect_response(lambda answer: "/tooltip-" in answer.url) as code:
        page.locator(".help summary").click()
    settled(page, "(url) => import(url).then(() => undefined)", code.value.url)
    tooltip = page.locator(".tooltip")
    page.mouse.move(5, 300)
    page.clock.run_for(2000)

    page.get_by_role("button", name="Minimizar").hover()
    page.clock.run_for(650)
    expect(tooltip).to_have_count(0)
    page.clock.run_for(60)
    expect(tooltip).to_have_text("Minimizar")

    page.get_by_role("button", name="Cerrar").hover()
    page.clock.run_for(5)
    expect(tooltip).to_have_text("Cerrar")

    page.mouse.move(5, 300)
    expect(tooltip).to_have_count(0)
    page.clock.run_for(350)
    page.get_by_role("button", name="Cerrar").hover()
    page.clock.run_for(650)
    expect(tooltip).to_have_count(0)
    page.clock.run_for(60)
    expect(tooltip).to_have_text("Cerrar")
    page.keyboard.press("Escape")
    expect(tooltip).to_have_count(0)


def test_tooltip_shows_a_name_that_is_cut_off_and_not_one_that_fits(visitor):
    page = visitor.page
    open_page(page, "/")
    page.locator("#testimonios").scroll_into_view_if_needed()
    expect(page.locator("[data-island=testimonials][data-mounted]")).to_be_attached()
    degree = page.locator(".testimonial__degree").first
    degree.hover()
    pass_time(page, 1000)
    expect(page.locator(".tooltip")).to_have_count(0)
    long_name = "Administración y Dirección de Empresas, Economía y Relaciones Laborales"
    degree.evaluate("(element, name) => { element.textContent = name }", long_name)
    point_at(page, degree)
    expect(page.locator(".tooltip")).to_have_text(long_name)


# ---------------------------------------------------------------- toasts
def test_toast_is_shown_for_4_s_and_at_most_3_are_visible(visitor):
    page = visitor.page
    page.clock.install()
    open_page(page, "/")
    page.locator("#contacto").scroll_into_view_if_needed()
    expect(page.locator("[data-island=contact][data-mounted]")).to_be_attached()
    visitor.stop_the_clock()
    toasts = page.locator(".toast")
    for shown in (1, 2, 3, 3):
        page.get_by_role("button", name="Enviar mensaje").click()
        expect(toasts).to_have_count(shown)
    page.clock.run_for(2500)
    expect(toasts).to_have_count(3)
    page.clock.run_for(1600)
    expect(toasts).to_have_count(0)


# ---------------------------------------------------------------- narrow phones
def test_no_page_is_wider_than_a_screen_of_320_px(new_visitor):
    page = new_visitor(viewport={"width": 320, "height": 640}).page
    for path in (
        "/", "/compra", "/precios", "/servicios", "/nosotros", "/cancel", "/terminos", "/aula",
        "/desistimiento",
    ):  # fmt: skip
        page.goto(path)
        expect_to_fit(page)


# WCAG 2.2, criterion 1.4.12. The content policy refuses a style element, and not this.
SPACE_TEXT = """() => {
  const spacing = new CSSStyleSheet();
  spacing.replaceSync(`
    * { line-height: 1.5 !important; letter-spacing: .12em !important;
        word-spacing: .16em !important; }
    p { margin-bottom: 2em !important; }`);
  document.adoptedStyleSheets = [spacing];
}"""


def test_text_spaced_by_the_reader_makes_no_page_wider_than_the_screen(visitor):
    page = visitor.page
    for path in ("/", "/compra", "/nosotros", "/terminos"):
        page.goto(path)
        page.evaluate(SPACE_TEXT)
        for width in (1280, 1024, 768, 390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            expect_to_fit(page)


WRAPPED = """(labels) => labels.filter((label) => {
  const text = document.createRange();
  text.selectNodeContents(label);
  const lines = [...text.getClientRects()].filter(({ width }) => width > 1);
  const height =
    Math.max(...lines.map(({ bottom }) => bottom)) - Math.min(...lines.map(({ top }) => top));
  return height > 1.8 * parseFloat(getComputedStyle(label).fontSize);
}).map(({ textContent }) => textContent)"""


def test_labels_of_the_header_take_one_line_each(visitor):
    page = visitor.page
    open_page(page, "/nosotros")
    settled(page, "() => document.fonts.ready.then(() => undefined)")
    labels = page.locator(".header :is(.brand span, .header__nav a, .header__actions .button)")
    for width in (1440, 1280, 1024, 768, 390, 375):
        page.set_viewport_size({"width": width, "height": 800})
        next_frame(page)
        assert labels.evaluate_all(WRAPPED) == [], width


def test_search_suggests_pages_by_keyboard_despite_typos(visitor, shelf):
    subject = shelf.put("Oceanografía física", "200.00")
    page = visitor.page
    page.goto("/precios")
    page.get_by_label("Buscar asignaturas").click()
    field = page.get_by_role("combobox", name="Asignatura, grado o universidad")
    expect(field).to_be_focused()
    field.press_sequentially("ocenaografia")
    option = page.get_by_role("option", name=subject.name)
    expect(option).to_be_visible()
    visitor.assert_accessible()
    field.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", "sugerencia-0")
    field.press("Escape")
    expect(option).to_be_hidden()
    expect(field).to_be_visible()
    field.fill("oceanografia")
    expect(option).to_be_visible()
    field.press("ArrowUp")
    field.press("Enter")
    page.wait_for_url(f"**{subject.page_path}")


def test_nothing_found_leads_to_the_request_of_a_subject(phone):
    page = phone.page
    page.goto("/")
    phone.press(page.get_by_label("Buscar asignaturas"))
    page.get_by_role("combobox", name="Asignatura, grado o universidad").fill("zzzzzzzz")
    phone.press(page.get_by_role("option", name="No encontramos «zzzzzzzz»"))
    page.wait_for_url("**/buscar?q=zzzzzzzz")
    expect(page.get_by_text("No se encontraron asignaturas")).to_be_visible()
    phone.assert_accessible()
    phone.press(page.get_by_text("¿No encuentras tu asignatura?"))
    expect(page.get_by_role("link", name="Solicitar asignatura")).to_be_visible()
