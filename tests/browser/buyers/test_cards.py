"""The cards of the catalogue: contents, saving, folded lessons, heights."""

import re

import pytest
from playwright.sync_api import expect

# For each card: its top and height, and the empty room below the last line that it shows.
GEOMETRY = """(cards) => cards.map((card) => {
  const box = card.getBoundingClientRect();
  const foot = card.querySelector(".subject__foot").getBoundingClientRect();
  const list = card.querySelector(".subject__includes").getBoundingClientRect();
  const lines = [...card.querySelectorAll(".lesson, summary, .subject__includes li")]
    .filter((line) => line.checkVisibility({ contentVisibilityAuto: true }))
    .map((line) => line.getBoundingClientRect())
    .filter((line) => line.bottom <= list.bottom + 1 && line.left < list.right - 1);
  const last = Math.max(...lines.map((line) => line.bottom));
  return { top: Math.round(box.top), height: Math.round(box.height), hole: foot.top - last };
})"""
LARGEST_HOLE = 60


def test_cards_of_a_row_are_equally_high_and_have_no_holes(visitor, shelf):
    for name, lessons in (("Una", 1), ("Cuatro", 4), ("Seis", 6)):
        shelf.put(f"Con {name}", "30.00", lessons=lessons)
    visitor.open_catalogue(shelf.degree)
    expect(visitor.cards).to_have_count(3)
    for _ in ("folded", "unfolded"):
        found = visitor.page.eval_on_selector_all("article.subject", GEOMETRY)
        assert len({card["top"] for card in found}) == len({card["height"] for card in found}) == 1
        assert max(card["hole"] for card in found) <= LARGEST_HOLE, found
        visitor.page.locator(".subject__rest summary").click()


@pytest.mark.parametrize("alive", [True, False])
def test_lessons_after_the_fourth_are_unfolded_by_keyboard(new_visitor, shelf, alive):
    subject = shelf.put("Con seis", "247.00", lessons=6)
    visitor = new_visitor(java_script_enabled=alive)
    if alive:
        visitor.open_catalogue(shelf.degree)
    else:
        visitor.watch.expect("request: csp")
        visitor.page.goto(f"/compra?carrera={shelf.degree.pk}")
    card = visitor.card(subject)
    expect(card.get_by_text("PEC 4", exact=True)).to_be_visible()
    expect(card.get_by_text("PEC 5", exact=True)).to_be_hidden()
    more = card.get_by_text("y 2 más", exact=True)
    more.focus()
    visitor.page.keyboard.press("Enter")
    expect(card.get_by_text("PEC 6", exact=True)).to_be_visible()
    if not alive:
        return
    box = visitor.lesson_box(subject.lessons.get(title="PEC 6"))
    visitor.tick(box)
    expect(visitor.cart).to_contain_text("PEC 6")
    # Unticking it leaves the fold open, and the focus where it is.
    visitor.page.keyboard.press("Space")
    expect(box).to_be_focused()
    expect(box).not_to_be_checked()


def test_a_link_to_a_folded_lesson_shows_it_ticked(visitor, shelf):
    subject = shelf.put("Con cinco", "180.00", lessons=5)
    lesson = subject.lessons.get(title="PEC 5")
    query = f"asignatura={subject.pk}&leccion={lesson.pk}"
    visitor.open_catalogue(shelf.degree, query)
    expect(visitor.lesson_box(lesson)).to_be_checked()
    expect(visitor.lesson_box(lesson)).to_be_visible()


def test_card_is_the_same_before_and_after_its_island_is_mounted(new_visitor, shelf):
    shelf.put("Con seis", "182.50", lessons=6)
    only = shelf.put("Solo completa", "100.00", lessons=2)
    only.complete_only = True
    only.videos_count = 18
    only.save()
    reader = new_visitor(java_script_enabled=False)
    reader.watch.expect("request: csp")
    reader.page.goto(f"/compra?carrera={shelf.degree.pk}")
    visitor = new_visitor().open_catalogue(shelf.degree)
    for card, served in zip(visitor.cards.all(), reader.cards.all(), strict=True):
        # Without scripts there is no cart, and nothing to choose with.
        expect(served.locator("button")).to_be_hidden()
        expect(served.get_by_role("checkbox")).to_have_count(0)
        words = served.inner_text().replace("Ver más", "Seleccionar todo Ver más")
        expect(card).to_have_text(words, use_inner_text=True)
    words = visitor.cards.filter(has_text="Con seis").inner_text()
    assert re.search(r"6 PECs\n", words)
    assert "frente a PECs sueltas" in words
    whole = visitor.card(only)
    expect(whole.get_by_text("2 PECs · 18 vídeos")).to_be_visible()
    expect(whole.get_by_role("checkbox")).to_have_count(0)
    visitor.select_all(only).click()
    expect(visitor.cart).to_contain_text("Solo completa")
