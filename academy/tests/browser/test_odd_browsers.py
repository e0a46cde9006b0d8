"""Browsers that behave unlike the one the journeys are made with."""

import pytest
from playwright.sync_api import Route, expect

from academy.tests.browser.records import Shelf, only_order, payments_at_provider
from academy.tests.browser.visitor import Visitor
from apps.catalogue.models import Subject


@pytest.fixture
def maths(shelf: Shelf) -> Subject:
    """A subject of 200 €: 190 € when it is paid at once."""
    return shelf.put("Cálculo", "200.00")


def test_a_page_brought_back_as_it_was_left_does_not_stay_at_work_for_ever(
    visitor: Visitor, maths: Subject
) -> None:
    # Playwright's Chromium has no back/forward cache: the page hears what that cache would tell it.
    held: list[Route] = []
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()
    visitor.page.route("**/api/process-checkout", lambda route: held.append(route))
    visitor.press(visitor.pay_button("190,00 €"))
    expect(visitor.dialog.get_by_role("button", name="Cerrar")).to_be_disabled()

    with visitor.page.expect_event("load"):
        visitor.page.evaluate(
            "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
        )

    visitor.wait_for_catalogue()
    expect(visitor.dialog).to_have_count(0)
    expect(visitor.cart_button).to_have_count(0)


def test_who_blocks_all_site_data_can_buy_all_the_same(
    visitor: Visitor, maths: Subject, email: str
) -> None:
    visitor.page.add_init_script(
        """if (window === window.top) Object.defineProperty(window, "sessionStorage", {
             get() { throw new DOMException("Access is denied.", "SecurityError"); } });"""
    )

    visitor.to_step_2(maths.degree, [maths]).buy("190,00 €")

    visitor.expect_success()
    assert only_order(email).status == "paid"


def test_a_first_press_whose_answer_was_lost_is_followed_by_the_same_order(
    visitor: Visitor, maths: Subject, email: str
) -> None:
    lost: list[str] = []

    def lose_the_first_answer(route: Route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().text())  # The shop has done it, and nobody hears of it.
        route.abort()

    visitor.watch.expect("net::ERR_FAILED.*/api/process-checkout")
    visitor.page.route("**/api/process-checkout", lose_the_first_answer)
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()
    visitor.press(visitor.pay_button("190,00 €"))
    expect(visitor.dialog.get_by_role("alert")).to_be_visible()
    order = only_order(email)

    visitor.ask_for_card_form("190,00 €").type_card().pay_button("190,00 €").click()
    visitor.expect_success()

    assert only_order(email) == order
    assert [payment["status"] for payment in payments_at_provider(order)] == ["succeeded"]
