"""/compra with the page size "Todas" and seven pages of subjects."""

from decimal import Decimal
from math import ceil

import pytest
from playwright.sync_api import Locator, expect

from apps.catalogue.models import Lesson, Subject
from apps.catalogue.services import deferred_counts
from tests.browser.records import eventually
from tests.browser.visitor import settled

COUNT = 126
PER_PAGE = 18

# Scrolls to the end of the page again and again; resolves once the page has `count` cards.
TO_THE_END = """async (count) => {
  const cards = document.getElementsByTagName("article");
  let before = 0;
  let idle = 0;
  while (cards.length < count && idle < 600) {
    idle = cards.length === before ? idle + 1 : 0;
    before = cards.length;
    window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
    await new Promise((done) => setTimeout(done, 50));
  }
  window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}"""
IDS = """(cards) => cards.map((card) => Number(card.getAttribute("aria-labelledby").slice(11)))"""
DRAWN = "(card) => card.checkVisibility({ contentVisibilityAuto: true })"


@pytest.fixture
def ids(shelf):
    """Create the subjects. Returns their ids in the order of the catalogue.

    They are deleted afterwards, because other tests expect a catalogue of a few pages.
    """
    with deferred_counts():
        subjects = Subject.objects.bulk_create(
            Subject(
                degree=shelf.degree,
                name=f"Materia {number:04} {shelf.degree.pk}",
                final_price=Decimal(100),
                enrolled_offset=number * 7 % 31,
                active_lessons_count=1,
            )
            for number in range(COUNT)
        )
        Lesson.objects.bulk_create(
            Lesson(subject=subject, title="PEC 1", price=Decimal(50)) for subject in subjects
        )
    mine = Subject.objects.filter(degree=shelf.degree)
    yield list(mine.most_enrolled_first().values_list("pk", flat=True))
    with deferred_counts():
        Lesson.objects.filter(subject__in=mine).delete()
        mine.delete()


def top_of(element: Locator) -> int:
    return round(element.evaluate("(element) => element.getBoundingClientRect().top"))


def test_page_size_all_shows_each_of_126_subjects_once(visitor, shelf, ids):
    requests = visitor.responses_of("/api/catalogue")
    visitor.open_catalogue(shelf.degree, "por_pagina=todas")

    settled(visitor.page, TO_THE_END, COUNT)

    expect(visitor.cards).to_have_count(COUNT)
    expect(visitor.page.get_by_role("navigation", name="Páginas del catálogo")).to_have_count(0)
    assert visitor.page.eval_on_selector_all("article", IDS) == ids
    # Each page was requested once. The first page was part of the HTML.
    assert len(requests) == ceil(COUNT / PER_PAGE) - 1

    # The browser renders only the cards near the visible area; the others can still be reached.
    last, first = visitor.cards.last, visitor.cards.first
    eventually(lambda: (last.evaluate(DRAWN), first.evaluate(DRAWN)) == (True, False))
    middle = visitor.cards.nth(60)
    middle.scroll_into_view_if_needed()
    box = middle.get_by_role("checkbox")
    box.focus()
    expect(box).to_be_in_viewport()
    before = top_of(box)
    visitor.page.keyboard.press("Space")
    expect(box).to_be_checked()
    assert abs(top_of(box) - before) <= 1
    visitor.page.keyboard.press("Tab")
    expect(middle.get_by_role("button", name="Ir a pagar")).to_be_focused()
    for _ in range(4):  # "Contenido", and the next card's "Seleccionar todo", "Ver más" and box
        visitor.page.keyboard.press("Tab")
    following = visitor.cards.nth(61).get_by_role("checkbox")
    expect(following).to_be_focused()
    expect(following).to_be_in_viewport()
    assert visitor.page.eval_on_selector_all("article", IDS) == ids
    assert len(requests) == ceil(COUNT / PER_PAGE) - 1
