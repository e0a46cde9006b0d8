"""A day with the catalogue: an import, dearer prices, and codes of which one is used."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from apps.pricing.models import PromoBatch
from tests.browser.records import Shelf, eventually, only_order
from tests.browser.visitor import Visitor, sign_in_staff

HEAD = "universidad_siglas;grado;asignatura;precio\n"


@pytest.fixture
def clerk(new_visitor: Any) -> Page:
    """A page signed in as the sample admin."""
    page: Page = new_visitor().page
    sign_in_staff(page)
    expect(page.get_by_role("heading", name="Gestión de la academia")).to_be_visible()
    return page


def upload(clerk: Page, text: str) -> None:
    clerk.goto("/admin/catalogue/subject/importar/")
    file = {"name": "precios.csv", "mimeType": "text/csv", "buffer": text.encode()}
    clerk.get_by_label("Archivo").set_input_files(file)  # type: ignore[arg-type]
    clerk.get_by_role("button", name="Ver qué cambiaría").click()


def test_import_with_a_bad_row_dearer_prices_and_fifty_codes_of_which_one_is_used(
    clerk: Page, visitor: Visitor, shelf: Shelf
) -> None:
    maths = shelf.put("Cálculo del día", "200.00")
    place = f"{maths.university.acronym};{maths.degree.name};{maths.name}"

    upload(clerk, f"{HEAD}{place};muchos\n")
    expect(clerk.get_by_text("No se ha cambiado nada.")).to_be_visible()
    expect(clerk.get_by_text("«muchos» no es un precio")).to_be_visible()
    upload(clerk, f"{HEAD}{place};90,00\n")
    clerk.get_by_label("Sí, esos precios son correctos").check()
    clerk.get_by_role("button", name="Hacer estos cambios").click()
    expect(clerk.get_by_text("Importado: precios.csv")).to_be_visible()

    clerk.goto("/admin/catalogue/subject/?q=calculo+del+dia")
    clerk.locator("#result_list .action-select").first.check()
    clerk.locator("select[name=action]").select_option(label="Cambiar precios…")
    clerk.locator(".actions button[name=index]").click()
    clerk.get_by_label("Qué hacer").select_option(label="Subir una cantidad en euros")
    clerk.get_by_label("Cuánto").fill("9,90")
    clerk.get_by_role("button", name="Ver qué cambiaría").click()
    expect(clerk.get_by_role("cell", name="99,90\N{NO-BREAK SPACE}€", exact=True)).to_be_visible()
    clerk.get_by_role("button", name="Cambiar 1 precio").click()
    expect(clerk.get_by_role("button", name="Deshacer este cambio")).to_be_visible()

    clerk.goto("/admin/pricing/promobatch/add/")
    clerk.get_by_label("Nombre").fill("Feria")
    clerk.get_by_label("Patrón").fill("feria-######")
    clerk.get_by_label("Tipo").select_option(label="Importe fijo")
    clerk.get_by_label("Valor").fill("12,50")
    clerk.get_by_role("button", name="Guardar", exact=True).click()
    expect(clerk.get_by_role("link", name="Descargar (.csv)")).to_be_visible()
    batch = PromoBatch.objects.with_figures().get(pattern="FERIA-######")
    assert batch.codes_count == 50
    code = batch.codes.order_by("code")[0]

    # 99.90 € less 5 % for full payment (5.00 €), less 12.50 €.
    buyer = visitor.to_step_2(maths.degree, [maths])
    buyer.apply_code(code.code)
    expect(buyer.toast("¡Código aplicado!")).to_be_visible()
    buyer.buy("82,40 €").expect_success()
    eventually(lambda: only_order(visitor.email).paid_at)

    clerk.reload()
    expect(clerk.locator(".field-uses")).to_contain_text("1")
    expect(clerk.locator(".field-sold")).to_contain_text(re.compile("82,40"))
