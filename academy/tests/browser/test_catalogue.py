"""/compra: filters, pages and the query string (shop spec, section 2, "Purchase catalogue")."""

import re
from collections.abc import Callable, Iterator
from math import ceil

import pytest
from playwright.sync_api import Route, expect

from academy.tests.browser.records import Shelf, eventually
from academy.tests.browser.visitor import Visitor
from apps.catalogue.models import Degree, Lesson, Subject, University

CATALOGUE = "/api/catalogue"


def on_sale() -> int:
    return Subject.objects.on_sale().count()


def first_names(count: int) -> list[str]:
    subjects = Subject.objects.on_sale().most_enrolled_first()[:count]
    return [subject.name for subject in subjects]


def names_shown(visitor: Visitor) -> list[str]:
    return visitor.cards.get_by_role("heading").all_inner_texts()


@pytest.fixture
def full_shelf(shelf: Shelf) -> Shelf:
    """Twenty subjects of one degree: three pages of nine, two of eighteen."""
    for number in range(1, 21):
        shelf.put(f"Materia {number:02}", "100.00", lessons=1)
    return shelf


def test_the_first_open_university_is_selected_and_its_first_page_shown(visitor: Visitor) -> None:
    first = University.objects.open().by_name()[0]
    requests = visitor.answers(CATALOGUE)

    visitor.open_catalogue()

    university = visitor.page.get_by_label("Universidad")
    expect(university).to_have_value(str(first.pk))
    expect(university.get_by_role("option", name="Próximamente").first).to_be_disabled()
    expect(visitor.page.get_by_label("Carrera")).to_have_value("")
    expect(visitor.page.get_by_role("heading", name=f"{on_sale()} asignaturas")).to_be_visible()
    expect(visitor.cards).to_have_count(9)
    assert names_shown(visitor) == first_names(9)
    # The server's HTML holds this page: the island has taken it over without asking again.
    assert requests == []


@pytest.fixture
def none_open() -> Iterator[None]:
    """As on a site whose catalogue is still being filled."""
    ids = [university.pk for university in University.objects.open()]
    University.objects.filter(pk__in=ids).update(status=University.Status.COMING_SOON)
    yield
    University.objects.filter(pk__in=ids).update(status=University.Status.OPEN)


@pytest.mark.parametrize("alive", [True, False])
def test_without_an_open_university_the_catalogue_says_so_and_waits_for_nothing(
    none_open: None, new_visitor: Callable[..., Visitor], alive: bool
) -> None:
    visitor = new_visitor(java_script_enabled=alive)
    requests = visitor.answers(CATALOGUE)
    if alive:
        visitor.open_catalogue()
    else:
        visitor.watch.expect("request: csp")
        visitor.page.goto("/compra")

    expect(visitor.page.locator(".results__empty")).to_have_text(
        re.compile("No se encontraron asignaturas.*Estamos preparando el catálogo. Vuelve pronto.")
    )
    expect(visitor.page.locator(".subject--skeleton")).to_have_count(0)
    expect(visitor.page.get_by_label("Universidad")).to_have_value("")
    assert requests == []
    if alive:
        visitor.assert_accessible()


def test_the_page_can_be_read_without_javascript(new_visitor: Callable[..., Visitor]) -> None:
    reader = new_visitor(java_script_enabled=False)
    reader.watch.expect("request: csp")  # How Chromium calls scripts that it may not load.

    reader.page.goto("/compra")

    assert names_shown(reader) == first_names(9)
    first = Subject.objects.on_sale().most_enrolled_first()[0]
    for lesson in first.lessons.all():
        expect(reader.card(first).get_by_text(lesson.title, exact=True)).to_be_visible()
    # Playwright leaves <noscript> out of every search by text or role.
    note = reader.page.locator("noscript").first
    expect(note).to_be_visible()
    assert "para elegir, comprar y pagar hace falta JavaScript" in note.inner_html()
    reader.page.get_by_role("link", name="Página 2", exact=True).click()
    expect(reader.page).to_have_url(re.compile("pagina=2"))
    assert names_shown(reader) == first_names(18)[9:]


def test_a_degree_narrows_the_list_and_clearing_widens_it_again(
    visitor: Visitor, shelf: Shelf
) -> None:
    subject = shelf.put("Botánica", "100.00")
    visitor.open_catalogue(query="pagina=2")

    visitor.page.get_by_label("Carrera").select_option(shelf.degree.name)

    expect(visitor.page.get_by_role("heading", name="1 asignatura", exact=True)).to_be_visible()
    assert names_shown(visitor) == [subject.name]
    visitor.page.get_by_label("Buscar asignatura").fill("botanica")
    expect(visitor.page).to_have_url(re.compile(r"buscar=botanica"))
    visitor.page.get_by_role("button", name="Limpiar filtros").click()
    expect(visitor.page.get_by_label("Carrera")).to_have_value("")
    expect(visitor.page.get_by_label("Buscar asignatura")).to_have_value("")
    expect(visitor.cards).to_have_count(9)
    # On the first page again, not on the second, from which this began.
    assert names_shown(visitor) == first_names(9)
    expect(visitor.page).to_have_url(re.compile(r"/compra$"))


def test_the_search_waits_for_a_pause_of_300_ms(visitor: Visitor) -> None:
    visitor.page.clock.install()
    visitor.open_catalogue()
    visitor.stop_the_clock()
    requests = visitor.answers(CATALOGUE)
    field = visitor.page.get_by_label("Buscar asignatura")

    def address() -> str:
        return str(visitor.page.evaluate("window.location.search"))

    # The address changes in the moment in which the subjects are asked for.
    for text in ("d", "de", "der", "dere", "derecho r"):
        field.fill(text)
        visitor.page.clock.run_for(250)
    visitor.page.clock.run_for(49)
    assert address() == ""
    visitor.page.clock.run_for(1)
    assert address() == "?buscar=derecho+r"

    expect(visitor.cards.first).to_contain_text("Derecho romano")
    assert [re.search("search=([^&]*)", answer.url)[1] for answer in requests] == ["derecho+r"]  # type: ignore[index]


def test_a_search_that_finds_nothing_says_so(visitor: Visitor) -> None:
    visitor.open_catalogue(query="buscar=zzzz")

    expect(
        visitor.page.get_by_role("paragraph").filter(has_text="No se encontraron asignaturas")
    ).to_be_visible()
    expect(visitor.cards).to_have_count(0)


def test_the_search_ignores_accents_and_capitals(visitor: Visitor) -> None:
    visitor.open_catalogue()

    visitor.page.get_by_label("Buscar asignatura").fill("MICROECONOMIA")

    expect(visitor.cards.first.get_by_role("heading")).to_have_text("Microeconomía")


@pytest.mark.parametrize("size", [6, 12, 18])
def test_the_page_size_can_be_chosen(visitor: Visitor, size: int) -> None:
    visitor.open_catalogue(query="pagina=3")

    visitor.page.get_by_label("Por página").select_option(str(size))

    expect(visitor.cards).to_have_count(size)
    assert names_shown(visitor) == first_names(size)
    expect(visitor.page).to_have_url(re.compile(rf"\?por_pagina={size}$"))


def test_the_page_sizes_are_those_of_the_specification(visitor: Visitor) -> None:
    visitor.open_catalogue()

    sizes = visitor.page.get_by_label("Por página")

    expect(sizes).to_have_value("9")
    assert sizes.get_by_role("option").all_inner_texts() == ["6", "9", "12", "18", "Todas"]


def test_all_loads_page_after_page_while_one_scrolls(visitor: Visitor, full_shelf: Shelf) -> None:
    visitor.open_catalogue(full_shelf.degree)
    requests = visitor.answers(CATALOGUE)

    visitor.page.get_by_label("Por página").select_option("Todas")

    expect(visitor.cards).to_have_count(18)
    assert len(requests) == 1
    visitor.cards.last.scroll_into_view_if_needed()
    expect(visitor.cards).to_have_count(20)
    pages = [re.search(r"[?&]page=(\d+)", answer.url)[1] for answer in requests]  # type: ignore[index]
    assert pages == ["1", "2"]
    expect(visitor.page.get_by_role("navigation", name="Páginas del catálogo")).to_have_count(0)


def test_six_skeletons_stand_in_while_subjects_load(visitor: Visitor) -> None:
    visitor.open_catalogue()
    held: list[Route] = []
    visitor.page.route("**/api/catalogue?*", lambda route: held.append(route))

    visitor.page.get_by_role("button", name="Siguiente").click()

    skeletons = visitor.page.locator(".subject--skeleton")
    expect(skeletons).to_have_count(6)
    expect(visitor.cards).to_have_count(0)
    expect(visitor.page.get_by_role("status").filter(has_text="Cargando")).to_be_attached()
    held[0].continue_()
    expect(visitor.cards).to_have_count(9)
    expect(skeletons).to_have_count(0)


def test_changing_the_page_scrolls_to_the_top(visitor: Visitor) -> None:
    visitor.open_catalogue()
    pager = visitor.page.get_by_role("navigation", name="Páginas del catálogo")
    pager.scroll_into_view_if_needed()
    assert visitor.page.evaluate("window.scrollY") > 0

    pager.get_by_role("button", name="Siguiente").click()

    eventually(lambda: visitor.page.evaluate("window.scrollY") == 0)
    expect(pager.get_by_role("button", name="Página 2", exact=True)).to_have_attribute(
        "aria-current", "page"
    )
    assert names_shown(visitor) == first_names(18)[9:]


def test_a_page_beyond_the_last_becomes_the_last(visitor: Visitor, full_shelf: Shelf) -> None:
    visitor.open_catalogue(full_shelf.degree, "pagina=99")

    expect(visitor.cards).to_have_count(2)
    pager = visitor.page.get_by_role("navigation", name="Páginas del catálogo")
    expect(pager.get_by_role("button", name="Página 3")).to_have_attribute("aria-current", "page")


def test_a_page_that_no_longer_exists_becomes_the_last(visitor: Visitor, full_shelf: Shelf) -> None:
    visitor.open_catalogue(full_shelf.degree, "pagina=2")
    Subject.objects.filter(degree=full_shelf.degree).exclude(name__startswith="Materia 1").update(
        active=False
    )
    Subject.objects.filter(name__startswith="Materia 19", degree=full_shelf.degree).update(
        active=False
    )

    visitor.page.get_by_role("button", name="Página 3").click()

    expect(visitor.cards).to_have_count(9)
    expect(visitor.page).to_have_url(re.compile(rf"carrera={full_shelf.degree.pk}$"))


def test_another_university_begins_on_page_1_with_all_its_degrees(visitor: Visitor) -> None:
    other = University.objects.create(
        name="Universidad Zeta", acronym="UZETA", status=University.Status.OPEN, is_sample=True
    )
    subject = Shelf(Degree.objects.create(university=other, name="Zoología", acronym="ZOO")).put(
        "Anfibios", "90.00"
    )
    try:
        visitor.open_catalogue(query="pagina=3")
        visitor.page.get_by_label("Universidad").select_option(f"{other.name} ({other.acronym})")

        expect(visitor.cards.get_by_role("heading")).to_have_text([subject.name])
        expect(visitor.page).to_have_url(re.compile(rf"\?universidad={other.pk}$"))
        degrees = visitor.page.get_by_label("Carrera").get_by_role("option")
        expect(degrees).to_have_text(["Todas las carreras", "Zoología"])
    finally:
        other.status = University.Status.COMING_SOON
        other.save()


def test_a_link_and_the_back_button_bring_the_same_view(
    visitor: Visitor, new_visitor: Callable[..., Visitor], full_shelf: Shelf
) -> None:
    visitor.open_catalogue(full_shelf.degree)
    visitor.page.get_by_label("Por página").select_option("6")
    expect(visitor.cards).to_have_count(6)
    visitor.page.get_by_role("button", name="Página 2", exact=True).click()
    expect(visitor.page).to_have_url(re.compile("pagina=2"))
    expect(visitor.cards.first).to_contain_text("Materia 07")

    friend = new_visitor()
    friend.page.goto(visitor.page.url)
    friend.wait_for_catalogue()
    assert names_shown(friend) == names_shown(visitor)

    visitor.page.go_back()
    expect(visitor.cards.first).to_contain_text("Materia 01")
    visitor.page.go_back()
    expect(visitor.cards).to_have_count(9)
    expect(visitor.page.get_by_label("Por página")).to_have_value("9")
    visitor.page.go_forward()
    expect(visitor.cards).to_have_count(6)


def test_what_was_read_is_kept_for_a_minute_and_then_read_again(visitor: Visitor) -> None:
    visitor.page.clock.install()
    visitor.open_catalogue()
    visitor.stop_the_clock()
    # The first page is as old as its HTML, the second is read now.
    visitor.page.get_by_role("button", name="Página 2", exact=True).click()
    expect(visitor.cards).to_have_count(9)
    expect(visitor.cards.get_by_role("heading").first).to_have_text(first_names(10)[9])
    requests = visitor.answers(CATALOGUE)

    visitor.page.clock.run_for(30_000)
    visitor.page.get_by_role("button", name="Página 1", exact=True).click()
    expect(visitor.cards.get_by_role("heading").first).to_have_text(first_names(1)[0])
    visitor.page.clock.run_for(29_900)
    visitor.page.get_by_role("button", name="Página 2", exact=True).click()
    expect(visitor.cards.get_by_role("heading").first).to_have_text(first_names(10)[9])
    assert requests == []

    visitor.page.clock.run_for(100)
    with visitor.page.expect_response(re.compile(r"/api/catalogue\?.*page=1&")):
        visitor.page.get_by_role("button", name="Página 1", exact=True).click()


def test_nothing_is_read_again_because_the_window_gets_the_focus(visitor: Visitor) -> None:
    visitor.page.clock.install()
    visitor.open_catalogue()
    visitor.stop_the_clock()
    requests = visitor.answers(CATALOGUE)
    visitor.page.clock.run_for(120_000)

    visitor.page.evaluate(
        """() => {
            window.dispatchEvent(new Event("blur"));
            window.dispatchEvent(new Event("focus"));
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    visitor.page.clock.run_for(1_000)

    assert requests == []


def test_expired_lessons_are_listed_but_cannot_be_ticked(visitor: Visitor, shelf: Shelf) -> None:
    subject = shelf.put("Geología", "100.00", lessons=3)
    gone = subject.lessons.get(title="PEC 1")
    gone.status = Lesson.Status.EXPIRED
    gone.save()
    shelf.put("Sin lecciones", "100.00", lessons=0)

    visitor.open_catalogue(shelf.degree)

    # A subject without an active lesson is not listed at all.
    assert names_shown(visitor) == [subject.name]
    expect(visitor.lesson_box(gone)).to_be_disabled()
    visitor.select_all(subject).click()
    boxes = visitor.card(subject).get_by_role("checkbox")
    assert [box.is_checked() for box in boxes.all()] == [False, True, True]


def test_a_subject_whose_last_lesson_expires_says_that_there_are_none(
    visitor: Visitor, shelf: Shelf
) -> None:
    subject = shelf.put("Mineralogía", "100.00", lessons=1)

    def expire(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body["results"][0]["lessons"][0]["status"] = "expired"
        route.fulfill(response=answer, json=body)

    visitor.open_catalogue()
    visitor.page.route("**/api/catalogue?*", expire)
    visitor.page.get_by_label("Carrera").select_option(shelf.degree.name)

    card = visitor.card(subject)
    expect(card.get_by_text("No hay lecciones disponibles", exact=True)).to_be_visible()
    expect(visitor.select_all(subject)).to_be_disabled()


def test_cards_lead_to_the_content_page_and_the_bar_to_prices(visitor: Visitor) -> None:
    visitor.open_catalogue()
    card = visitor.cards.first
    for words in ("Ver más", "Contenido"):
        link = card.get_by_role("link", name=re.compile(f"^{words}"))
        expect(link).to_have_attribute("href", "/contenido-asignatura")
        # Leaving the page would lose the cart.
        expect(link).to_have_attribute("target", "_blank")
    budget = visitor.page.get_by_role("link", name="Calcula tu presupuesto")
    expect(budget).to_have_attribute("href", "/precios#calculadora")
    discounts = visitor.page.get_by_role("link", name="Ver descuentos")
    expect(discounts).to_have_attribute("href", "/precios#descuentos")


def test_a_discounted_subject_shows_list_price_and_whole_euros_off(
    visitor: Visitor, shelf: Shelf
) -> None:
    subject = shelf.put("Óptica", "192.00")
    subject.total_discounts = 15
    subject.save()

    visitor.open_catalogue(shelf.degree)

    card = visitor.card(subject)
    expect(card.locator("s")).to_have_text("Antes: 225,88 €")  # 192 ÷ 0.85
    expect(card.get_by_text("−34 €", exact=True)).to_be_visible()
    expect(card.get_by_text("192,00 €", exact=True)).to_be_visible()


def test_a_read_that_fails_can_be_tried_again(visitor: Visitor) -> None:
    visitor.open_catalogue()
    visitor.page.route("**/api/catalogue?*", lambda route: route.abort())
    visitor.watch.expect(r"net::ERR_FAILED.*/api/catalogue")
    visitor.watch.expect("ApiError")

    visitor.page.get_by_role("button", name="Siguiente").click()

    expect(
        visitor.page.get_by_role("paragraph").filter(
            has_text="No hemos podido cargar las asignaturas."
        )
    ).to_be_visible()
    visitor.page.unroute("**/api/catalogue?*")
    visitor.page.get_by_role("button", name="Volver a intentarlo").click()
    expect(visitor.cards).to_have_count(9)


def test_the_last_page_holds_what_is_left(visitor: Visitor) -> None:
    pages = ceil(on_sale() / 9)

    visitor.open_catalogue(query=f"pagina={pages}")

    expect(visitor.cards).to_have_count(on_sale() - 9 * (pages - 1))
    expect(visitor.page.get_by_role("button", name="Siguiente")).to_be_disabled()
