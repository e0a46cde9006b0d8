"""A campaign by the server's date. Which campaign runs when: apps/pages/tests/test_calculator.py.

The web process runs with another date. The only other change is that the August campaign applies to
the cart, which the fixture `stack` turns off for the other browser tests.
"""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from apps.leads.models import Quote
from apps.pricing.models import Campaign
from tests.browser.records import html_of, mail_with
from tests.browser.visitor import moved_date
from tests.browser.visitors.calculator import SENT, Calculator
from tools.dev.moved_clock import moved_clock

MADRID = ZoneInfo("Europe/Madrid")
# A year in the past: what the web process stores must not be in the future for the worker.
YEAR = datetime.now(MADRID).year - 1


# The last minutes of August, and the prices of a subject of 215,50 € then.
MOMENT = datetime(YEAR, 8, 31, 23, 50, tzinfo=MADRID)
BANNER = "Solo en agosto: 20 % de descuento hasta el 31 de agosto. Ver descuentos"
# 20 % of the base are 43,10 €, 5 % are 10,78 €; both are rounded half up to whole euros.
QUOTE = (
    "Precio base 215,50 €",
    "Descuento de agosto (20 %) −43,00 €",
    "Pago completo (5 %) −11,00 €",
    "Precio final 161,50 €",
)
# The list price is 215,50 € / 0,8; the campaign discount leads back to 215,50 €.
LIST_PRICE = "269,38 €"
CART = (
    "Subtotal 269,38 €",
    "Descuento de agosto (20 %) −53,88 €",
    "Pago completo (5 %) −10,78 €",
    "Total 204,72 €",
)


@pytest.fixture
def _august(stack):
    """The shop at that moment. Afterwards the shop's date is today again."""
    # Two moments of one time zone would be subtracted without their daylight saving time.
    ahead = MOMENT - datetime.now(UTC)
    stack.stop("web")
    Campaign.objects.filter(name="Agosto").update(cart=True)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stack, "env", {**stack.env, **moved_clock(ahead)})
            stack.start("web")
        stack.wait_ready()
        yield
    finally:
        stack.stop("web")
        Campaign.objects.filter(name="Agosto").update(cart=False)
        stack.start()
        stack.wait_ready()


@pytest.fixture
def macro(shelf):
    return shelf.put("Macroeconomía", "215.50")


@pytest.mark.usefixtures("_august")
def test_campaign_of_the_server_s_date_applies_to_banner_budget_and_cart_automatically(
    visitor, shelf, macro
):
    page = visitor.page
    # The clock of the visitor's computer says 24 December, which must not matter.
    now = datetime.now(MADRID)
    page.add_init_script(moved_date(now.replace(month=12, day=24) - now))

    page.goto("/")
    assert page.evaluate("new Date().getMonth()") == 11
    banner = page.get_by_role("complementary", name="Oferta")
    expect(banner).to_have_text(BANNER, use_inner_text=True)

    calculator = Calculator(visitor)
    visitor.tick(visitor.box("Pago completo"))
    calculator.ask().choose(shelf, macro)
    calculator.expect_lines(*QUOTE)
    calculator.open_contact().send(visitor.email)
    expect(calculator.card.get_by_text(SENT)).to_be_visible()
    calculator.expect_lines(*QUOTE)
    # The calculator starts from the shop's prices, crosses none out, and says whose discount it is.
    expect(calculator.figures.locator("s")).to_have_count(0)
    expect(calculator.figures).to_contain_text("solo lo tienes si compras con este presupuesto")
    final = QUOTE[-1].removeprefix("Precio final ")
    kept = Quote.objects.get(lead__email=visitor.email)
    assert f"{kept.final_price:.2f} €".replace(".", ",") == final
    mail = html_of(mail_with("Tu presupuesto", visitor.email)).replace("\xa0", " ")
    assert final in mail

    visitor.open_catalogue(shelf.degree).fill_cart([macro])
    # Card and cart cross out the same price, and the catalogue shows the campaign.
    expect(visitor.card(macro).locator("s")).to_have_text(f"Antes: {LIST_PRICE}")
    expect(visitor.cart.locator("s")).to_have_text(f"Antes: {LIST_PRICE}")
    expect(page.locator(".compra__campaign")).to_contain_text(BANNER.partition(".")[0])
    rows = visitor.cart.locator("dl > div")
    expect(rows).to_have_text(list(CART), use_inner_text=True)
