"""Print, text at 200 %, the header of a small laptop, failures, and the description of the API."""

import base64

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import Page, expect

from apps.pages.models import TeamMember
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.visitor import expect_to_fit, set_text_size, wait_until

MENU = ".menu summary"


def right_edge(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box, selector
    return box["x"] + box["width"]


def test_pages_print_without_controls_and_with_the_addresses_of_legal_links(visitor):
    page = visitor.page
    page.goto("/terminos")
    page.emulate_media(media="print", color_scheme="dark")
    for selector in (".skip-link", ".header", ".help", ".toasts", ".sandbox", ".footer__columns"):
        expect(page.locator(selector).first).to_be_hidden()
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(page.locator("body")).to_have_css("color", "rgb(0, 0, 0)")
    link = page.locator(".prose a[href='/privacidad']").first
    printed = link.evaluate("element => getComputedStyle(element, '::after').content")
    assert printed.endswith('/privacidad)"')

    # The tints of the dark scheme would hide the black text.
    tokens = page.evaluate(
        """["accent", "success", "danger", "warning"].map((name) =>
             getComputedStyle(document.documentElement).getPropertyValue(`--color-${name}-soft`))"""
    )
    assert set(tokens) == {"#ffffff"}

    page.goto("/")
    for selector in (".video", ".button", ".carousel__controls", "#contacto form"):
        expect(page.locator(selector).first).to_be_hidden()
    # No heading or band of what is hidden.
    expect(page.get_by_role("heading", name="Así es estudiar con nosotros")).to_be_hidden()
    expect(page.get_by_role("heading", name="Un método pensado para la distancia")).to_be_visible()
    # Folded answers are printed.
    expect(page.locator(".faq__item p").first).to_be_visible()
    # Each institution is printed once, inside a sheet of A4 and of the widths of both windows.
    for size in (PHONE, {"width": 720, "height": 1000}, DESKTOP):
        page.set_viewport_size(size)
        paper = page.evaluate("document.documentElement.clientWidth")
        names = page.locator(".institutions__list li")
        boxes = [name.bounding_box() for name in names.all() if name.is_visible()]
        assert len(boxes) * 2 == names.count()
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= paper for box in boxes)
        expect_to_fit(page)
    page.goto("/precios")
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        expect(page.locator("#calculadora")).to_be_hidden()
        table = page.locator(".table").first
        expect(table).to_have_css("break-inside", "avoid")
        expect(table.locator("td").last).to_have_css("position", "static")
        expect(table.locator("td").last).to_be_visible()


def test_price_table_shows_its_last_column_on_a_phone(phone):
    phone.page.goto("/precios")
    last = phone.page.locator(".table tbody tr").first.locator("td").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport(ratio=1)


def test_text_at_200_percent_keeps_menu_and_content_on_a_phone_screen(new_visitor):
    page = new_visitor(viewport={"width": 320, "height": 640}).page
    set_text_size(page, 32)
    for path in ("/", "/precios", "/servicios", "/nosotros", "/login", "/cancel", "/compra"):
        page.goto(path)
        if path == "/compra":
            expect(page.get_by_label("Por página")).to_be_visible()
        wait_until(page, lambda: right_edge(page, MENU) <= 320)
        expect_to_fit(page)
    page.locator(MENU).click()
    menu = page.get_by_role("navigation", name="Menú")
    last = menu.get_by_role("link", name="Compra asignaturas")
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport()


def test_menu_icon_becomes_a_cross_and_header_of_1024_px_keeps_name_and_gaps(new_visitor, phone):
    phone.page.goto("/nosotros")
    icons = phone.page.locator(f"{MENU} .icon")
    expect(icons.nth(0)).to_be_visible()
    phone.page.locator(MENU).tap()
    expect(icons.nth(0)).to_be_hidden()
    expect(icons.nth(1)).to_be_visible()

    page = new_visitor(viewport={"width": 1024, "height": 768}).page
    page.goto("/")
    expect(page.get_by_role("banner").get_by_text("Academia Faro")).to_be_visible()

    # The hidden sign-in button leaves no hole between the buttons that are shown.
    def gap() -> float:
        buy = page.locator(".header__buy").bounding_box()
        assert buy
        return buy["x"] - right_edge(page, ".header__actions .header__free")

    wait_until(page, lambda: 0 <= gap() < 24)
    wait_until(page, lambda: right_edge(page, ".header__buy") <= 1024)


def test_plan_links_of_the_menu_open_the_tab_of_their_plan(visitor):
    page = visitor.page
    page.goto("/servicios#plan-completo")
    tab = page.get_by_role("tab", name="Asignatura Completa")
    expect(tab).to_have_attribute("aria-selected", "true")
    nav = page.get_by_role("navigation", name="Principal")
    nav.get_by_role("link", name="Demo plataforma").hover()
    nav.get_by_role("link", name="Plan PEC Individual").click()
    expect(tab).to_have_attribute("aria-selected", "false")


@pytest.mark.browser
def test_documentation_lists_the_calls_without_inline_code(page):
    blocked = []
    page.on("console", lambda line: blocked.append(line.text) if line.type == "error" else None)
    page.goto("/api/docs")

    expect(page.get_by_text("/api/process-checkout", exact=True)).to_be_visible()
    assert [line for line in blocked if "script" in line.lower()] == []


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_island_that_throws_shows_unexpected_application_error_with_the_message(visitor):
    visitor.watch.expect("sin moneda")
    visitor.page.add_init_script(
        "Object.defineProperty(Intl.NumberFormat.prototype, 'format', "
        "{ get() { throw new Error('sin moneda') } })"
    )
    visitor.page.goto("/compra")

    alert = visitor.page.get_by_role("main").get_by_role("alert")
    expect(alert).to_contain_text("Unexpected Application Error!")
    expect(alert).to_contain_text("sin moneda")
    with visitor.page.expect_navigation():
        alert.get_by_role("button", name="Recargar la página").click()


@pytest.fixture
def teacher():
    member = TeamMember.objects.create(name="Lucía Martín Sanz", degree="Derecho")
    yield member
    member.photo.delete(save=False)
    member.delete()


def test_photo_covers_the_initials_and_a_photo_that_fails_to_load_is_removed(visitor, teacher):
    teacher.photo.save("lucia.png", ContentFile(PIXEL))
    visitor.page.goto("/nosotros")
    avatar = visitor.page.locator(".team__member", has_text=teacher.name).locator(".avatar")
    photo = avatar.locator("img")
    avatar.scroll_into_view_if_needed()
    expect(photo).to_have_js_property("naturalWidth", 1)
    wait_until(visitor.page, lambda: photo.bounding_box() == avatar.bounding_box())

    # The initials lie behind the photo, and not below it over the name.
    def behind() -> bool:
        top, initials = photo.bounding_box(), avatar.locator("span").bounding_box()
        assert top
        assert initials
        return initials["y"] + initials["height"] <= top["y"] + top["height"]

    wait_until(visitor.page, behind)

    visitor.watch.expect("404")
    TeamMember.objects.filter(pk=teacher.pk).update(photo="equipo/nadie.png")
    visitor.page.reload()
    avatar.scroll_into_view_if_needed()
    expect(photo).to_have_count(0)
    expect(avatar).to_have_text("LM")
