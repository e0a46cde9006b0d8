"""The solved exercise of the home page, its light and its steps."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.visitor import Visitor, next_frame, wait_until

CLIPPED = "(step) => parseFloat(getComputedStyle(step).clipPath.split(' ')[2] ?? '0')"


def clipped(page: Page) -> float:
    """How much of the open step is still rolled up, in percent of its height."""
    return float(page.locator(".sheet [open] .sheet__step").evaluate(CLIPPED))


def scroll_step_to(page: Page, share: float) -> None:
    """Scroll until the step begins at this share of the window's height."""
    page.locator(".sheet [open] .sheet__step").evaluate(
        "(step, share) => scrollBy({ top: step.getBoundingClientRect().top"
        " - innerHeight * share, behavior: 'instant' })",
        share,
    )
    next_frame(page)


def test_step_unrolls_as_one_scrolls_past_it(phone: Visitor) -> None:
    page = phone.page
    page.goto("/")
    scroll_step_to(page, 0.95)
    rolled_up = clipped(page)
    scroll_step_to(page, 0.75)
    halfway = clipped(page)
    scroll_step_to(page, 0.4)
    assert 85 >= rolled_up > halfway > 0
    wait_until(page, lambda: clipped(page) == 0)
    # The page does not jump: what is unrolled has its room from the start.
    expect(page.locator(".sheet [open] .sheet__step")).to_be_in_viewport()


@pytest.mark.parametrize(
    "options", [{"reduced_motion": "reduce", "viewport": PHONE}, {"viewport": None}]
)
def test_step_is_open_with_reduced_motion_and_where_the_sheet_needs_no_scrolling(
    new_visitor: Callable[..., Visitor], options: dict[str, object]
) -> None:
    page = new_visitor(**{key: value for key, value in options.items() if value}).page
    page.goto("/")
    wait_until(page, lambda: clipped(page) == 0)


def test_light_sweeps_once_in_2_s(visitor: Visitor) -> None:
    visitor.page.goto("/")
    beam = visitor.page.locator(".hero__sheet .hero__beam")
    timing = beam.evaluate(
        "(beam) => { const { animationName, animationDuration, animationIterationCount } ="
        " getComputedStyle(beam); return [animationName, animationDuration,"
        " animationIterationCount]; }"
    )
    assert timing == ["beam", "2s", "1"]


def test_heading_grows_with_the_window_up_to_4_5_rem(new_visitor: Callable[..., Visitor]) -> None:
    page = new_visitor(viewport={"width": 1600, "height": 900}).page
    page.goto("/")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_css("font-size", "72px")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(heading).to_have_css("font-size", re.compile(r"^[123]\d(\.\d+)?px$"))
