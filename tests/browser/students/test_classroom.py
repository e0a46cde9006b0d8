"""The classroom /aula in Chromium: forms, referrers, sessions and accessibility."""

import re

import pytest
from django.contrib.auth.hashers import make_password
from django.db import transaction
from playwright.sync_api import Page, expect

from apps.classroom.models import Account
from apps.classroom.provisioning import grant_access
from apps.students.models import SignIn
from apps.students.services import find_or_create_student
from tests.browser.records import ACCESS, mail_with

PASSWORD = "marea-alta-42"


def field(page: Page, label: str):
    return page.get_by_label(label, exact=True)


def test_mailed_access_link_opens_the_classroom_and_works_once(visitor, phone, shelf):
    whole, other = shelf.put("Microeconomía", "192.00"), shelf.put("Estadística", "192.00")
    student = find_or_create_student(email=visitor.email, phone="+34600123123")
    items = [(whole.pk, None), (other.pk, other.lessons.get(title="PEC 2").pk)]
    with transaction.atomic():
        # An order gets its access once: the number must not be that of a later test's order.
        grant_access(student=student, items=items, order_id=1_000_000 + student.pk)
    body = mail_with(ACCESS, visitor.email).get_body(("plain",))
    assert body is not None
    link = re.findall(r"http\S+/aula/acceso\?enlace=\S+", body.get_content())[0]
    token = link.rpartition("/")[2]
    page = visitor.page
    referrers: list[str] = []
    page.on("request", lambda request: referrers.append(request.headers.get("referer", "")))

    page.goto(link)
    field(page, "Nombre").fill("Ana")
    field(page, "Apellidos").fill("Gil")
    field(page, "Contraseña nueva").fill("corta")
    field(page, "Repite la contraseña").fill("corta")
    page.get_by_role("button", name="Guardar y entrar en el aula").click()
    expect(page.get_by_text("La contraseña es demasiado corta.")).to_be_visible()
    visitor.assert_accessible()
    field(page, "Contraseña nueva").fill(PASSWORD)
    field(page, "Repite la contraseña").fill(PASSWORD)
    page.get_by_role("button", name="Guardar y entrar en el aula").click()

    expect(page.get_by_role("heading", name="Hola, Ana")).to_be_visible()
    expect(page.get_by_role("heading", name=whole.name)).to_be_visible()
    lessons = page.get_by_role("listitem").filter(has_text=other.name).get_by_role("listitem")
    expect(lessons).to_have_text(["PEC 2"])
    assert referrers, "no request was seen"
    assert not any(token in referrer for referrer in referrers)

    phone.watch.expect(r"status of 410 .*/aula/acceso")
    phone.page.goto(link)
    expect(phone.page.get_by_role("heading", name="El enlace ya no sirve")).to_be_visible()
    phone.assert_accessible()


@pytest.fixture
def student_with_password(email):
    """The e-mail of a student who may sign in to the classroom."""
    student = find_or_create_student(email=email, phone="+34600123123", first_name="Ana")
    Account.objects.create(student=student, password=make_password(PASSWORD))
    return email


def test_signing_in_and_out_by_keyboard_only(student_with_password, visitor):
    page = visitor.page
    page.goto("/aula")
    field(page, "Email").focus()
    page.keyboard.type(student_with_password)
    page.keyboard.press("Tab")
    page.keyboard.type("no-es-esta-1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("El email o la contraseña no son correctos.")
    visitor.assert_accessible()

    field(page, "Contraseña").focus()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Hola, Ana")).to_be_visible()
    header = page.get_by_role("banner")
    expect(header.get_by_role("link", name="Mi aula")).to_be_visible()
    page.get_by_role("link", name="Mi perfil").press("Enter")
    expect(page.get_by_text(student_with_password)).to_be_visible()
    page.get_by_role("button", name="Cerrar sesión").press("Enter")
    expect(page.get_by_role("heading", name="Entrar en el aula")).to_be_visible()
    expect(header.get_by_role("link", name="Iniciar sesión")).to_be_visible()


def test_new_access_link_can_be_requested_on_a_phone(student_with_password, phone):
    page = phone.page
    page.goto("/aula")
    page.get_by_role("link", name="No tengo contraseña o la he olvidado").tap()
    field(page, "Email").fill(student_with_password)
    page.get_by_role("button", name="Enviadme un enlace nuevo").tap()
    expect(page.get_by_role("heading", name="Mira tu email")).to_be_visible()
    phone.assert_accessible()
    assert mail_with("Tu enlace para el aula", student_with_password)


def test_signing_in_on_a_third_device_ends_the_oldest_session(
    student_with_password, visitor, new_visitor
):
    first, second, third = visitor.page, new_visitor().page, new_visitor().page
    inside, outside = "Hola, Ana", "Entrar en el aula"
    for page in (first, second, third):
        page.goto("/aula")
        field(page, "Email").fill(student_with_password)
        field(page, "Contraseña").fill(PASSWORD)
        page.get_by_role("button", name="Entrar").click()
        expect(page.get_by_role("heading", name=inside)).to_be_visible()

    for page, heading in ((first, outside), (second, inside), (third, inside)):
        page.reload()
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    assert SignIn.objects.filter(student__email=student_with_password, ended_at=None).count() == 2

    # Signing in on the first device again ends the session of the second.
    field(first, "Email").fill(student_with_password)
    field(first, "Contraseña").fill(PASSWORD)
    first.get_by_role("button", name="Entrar").click()
    expect(first.get_by_role("heading", name=inside)).to_be_visible()
    for page, heading in ((second, outside), (third, inside), (first, inside)):
        page.reload()
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
