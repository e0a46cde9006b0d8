"""Rows of `make bench` about interaction to next paint (https://web.dev/articles/inp) on /compra.

Chromium runs four times slower than the machine, as Lighthouse assumes of a phone, with 100 lessons
in the cart.
"""

from collections.abc import Callable
from io import StringIO
from statistics import median

from django.core.management import call_command
from django.db import connections
from playwright.sync_api import Locator, Page, sync_playwright

from apps.catalogue.models import University
from tools.dev.bench import Row
from tools.dev.bench_shop import fill_shop, running_shop
from tools.dev.chromium import install_chromium, launch_options

GOAL_MS = 100.0
SLOWER = 4
TICKED = 100
SUBJECTS = 400
TIMES = 7
SIZES = {"phone": (390, 844), "desktop": (1440, 900)}

# Keeps the longest event of each interaction: from the input to the next paint, in steps of 8 ms.
OBSERVE = """() => {
  window.interactions = {};
  new PerformanceObserver((list) => {
    for (const { interactionId: id, duration } of list.getEntries())
      if (id) window.interactions[id] = Math.max(window.interactions[id] ?? 0, duration);
  }).observe({ type: "event", durationThreshold: 16 });
}"""
# Fast interactions have no entry: they are counted as one frame.
ONE_FRAME_MS = 16.0
UNTICKED = ".subject .lesson .checkbox:enabled:not(:checked)"


def interaction_rows() -> list[Row]:
    install_chromium()
    fill_shop()
    call_command("seed", subjects=SUBJECTS, stdout=StringIO())
    University.objects.update(is_sample=False)
    largest = University.objects.open().order_by("-subjects_count", "pk")[0]
    connections.close_all()
    rows = []
    with running_shop() as shop, sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options())
        for name, (width, height) in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(f"{shop.url}/compra?universidad={largest.pk}&por_pagina=todas")
            page.locator("[data-island=catalogue][data-mounted]").wait_for(state="attached")
            _tick_many(page)
            devtools = page.context.new_cdp_session(page)
            devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
            page.evaluate(OBSERVE)
            for action, act in ACTIONS.items():
                times = [_duration(page, act) for _ in range(TIMES)]
                rows.append(_row(f"{action}, {name}", median(times), max(times)))
            page.close()
        browser.close()
    return rows


def _tick_many(page: Page) -> None:
    """Tick lessons of the first subjects, and leave one of each, so that none is complete."""
    ticked = page.evaluate(
        """async ([boxes, most]) => {
          let count = 0;
          let scrolls = 0;
          while (count < most && scrolls++ < 400) {
            const cards = document.querySelectorAll(".subject:not([data-seen])");
            for (const card of cards) {
              card.dataset.seen = "";
              for (const box of [...card.querySelectorAll(".checkbox:enabled")].slice(1)) {
                if (count === most) break;
                box.click();
                count++;
              }
            }
            // The end of the list is not the end of the page: on a phone the cart is below it.
            [...document.querySelectorAll(".subject")].at(-1).scrollIntoView({ block: "end" });
            await new Promise((done) => setTimeout(done, 50));
          }
          scrollTo({ top: 0, behavior: "instant" });
          return count;
        }""",
        [UNTICKED, TICKED],
    )
    assert ticked == TICKED, ticked  # noqa: S101


def _first_lesson(page: Page) -> Locator:
    return page.locator(".subject .lesson .checkbox:enabled").first


def _tick(page: Page) -> None:
    _first_lesson(page).click()


def _take_whole(page: Page) -> None:
    page.locator(".subject").first.get_by_role("button", name="Seleccionar todo").or_(
        page.locator(".subject").first.get_by_role("button", name="Quitar selección")
    ).click()


def _type(page: Page) -> None:
    page.get_by_label("Buscar asignatura", exact=True).press("x")


ACTIONS: dict[str, Callable[[Page], None]] = {
    "tick or untick a lesson": _tick,
    "select or drop a subject": _take_whole,
    "type into the search": _type,
}


def _duration(page: Page, act: Callable[[Page], None]) -> float:
    """Return the milliseconds from the input to the next paint."""
    page.evaluate("window.interactions = {}")
    act(page)
    # An entry is reported after the paint.
    page.wait_for_timeout(500)
    found = page.evaluate("Math.max(0, ...Object.values(window.interactions))")
    return max(ONE_FRAME_MS, float(found))


def _row(name: str, value: float, worst: float) -> Row:
    name = f"{name}, {TICKED} ticked, {SLOWER}× slower"
    return Row(name, value, "ms", GOAL_MS, f"at most {worst:.0f} ms")
