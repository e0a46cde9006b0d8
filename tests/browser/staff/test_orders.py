"""A working day with orders in the back office, in Chromium at 1440 and 390 px."""

import re

from playwright.sync_api import expect

from apps.catalogue.models import Subject
from apps.classroom.models import Provisioning
from apps.core.dates import today
from apps.core.models import Mail
from apps.orders.models import Order
from tests.browser.conftest import PHONE
from tests.browser.visitor import expect_to_fit

ANA = "ana.ejemplo@example.com"


def test_a_day_of_orders_access_mails_refunds_and_a_transfer(clerk):
    order = Order.objects.filter(email=ANA, status="paid").earliest("pk")
    # Paid without access: the clerk retries.
    Provisioning.objects.filter(order_id=order.pk).update(
        status="failed", last_error="El aula no responde"
    )
    Mail.objects.filter(key=f"order-confirmation:{order.pk}").update(
        status="failed", last_error="Buzón lleno"
    )
    clerk.goto(f"/admin/orders/order/{order.pk}/change/")
    expect(clerk.get_by_text("El aula no responde").first).to_be_visible()
    clerk.get_by_role("button", name="Reintentar el acceso").click()
    expect(clerk.get_by_text("Se vuelve a intentar el acceso")).to_be_visible()

    # A mail that bounced: read in place, then sent again.
    expect(clerk.get_by_text("Buzón lleno")).to_be_visible()
    clerk.get_by_role("button", name="Reenviar la confirmación").click()
    expect(clerk.get_by_text(re.compile("enviado otra vez a")).first).to_be_visible()
    clerk.get_by_text("Abrir el correo").first.click()
    expect(clerk.frame_locator(".timeline iframe").first.locator("body")).to_be_visible()
    clerk.set_viewport_size(PHONE)
    expect(clerk.get_by_role("heading", name="Qué ha pasado")).to_be_visible()
    expect_to_fit(clerk)
    clerk.set_viewport_size({"width": 1440, "height": 900})

    # An order made by staff, and a transfer that is too small, then the rest.
    subject = Subject.objects.on_sale().most_enrolled_first()[0]
    clerk.goto("/admin/orders/order/nuevo/")
    clerk.get_by_label("Correo").fill("transferencia@example.com")
    clerk.get_by_label("Teléfono").fill("600333444")
    field = clerk.locator(".select2-search__field").first
    field.click()
    field.press_sequentially(subject.name[:12])
    clerk.locator(".select2-results__option", has_text=subject.name).first.click()
    clerk.get_by_label("Se paga con").select_option("transfer")
    clerk.get_by_role("button", name="Ver el precio").click()
    expect(clerk.get_by_role("heading", name=re.compile("El pedido será de"))).to_be_visible()
    clerk.get_by_role("button", name="Crear el pedido").click()
    expect(clerk.get_by_text("Esperando transferencia").first).to_be_visible()
    clerk.get_by_role("link", name="Editar…").click()
    clerk.get_by_label("Descuento (€)").fill("5")
    clerk.get_by_label("Motivo del descuento").fill("Espera")
    clerk.get_by_role("button", name="Ver el precio").click()
    clerk.get_by_role("button", name="Guardar los cambios").click()
    expect(clerk.get_by_text("Pedido editado.")).to_be_visible()

    made = Order.objects.get(email="transferencia@example.com")
    for amount, proof, answer in (
        ("10,00", "MOV-1", "Falta dinero"),
        (f"{made.total_amount - 10:.2f}".replace(".", ","), "MOV-2", "Es el importe exacto"),
    ):
        clerk.get_by_role("link", name="Apuntar la transferencia…").click()
        clerk.get_by_label("Importe recibido (€)").fill(amount)
        clerk.get_by_label("Justificante del banco").fill(proof)
        clerk.get_by_role("button", name="Ver qué pasaría").click()
        expect(clerk.get_by_text(answer)).to_be_visible()
        clerk.get_by_role("button", name=re.compile("^Apuntar")).click()
        expect(clerk.get_by_text(answer).first).to_be_visible()

    # The refund of a transfer is recorded as made by hand.
    clerk.get_by_role("link", name="Devolver…").click()
    expect(clerk.get_by_role("group", name="Qué se devuelve")).to_be_visible()
    for line in clerk.locator("input[name=lines]").all():
        line.check()
    clerk.get_by_label("Motivo").fill("Se arrepiente")
    clerk.get_by_role("button", name="Ver qué cambiaría").click()
    expect(clerk.get_by_text("haz tú la transferencia de vuelta").first).to_be_visible()
    clerk.get_by_role("button", name=re.compile("^Devolver")).click()
    expect(clerk.locator(".record-state")).to_contain_text("Devuelto")
    clerk.goto(f"/admin/students/student/{made.student_id}/change/")
    expect(clerk.get_by_role("heading", name="Pedidos").first).to_be_visible()
    clerk.set_viewport_size(PHONE)


def test_a_course_is_exchanged_for_a_dearer_one_and_an_access_extended(clerk):
    order = Order.objects.filter(email=ANA, status="paid").earliest("pk")
    dearest = Subject.objects.on_sale().order_by("-final_price", "pk")[0]
    clerk.goto(f"/admin/orders/order/{order.pk}/change/")
    clerk.get_by_role("link", name="Cambiar un curso…").click()
    clerk.get_by_role("radio").first.check()
    clerk.get_by_role("combobox").first.click()
    search = clerk.locator(".select2-search__field")
    search.press_sequentially(dearest.name[:12])
    clerk.locator(".select2-results__option", has_text=dearest.name).first.click()
    clerk.get_by_label("Motivo").fill("Se equivocó")
    clerk.set_viewport_size(PHONE)
    expect_to_fit(clerk)
    clerk.get_by_role("button", name="Ver qué cambiaría").click()
    expect(clerk.get_by_role("heading", name=re.compile("El alumno paga"))).to_be_visible()
    expect_to_fit(clerk)
    clerk.get_by_role("button", name="Pedir la diferencia").click()
    expect(clerk.get_by_text("El cambio se hace cuando la pague")).to_be_visible()
    expect(clerk.locator(".record-state")).to_contain_text("Esperando el pago con tarjeta")
    clerk.set_viewport_size({"width": 1440, "height": 900})

    clerk.goto("/admin/classroom/enrolment/")
    clerk.locator("input.action-select").first.check()
    clerk.locator("select[name=action]").select_option("extend")
    clerk.locator("button[name=index]").first.click()
    until = today().replace(day=28, year=today().year + 1)
    clerk.get_by_label("Nuevo último día").fill(until.isoformat())
    clerk.get_by_label("Motivo").fill("Estuvo enferma")
    clerk.set_viewport_size(PHONE)
    clerk.get_by_role("button", name="Ver qué cambiaría").click()
    expect(clerk.get_by_role("button", name="Ampliar 1 acceso")).to_be_visible()
    expect_to_fit(clerk)
    clerk.get_by_role("button", name="Ampliar 1 acceso").click()
    expect(clerk.get_by_text(f"ahora el {until:%d/%m/%Y}")).to_be_visible()
