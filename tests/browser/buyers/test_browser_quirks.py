"""Browser behaviour that Playwright's Chromium does not have by default, and odd answers."""

from playwright.sync_api import Route, expect

from tests.browser.records import only_order, orders_of, payments_at_provider
from tests.browser.visitor import HeldRequests


def test_page_restored_by_the_browser_while_busy_is_reloaded(visitor, maths):
    # Playwright's Chromium has no back/forward cache: dispatch the event of a restored page.
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()
    held = HeldRequests(visitor.page, "**/api/process-checkout")
    visitor.press(visitor.pay_button("190,00 €"))
    expect(visitor.dialog.get_by_role("button", name="Cerrar")).to_be_disabled()
    held.first()

    with visitor.page.expect_event("load"):
        visitor.page.evaluate(
            "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
        )

    visitor.wait_for_catalogue()
    expect(visitor.dialog).to_have_count(0)
    expect(visitor.cart_button).to_have_count(0)


def test_purchase_works_in_a_browser_that_blocks_all_site_data(visitor, maths, email):
    visitor.page.add_init_script(
        """if (window === window.top) Object.defineProperty(window, "sessionStorage", {
             get() { throw new DOMException("Access is denied.", "SecurityError"); } });"""
    )

    visitor.to_step_2(maths.degree, [maths]).buy("190,00 €")

    visitor.expect_success()
    assert only_order(email).status == "paid"


def test_retry_after_a_lost_response_uses_the_same_order(visitor, maths, email):
    lost: list[str] = []

    def lose_the_first_answer(route: Route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().text())  # The server handles it; the response is lost.
        route.abort()

    visitor.watch.expect("net::ERR_FAILED.*/api/process-checkout")
    visitor.page.route("**/api/process-checkout", lose_the_first_answer)
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()
    visitor.press(visitor.pay_button("190,00 €"))
    expect(visitor.dialog.get_by_role("alert")).to_be_visible()
    order = only_order(email)

    visitor.open_card_form("190,00 €").type_card().pay_button("190,00 €").click()
    visitor.expect_success()

    assert only_order(email) == order
    assert [payment["status"] for payment in payments_at_provider(order)] == ["succeeded"]


def test_buyer_waits_while_payments_are_paused_and_pays_then(visitor, maths, email):
    paused: list[Route] = []

    def pause_the_first(route: Route) -> None:
        if paused:
            return route.continue_()
        paused.append(route)
        text = "Ahora mismo comprobamos los pagos con tarjeta uno a uno."
        body = {
            "success": False, "error": text, "code": "payments_paused", "fields": {},
            "seconds_left": 3,
        }  # fmt: skip
        return route.fulfill(status=429, headers={"Retry-After": "3"}, json=body)

    visitor.watch.expect("429")
    visitor.page.route("**/api/process-checkout", pause_the_first)
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()
    visitor.press(visitor.pay_button("190,00 €"))
    expect(visitor.dialog.get_by_role("alert")).to_contain_text("comprobamos los pagos")
    expect(visitor.dialog.get_by_role("timer")).to_contain_text("Podrás pagar en 0:0")
    visitor.assert_accessible()
    assert not orders_of(email)

    expect(visitor.dialog.get_by_text("Ya puedes pagar.")).to_be_visible()
    visitor.open_card_form("190,00 €").type_card().pay_button("190,00 €").click()
    visitor.expect_success()
    assert only_order(email).status == "paid"
