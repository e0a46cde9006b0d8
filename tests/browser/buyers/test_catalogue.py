"""The catalogue on /compra: filters, pages and the query string."""

import re
from math import ceil

import pytest
from playwright.sync_api import Route, expect

from apps.catalogue.models import Degree, Lesson, Subject, University
from tests.browser.records import Shelf
from tests.browser.visitor import HeldRequests, Visitor, expect_ticked, wait_until
from tests.helpers.factories import make_university

CATALOGUE = "/api/catalogue"


def on_sale() -> int:
    return Subject.objects.on_sale().count()


def first_names(count: int) -> list[str]:
    subjects = Subject.objects.on_sale().most_enrolled_first()[:count]
    return [subject.name for subject in subjects]


def expect_names(visitor: Visitor, names: list[str]) -> None:
    expect(visitor.cards.get_by_role("heading")).to_have_text(names)


@pytest.fixture
def full_shelf(shelf):
    """Twenty subjects of one degree: three pages of nine, two of eighteen."""
    for number in range(1, 21):
        shelf.put(f"Materia {number:02}", "100.00", lessons=1)
    return shelf


def test_catalogue_opens_with_the_first_open_university_and_its_first_page(visitor):
    first = University.objects.open().by_name()[0]
    requests = visitor.responses_of(CATALOGUE)

    visitor.open_catalogue()

    university = visitor.page.get_by_label("Universidad", exact=True)
    expect(university).to_have_value(str(first.pk))
    expect(university.get_by_role("option", name="Próximamente").first).to_be_disabled()
    expect(visitor.page.get_by_label("Carrera")).to_have_value("")
    expect(visitor.page.get_by_role("heading", name=f"{on_sale()} asignaturas")).to_be_visible()
    expect(visitor.cards).to_have_count(9)
    expect_names(visitor, first_names(9))
    # The island uses the data of the server's HTML and makes no request.
    assert requests == []
    for words in ("Ver más", "Contenido"):
        link = visitor.cards.first.get_by_role("link", name=re.compile(f"^{words}"))
        expect(link).to_have_attribute("href", re.compile(r"^/asignaturas/\S+/\S+-\d+$"))
        # Leaving the page would lose the cart.
        expect(link).to_have_attribute("target", "_blank")
    budget = visitor.page.get_by_role("link", name="Calcula tu presupuesto")
    expect(budget).to_have_attribute("href", "/precios#calculadora")
    discounts = visitor.page.get_by_role("link", name="Ver descuentos")
    expect(discounts).to_have_attribute("href", "/precios#descuentos")


@pytest.fixture
def none_open():
    """No university is open, as on a site whose catalogue is not ready yet."""
    ids = [university.pk for university in University.objects.open()]
    University.objects.filter(pk__in=ids).update(status=University.Status.COMING_SOON)
    yield
    University.objects.filter(pk__in=ids).update(status=University.Status.OPEN)


@pytest.mark.usefixtures("none_open")
def test_catalogue_without_an_open_university_shows_a_message_and_loads_nothing(visitor):
    requests = visitor.responses_of(CATALOGUE)
    visitor.open_catalogue()

    expect(visitor.page.locator(".results__empty")).to_have_text(
        re.compile("No se encontraron asignaturas.*Estamos preparando el catálogo. Vuelve pronto.")
    )
    expect(visitor.page.locator(".subject--skeleton")).to_have_count(0)
    expect(visitor.page.get_by_label("Universidad", exact=True)).to_have_value("")
    assert requests == []
    visitor.assert_accessible()


def test_choosing_a_degree_filters_the_subjects_and_clear_filters_shows_all(visitor, shelf):
    subject = shelf.put("Botánica", "100.00")
    visitor.open_catalogue(query="pagina=2")

    visitor.page.get_by_label("Carrera").select_option(shelf.degree.name)

    expect(visitor.page.get_by_role("heading", name="1 asignatura", exact=True)).to_be_visible()
    expect_names(visitor, [subject.name])
    visitor.page.get_by_label("Buscar asignatura", exact=True).fill("botanica")
    expect(visitor.page).to_have_url(re.compile(r"buscar=botanica"))
    # Accents and case make no difference.
    expect_names(visitor, [subject.name])
    visitor.page.get_by_role("button", name="Limpiar filtros").click()
    expect(visitor.page.get_by_label("Carrera")).to_have_value("")
    expect(visitor.page.get_by_label("Buscar asignatura", exact=True)).to_have_value("")
    expect(visitor.cards).to_have_count(9)
    # The first page is shown, not the second page, where the test started.
    expect_names(visitor, first_names(9))
    expect(visitor.page).to_have_url(re.compile(r"/compra$"))


def test_search_is_sent_300_ms_after_the_last_key_and_answers_are_kept_for_a_minute(visitor):
    page = visitor.page
    page.clock.install()
    visitor.open_catalogue()
    visitor.stop_the_clock()
    requests = visitor.responses_of(CATALOGUE)
    field = page.get_by_label("Buscar asignatura", exact=True)

    def search(text: str, found: str) -> None:
        field.fill(text)
        page.clock.run_for(300)
        expect(visitor.cards.first).to_contain_text(found)

    field.fill("d")
    page.clock.run_for(299)
    search("derecho r", "Derecho romano")
    search("", first_names(1)[0])
    search("derecho r", "Derecho romano")
    assert len(requests) == 1
    page.clock.run_for(60_000)
    search("", first_names(1)[0])
    wait_until(page, lambda: len(requests) == 2)


def test_search_without_results_shows_a_message(visitor):
    make_university("Universidad del Oeste", status=University.Status.COMING_SOON)
    visitor.open_catalogue(query="buscar=zzzz")

    expect(
        visitor.page.get_by_role("paragraph").filter(has_text="No se encontraron asignaturas")
    ).to_be_visible()
    expect(visitor.cards).to_have_count(0)
    everywhere = visitor.page.get_by_role("link", name="búscala por profesor, código")
    expect(everywhere).to_have_attribute("href", "/buscar?q=zzzz")
    told = visitor.page.get_by_role("link", name="Te avisamos")
    expect(told).to_have_attribute("href", "/avisame")
    visitor.press(visitor.page.get_by_role("link", name="pídenosla"))
    expect(visitor.page).to_have_url(re.compile(r"\?buscar=zzzz$"))
    visitor.press(visitor.page.get_by_role("link", name="Solicitar asignatura"))
    expect(visitor.page.get_by_role("dialog", name="Solicita tu asignatura")).to_be_visible()


def test_subjects_are_sorted_by_name_and_price(phone, shelf):
    for name, price in (("Botánica", "90.00"), ("Zoología", "80.00"), ("Anatomía", "100.00")):
        shelf.put(name, price)
    page = phone.open_catalogue(shelf.degree).page
    for order, first in (("Precio", "Zoología"), ("Nombre", "Anatomía")):
        page.get_by_label("Ordenar por").select_option(order)
        expect(phone.cards.first).to_contain_text(first)
        expect(phone.cards).to_have_count(3)
        expect(page).to_have_url(re.compile(f"orden={order.lower()}"))
    page.go_back()
    expect(phone.cards.first).to_contain_text("Zoología")
    expect(page.get_by_label("Ordenar por")).to_have_value("precio")


def test_changing_the_page_shows_6_skeletons_and_the_top_and_a_failure_can_be_retried(visitor):
    visitor.watch.expect(r"net::ERR_FAILED.*/api/catalogue")
    visitor.watch.expect("ApiError")
    visitor.open_catalogue()
    pager = visitor.page.get_by_role("navigation", name="Páginas del catálogo")
    pager.scroll_into_view_if_needed()
    wait_until(visitor.page, lambda: visitor.page.evaluate("scrollY > 0"))
    held = HeldRequests(visitor.page, "**/api/catalogue?*")

    pager.get_by_role("button", name="Siguiente").click()

    skeletons = visitor.page.locator(".subject--skeleton")
    expect(skeletons).to_have_count(6)
    expect(visitor.cards).to_have_count(0)
    # Screen readers continue at the top of the list.
    expect(visitor.page.locator("#resultados")).to_be_focused()
    expect(visitor.page.get_by_role("status").filter(has_text="Cargando")).to_be_attached()
    held.first().abort()
    failed = visitor.page.get_by_role("paragraph")
    expect(failed.filter(has_text="No hemos podido cargar las asignaturas.")).to_be_visible()
    visitor.page.unroute("**/api/catalogue?*")
    visitor.page.get_by_role("button", name="Volver a intentarlo").click()
    expect(visitor.cards).to_have_count(9)
    expect(skeletons).to_have_count(0)
    wait_until(visitor.page, lambda: visitor.page.evaluate("scrollY === 0"))
    expect(pager.get_by_role("button", name="Página 2", exact=True)).to_have_attribute(
        "aria-current", "page"
    )
    expect_names(visitor, first_names(18)[9:])

    pages = ceil(on_sale() / 9)
    visitor.open_catalogue(query=f"pagina={pages}")
    expect(visitor.cards).to_have_count(on_sale() - 9 * (pages - 1))
    expect(visitor.page.get_by_role("button", name="Siguiente")).to_be_disabled()


def test_page_that_no_longer_exists_becomes_the_last_page_after_a_click(visitor, full_shelf):
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


def test_choosing_another_university_shows_page_1_with_all_its_degrees(visitor):
    other = University.objects.create(
        name="Universidad Zeta", acronym="UZETA", status=University.Status.OPEN, is_sample=True
    )
    subject = Shelf(Degree.objects.create(university=other, name="Zoología", acronym="ZOO")).put(
        "Anfibios", "90.00"
    )
    try:
        visitor.open_catalogue(query="pagina=3")
        visitor.page.get_by_label("Universidad", exact=True).select_option(
            f"{other.name} ({other.acronym})"
        )

        expect(visitor.cards.get_by_role("heading")).to_have_text([subject.name])
        expect(visitor.page).to_have_url(re.compile(rf"\?universidad={other.pk}$"))
        degrees = visitor.page.get_by_label("Carrera").get_by_role("option")
        expect(degrees).to_have_text(["Todas las carreras", "Zoología"])
    finally:
        other.status = University.Status.COMING_SOON
        other.save()


def test_address_and_back_button_restore_filters_page_and_page_size(
    visitor, new_visitor, full_shelf
):
    visitor.open_catalogue(full_shelf.degree)
    visitor.page.get_by_label("Por página").select_option("6")
    expect(visitor.cards).to_have_count(6)
    visitor.page.get_by_role("button", name="Página 2", exact=True).click()
    expect(visitor.page).to_have_url(re.compile("pagina=2"))
    expect(visitor.cards.first).to_contain_text("Materia 07")

    friend = new_visitor()
    friend.page.goto(visitor.page.url)
    friend.wait_for_catalogue()
    expect_names(friend, visitor.cards.get_by_role("heading").all_inner_texts())

    visitor.page.go_back()
    expect(visitor.cards.first).to_contain_text("Materia 01")
    visitor.page.go_back()
    expect(visitor.cards).to_have_count(9)
    expect(visitor.page.get_by_label("Por página")).to_have_value("9")
    visitor.page.go_forward()
    expect(visitor.cards).to_have_count(6)


def test_card_of_a_subject_whose_last_lesson_expires_says_that_no_lessons_are_available(
    visitor, shelf
):
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


def test_card_shows_list_price_and_discount_and_sells_no_expired_lesson(visitor, shelf):
    subject = shelf.put("Óptica", "192.00", lessons=3)
    subject.total_discounts = 15
    subject.save()
    gone = subject.lessons.get(title="PEC 1")
    gone.status = Lesson.Status.EXPIRED
    gone.save()
    shelf.put("Sin lecciones", "100.00", lessons=0)

    visitor.open_catalogue(shelf.degree)

    # The subject without an active lesson is not listed.
    expect_names(visitor, [subject.name])
    expect(visitor.lesson_box(gone)).to_be_disabled()
    visitor.select_all(subject).click()
    boxes = visitor.card(subject).get_by_role("checkbox")
    expect_ticked(boxes, False, True, True)
    card = visitor.card(subject)
    expect(card.locator("s")).to_have_text("Antes: 225,88 €")  # 192 ÷ 0.85
    expect(card.get_by_text("−34 €", exact=True)).to_be_visible()
    expect(card.get_by_text("192,00 €", exact=True)).to_be_visible()
