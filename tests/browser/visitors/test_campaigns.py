"""Campaigns by the server's date, in August and September. Other tests run in other months.

The web process runs with another date. The only other change is that the August campaign applies to
the cart, which the fixture `stack` turns off for the other browser tests.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from apps.catalogue.models import Subject
from apps.leads.models import Quote
from apps.pricing.models import Campaign
from tests.browser.records import Shelf, html_of, mail_with
from tests.browser.visitor import Visitor, moved_date
from tests.browser.visitors.calculator import SENT, Calculator
from tools.dev.moved_clock import moved_clock
from tools.dev.stack import Stack

MADRID = ZoneInfo("Europe/Madrid")
# A year in the past: what the web process stores must not be in the future for the worker.
YEAR = datetime.now(MADRID).year - 1


@dataclass(frozen=True)
class Month:
    """A date on the server, and the prices of a subject of 215,50 € on that date."""

    moment: tuple[int, int, int, int]
    banner: str
    quote: tuple[str, ...]
    cart: tuple[str, ...]
    list_price: str = ""


AUGUST = {
    "banner": "Solo en agosto: 20 % de descuento hasta el 31 de agosto. Ver descuentos",
    # 20 % of the base are 43,10 €, 5 % are 10,78 €; both are rounded half up to whole euros.
    "quote": (
        "Precio base 215,50 €",
        "Descuento de agosto (20 %) −43,00 €",
        "Pago completo (5 %) −11,00 €",
        "Precio final 161,50 €",
    ),
    # The list price is 215,50 € / 0,8; the campaign discount leads back to 215,50 €.
    "cart": (
        "Subtotal 269,38 €",
        "Descuento de agosto (20 %) −53,88 €",
        "Pago completo (5 %) −10,78 €",
        "Total 204,72 €",
    ),
    "list_price": "269,38 €",
}
PLAIN_CART = ("Subtotal 215,50 €", "Pago completo (5 %) −10,78 €", "Total 204,72 €")
SEPTEMBER_QUOTE = (
    "Precio base 215,50 €",
    "Descuento de septiembre (10 %) −22,00 €",
    "Pago completo (5 %) −11,00 €",
    "Precio final 182,50 €",
)
MONTHS = {
    "the last minutes of august": Month((8, 31, 23, 50), **AUGUST),
    "september": Month((9, 15, 12, 0), "", SEPTEMBER_QUOTE, PLAIN_CART),
}


@pytest.fixture(params=MONTHS.values(), ids=MONTHS)
def month(request: pytest.FixtureRequest, stack: Stack) -> Iterator[Month]:
    """The shop on that date. Afterwards the shop's date is today again."""
    month: Month = request.param
    # Two moments of one time zone would be subtracted without their daylight saving time.
    ahead = datetime(YEAR, *month.moment, tzinfo=MADRID) - datetime.now(UTC)
    stack.stop("web")
    Campaign.objects.filter(name="Agosto").update(cart=True)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stack, "env", {**stack.env, **moved_clock(ahead)})
            stack.start("web")
        stack.wait_ready()
        yield month
    finally:
        stack.stop("web")
        Campaign.objects.filter(name="Agosto").update(cart=False)
        stack.start()
        stack.wait_ready()


@pytest.fixture
def macro(shelf: Shelf) -> Subject:
    return shelf.put("Macroeconomía", "215.50")


def test_campaign_of_the_server_s_date_applies_to_banner_budget_and_cart_automatically(
    month: Month, visitor: Visitor, shelf: Shelf, macro: Subject
) -> None:
    page = visitor.page
    # The clock of the visitor's computer says 24 December, which must not matter.
    now = datetime.now(MADRID)
    page.add_init_script(moved_date(now.replace(month=12, day=24) - now))

    page.goto("/")
    assert page.evaluate("new Date().getMonth()") == 11
    banner = page.get_by_role("complementary", name="Oferta")
    expect(banner).to_have_text([month.banner] if month.banner else [], use_inner_text=True)

    calculator = Calculator(visitor)
    visitor.tick(visitor.box("Pago completo"))
    calculator.ask().choose(shelf, macro)
    calculator.expect_lines(*month.quote)
    calculator.open_contact().send(visitor.email)
    expect(calculator.card.get_by_text(SENT)).to_be_visible()
    calculator.expect_lines(*month.quote)
    # The calculator starts from the shop's prices, crosses none out, and says whose discount it is.
    expect(calculator.figures.locator("s")).to_have_count(0)
    expect(calculator.figures).to_contain_text("solo lo tienes si compras con este presupuesto")
    final = month.quote[-1].removeprefix("Precio final ")
    kept = Quote.objects.get(lead__email=visitor.email)
    assert f"{kept.final_price:.2f} €".replace(".", ",") == final
    mail = html_of(mail_with("Tu presupuesto", visitor.email)).replace("\xa0", " ")
    assert final in mail

    visitor.open_catalogue(shelf.degree).fill_cart([macro])
    # Card and cart cross out the same price, and the catalogue shows the campaign.
    before = [f"Antes: {month.list_price}"] if month.list_price else []
    expect(visitor.card(macro).locator("s")).to_have_text(before)
    expect(visitor.cart.locator("s")).to_have_text(before)
    expect(page.locator(".compra__campaign")).to_contain_text(
        [month.banner.partition(".")[0]] if month.banner else []
    )
    rows = visitor.cart.locator("dl > div")
    expect(rows).to_have_text(list(month.cart), use_inner_text=True)
