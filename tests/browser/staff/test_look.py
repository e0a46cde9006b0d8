"""The back office in Chromium: its navigation, and every list and form at both widths with axe."""

from urllib.parse import urljoin
from uuid import uuid4

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from apps.backoffice.navigation import ENTRIES
from apps.core.models import StaffAction
from apps.students.models import Student
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.visitor import Visitor, axe_problems, sign_in_staff

# What sticks out of the page, and fields and tables that are cut off at its edge.
CUT_OFF = """() => [
    ...(document.documentElement.scrollWidth > innerWidth ? [document.documentElement] : []),
    ...[...document.querySelectorAll('main :is(input, select, textarea, table)')].filter((part) =>
        part.checkVisibility() && part.type !== 'hidden' && !part.closest('.visually-hidden') &&
        part.getBoundingClientRect().right > innerWidth),
].map((part) => part.outerHTML.slice(0, 120))"""


@pytest.fixture
def clerk(new_visitor) -> Visitor:
    """A page signed in as the sample admin. Reduced motion: axe must not meet a transition."""
    visitor = new_visitor(reduced_motion="reduce")
    page = visitor.page
    sign_in_staff(page)
    expect(page.get_by_role("link", name="Hoy", exact=True)).to_have_attribute(
        "aria-current", "page"
    )
    return visitor


def problems(page: Page) -> list[str]:
    """What axe finds in the part of the page that is its own, and what is cut off at either width.

    The window keeps the second width for the next page: each change of it costs a new layout.
    """
    wide = page.viewport_size == DESKTOP
    # Contrasts take axe most of its time.
    found = page.evaluate(CUT_OFF)
    page.set_viewport_size(PHONE if wide else DESKTOP)
    found += axe_problems(page, part="main", without=["color-contrast"]) + page.evaluate(CUT_OFF)
    return [f"{page.url}: {problem}" for problem in found]


def problems_of_the_looks(page: Page) -> list[str]:
    """What axe finds on the whole page, wide and light or narrow and dark; and what is cut off."""
    found = []
    for size, scheme in ((DESKTOP, "light"), (PHONE, "dark")):
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        found += axe_problems(page) + page.evaluate(CUT_OFF)
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light")
    return [f"{page.url}: {problem}" for problem in found]


# The walk over all pages, in parts that run side by side.
PARTS = 2


@pytest.mark.parametrize("part", range(PARTS))
def test_every_list_and_form_is_accessible_and_fits_at_both_widths(
    clerk: Visitor, part: int
) -> None:
    page = clerk.page
    addresses = [reverse(entry.url_name) for entry in ENTRIES][part::PARTS]
    found: list[str] = []
    for address in addresses:
        page.goto(address)
        found += problems(page)
        add = page.locator(".object-tools a.addlink")
        form = add if add.count() else page.locator("#result_list tbody th a")
        if form.count():
            page.goto(urljoin(page.url, form.first.get_attribute("href")))
            found += problems(page)
    assert not found, "\n".join(found)


def test_log_of_staff_fits_with_words_of_any_length(clerk: Visitor) -> None:
    page = clerk.page
    address = f"{'x' * 120}@example.com"
    action = StaffAction.objects.create(
        actor_name="n" * 60,
        kind=StaffAction.Kind.CHANGED,
        about="students.student",
        object_id="1",
        object_repr=address,
        text=f"Correo: {address} → ana@example.com",
    )
    page.goto(f"{reverse('admin:core_staffaction_changelist')}?q={'n' * 60}")
    expect(page.get_by_text("→ ana@example.com")).to_be_visible()
    cut_off = page.evaluate(CUT_OFF)
    page.set_viewport_size(PHONE)
    cut_off += page.evaluate(CUT_OFF)
    # Other tests of this shop read the log, too.
    StaffAction.objects.filter(pk=action.pk).delete()
    assert cut_off == []


def test_start_page_orders_subject_and_merge_are_accessible_in_both_schemes(clerk: Visitor) -> None:
    page = clerk.page
    found = problems_of_the_looks(page)
    page.goto("/admin/orders/order/")
    found += problems_of_the_looks(page)
    # A form with rows.
    page.goto("/admin/catalogue/subject/")
    row = page.locator("#result_list tbody th a").first
    page.goto(urljoin(page.url, row.get_attribute("href")))
    found += problems_of_the_looks(page)
    # Merging two students: the form, and what would move.
    addresses = [f"{name}.{uuid4().hex[:8]}@example.com" for name in ("ana", "ana.maria")]
    student, _ = [Student.objects.create(email=address) for address in addresses]
    page.goto(f"/admin/students/student/{student.pk}/change/")
    merge = page.locator("section[aria-labelledby='merge-title']")
    merge.get_by_label("Correo del otro alumno").fill(addresses[1])
    merge.get_by_role("button", name="Ver qué se mueve").click()
    expect(page.get_by_role("button", name="Unir los dos alumnos")).to_be_visible()
    assert addresses[1] not in page.url
    found += problems_of_the_looks(page)
    assert not found, "\n".join(found)


def test_navigation_and_search_work_by_keyboard_on_a_phone(clerk: Visitor) -> None:
    page = clerk.page
    page.set_viewport_size(PHONE)
    menu = page.get_by_role("button", name="Menú")
    section = page.locator("#navegacion summary", has_text="Técnico")
    expect(section).to_be_hidden()
    menu.focus()
    page.keyboard.press("Enter")
    expect(section).to_be_visible()
    page.keyboard.press("Escape")
    expect(section).to_be_hidden()
    menu.press("Enter")
    section.press("Enter")
    expect(page.get_by_role("link", name="Procesos", exact=True)).to_be_visible()
    page.get_by_role("link", name="Pagos", exact=True).press("Enter")
    page.get_by_role("link", name="Plazos", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Plazos", level=1)).to_be_visible()
    menu.press("Enter")
    page.get_by_role("link", name="Pedidos", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Pedidos", level=1)).to_be_visible()
    page.locator("summary", has_text="Ordenar por").press("Enter")
    page.locator(".sort-by").get_by_role("link", name="Total").press("Enter")
    expect(page.locator("summary", has_text="Ordenar por: total")).to_be_visible()
    # A row shows its price and its state beside their names.
    row = page.locator("#result_list tbody tr").first
    for column in ("Estado", "Total"):
        expect(row.locator(f"[data-label='{column}']")).to_be_visible()

    box = page.get_by_role("searchbox", name="Buscar en todo")
    box.fill("ana.ejemplo@example.com")
    box.press("Enter")
    expect(page.get_by_role("heading", name="Alumnos", level=2)).to_be_visible()
    page.get_by_role("link", name="ana.ejemplo@example.com", exact=True).first.press("Enter")
    expect(page.get_by_role("navigation", name="Ruta")).to_contain_text("› Ana")
