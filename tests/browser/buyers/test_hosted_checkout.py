"""Payments on Stripe's hosted page (STRIPE_CHECKOUT=hosted): the redirect and all ways back.

Tests marked with `@in_both_modes` in other files also run in this mode.
"""

import re

import pytest
from playwright.sync_api import expect

from apps.catalogue.models import Subject
from apps.classroom.models import Enrolment
from apps.orders.models import Order
from tests.browser.buyers.test_purchase import expect_both_mails
from tests.browser.records import (
    eventually,
    only_order,
    payments_at_provider,
    switch_webhooks,
)
from tests.browser.visitor import Visitor
from tests.helpers.factories import make_promo

pytestmark = pytest.mark.usefixtures("money_adds_up")

PAGE = re.compile(r"/c/pay/cs_test_")


@pytest.fixture
def mode():
    return "hosted"


def go_to_the_page(visitor: Visitor, maths: Subject, euros: str = "190,00 €") -> None:
    visitor.to_step_2(maths.degree, [maths]).tick_boxes().open_card_form(euros)


def test_dialog_redirects_to_the_hosted_page_of_the_order_and_loads_no_stripe_js(
    visitor, maths, email
):
    requested: list[str] = []
    visitor.page.on("request", lambda request: requested.append(request.url))
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()
    expect(visitor.dialog).to_contain_text("te llevamos a la página de Stripe")
    shop = visitor.page.evaluate("origin")
    assert requested
    assert [url for url in requested if not url.startswith(shop)] == []

    visitor.open_card_form("190,00 €")

    page = visitor.page
    expect(page.get_by_text(maths.name)).to_be_visible()
    expect(page.locator("dl")).to_contain_text("Pago completo (5 %)")
    expect(page.locator("dl")).to_contain_text("−10,00 €")
    expect(page.get_by_label("Correo electrónico")).to_have_value(email)


def test_back_link_of_the_hosted_page_leads_to_the_saved_cart_and_the_same_session_can_be_paid(
    visitor, maths, email
):
    go_to_the_page(visitor, maths)
    first = visitor.page.url
    order = only_order(email)
    assert order.auth_token not in visitor.page.content()

    visitor.page.get_by_role("link", name="Volver a la tienda").click()

    expect(visitor.page.get_by_role("heading", name="Pago cancelado")).to_be_visible()
    visitor.page.get_by_role("link", name="Recuperar mi carrito").click()
    expect(visitor.page.get_by_text(maths.name)).to_be_visible()
    visitor.tick_boxes().open_card_form("190,00 €")
    assert visitor.page.url == first
    visitor.type_card().pay_button("190,00 €").click()
    visitor.expect_success()
    assert only_order(email).status == Order.Status.PAID
    assert len(payments_at_provider(order)) == 1


def test_cancel_page_on_another_device_has_no_link_to_the_cart(visitor):
    visitor.page.goto("/cancel?order=1")

    expect(visitor.page.locator("[data-island=canceled-payment]")).to_be_attached()
    expect(visitor.page.get_by_role("heading", name="Pago cancelado")).to_be_visible()
    expect(visitor.page.get_by_role("link", name="Recuperar mi carrito")).to_have_count(0)


def test_back_button_after_the_redirect_opens_the_saved_order(visitor, maths, email):
    """Playwright's Chromium has no back/forward cache, so the page is loaded again."""
    go_to_the_page(visitor, maths)

    visitor.page.go_back()

    expect(visitor.page).to_have_url(re.compile("/complete-payment"))
    expect(visitor.page.get_by_text(maths.name)).to_be_visible()
    visitor.buy("190,00 €")
    visitor.expect_success()
    assert only_order(email).status == Order.Status.PAID


def test_page_restored_after_the_redirect_keeps_its_address_and_can_change_the_order(
    visitor, maths, email
):
    make_promo(f"MENOS{maths.pk}", kind="FIJO", value="15")
    visitor.to_step_2(maths.degree, [maths]).tick_boxes()
    address = visitor.page.url
    # A 204 response cancels the navigation: this page stays and can receive the event below.
    visitor.page.route(PAGE, lambda route: route.fulfill(status=204))
    with visitor.page.expect_response(PAGE):
        visitor.pay_button("190,00 €").click()
    expect(visitor.dialog.get_by_role("button", name="Cerrar")).to_be_disabled()
    visitor.page.unroute(PAGE)

    visitor.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")

    expect(visitor.dialog.get_by_role("button", name="Cerrar")).to_be_enabled()
    assert visitor.page.url == address
    visitor.apply_code(f"MENOS{maths.pk}")
    visitor.open_card_form("175,00 €").type_card().pay_button("175,00 €").click()
    visitor.expect_success()
    order = only_order(email)
    assert (order.status, order.total_cents) == (Order.Status.PAID, 17_500)
    assert [row["amount"] for row in payments_at_provider(order)] == [17_500]
    assert sorted(order.payments.values_list("status", flat=True)) == ["canceled", "succeeded"]


def test_order_is_paid_by_webhook_when_the_tab_is_closed_on_the_way_back(visitor, maths, email):
    go_to_the_page(visitor, maths)
    visitor.page.route("**/success?*", lambda route: route.abort())
    visitor.watch.expect("net::ERR_FAILED.*/success")
    switch_webhooks(enabled=False)
    try:
        with visitor.page.expect_event("requestfailed"):
            visitor.type_card().pay_button("190,00 €").click()
        assert only_order(email).status == Order.Status.CART
        visitor.page.close()
    finally:
        switch_webhooks(enabled=True)

    eventually(lambda: only_order(email).status == Order.Status.PAID)
    expect_both_mails(email)
    assert Enrolment.objects.filter(student__email=email, subject=maths).count() == 1
    assert only_order(email).events.get(to_status="paid").actor == "Stripe"
