"""The lead forms: contact, discount, subject request, free subject, preview contact."""

import re

import pytest
from playwright.sync_api import Locator, expect

from apps.leads.models import Lead
from apps.pricing.models import PromoCode
from tests.browser.records import eventually, mails_to, text_of
from tests.browser.visitor import Visitor

PDF = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"
FORMS_AWAY = {"status": 500, "body": "<h1>no</h1>"}


def lead_of(address: str, kind: Lead.Kind) -> Lead:
    (lead,) = Lead.objects.filter(email=address, kind=kind)
    return lead


def shown_error(visitor: Visitor, field: Locator, sentence: str) -> None:
    """The message is in a toast and at its field, and the field has the focus."""
    expect(visitor.toast("Error", sentence)).to_be_visible()
    expect(field).to_have_accessible_description(re.compile(re.escape(sentence)))
    expect(field).to_have_attribute("aria-invalid", "true")


# ---------------------------------------------------------------- contact
@pytest.fixture
def contact(visitor):
    visitor.page.goto("/#contacto")
    form = visitor.page.locator("[data-island=contact]")
    form.scroll_into_view_if_needed()
    expect(visitor.page.locator("[data-island=contact][data-mounted]")).to_be_attached()
    return form


# The rules of the fields and their order: static_src/schemas/leads.test.ts in the browser,
# apps/leads/tests/test_messages.py at the server. Here is how their messages are shown.
def test_contact_form_shows_errors_at_its_fields_keeps_the_input_and_is_reset_once_sent(
    visitor, contact
):
    visitor.watch.expect("400")
    visitor.watch.expect("500")
    visitor.watch.expect("ApiError")
    requests = visitor.responses_of("/api/send-contact-email")
    email, send = (
        contact.get_by_label("Email"),
        contact.get_by_role("button", name="Enviar mensaje"),
    )
    visitor.press(send)
    name = contact.get_by_label("Nombre")
    shown_error(visitor, name, "El nombre es obligatorio")
    expect(name).to_be_focused()
    assert requests == []
    name.fill("Ana")
    expect(name).not_to_have_attribute("aria-invalid", "true")
    email.fill("ana@example.c")  # The server wants two letters there.
    contact.get_by_label("Mensaje").fill("¿Tenéis Estadística?")
    visitor.press(send)
    shown_error(visitor, contact.get_by_role("checkbox"), "Debes aceptar la política de privacidad")
    visitor.tick(contact.get_by_role("checkbox"))
    visitor.press(send)
    shown_error(visitor, email, "Por favor, introduce un email válido")
    expect(email).to_be_focused()

    email.fill(visitor.email)
    visitor.page.route("**/api/send-contact-email", lambda route: route.fulfill(**FORMS_AWAY))
    visitor.press(send)
    expect(visitor.toast("Error", "Error al enviar el formulario")).to_be_visible()
    expect(contact.get_by_label("Mensaje")).to_have_value("¿Tenéis Estadística?")
    visitor.page.unroute("**/api/send-contact-email")
    visitor.press(send)

    expect(visitor.toast("¡Mensaje enviado!")).to_be_visible()
    expect(contact.get_by_label("Nombre")).to_have_value("")
    expect(contact.get_by_role("checkbox")).not_to_be_checked()
    lead = lead_of(visitor.email, Lead.Kind.CONTACT)
    assert (lead.name, lead.message, lead.phone) == ("Ana", "¿Tenéis Estadística?", "")
    assert lead.consents.get().wording == "Acepto la política de privacidad"


def test_forms_say_that_they_need_javascript(new_visitor):
    reader = new_visitor(java_script_enabled=False)
    reader.page.goto("/precios")
    # Playwright does not find text inside <noscript> by text or role.
    note = reader.page.locator(".calculator noscript")
    assert note.evaluate("element => element.getBoundingClientRect().height") > 0
    assert "Para usar este formulario hace falta JavaScript." in note.inner_html()


# ---------------------------------------------------------------- dialogs
def open_dialog(visitor: Visitor, path: str, button: str) -> Locator:
    visitor.page.goto(path)
    opener = visitor.page.locator("main").get_by_text(button, exact=True)
    visitor.press(opener)
    expect(visitor.dialog).to_be_visible()
    return visitor.dialog


def test_discount_request_has_phone_email_12_careers_and_terms_and_sends_a_personal_code(visitor):
    visitor.watch.expect("500")
    visitor.watch.expect("ApiError")
    dialog = open_dialog(visitor, "/precios#descuentos", "Solicitar mi descuento")
    expect(dialog.get_by_role("heading", name="Solicita tu descuento")).to_be_focused()
    for _ in range(12):
        visitor.page.keyboard.press("Tab")
        expect(dialog.locator(":focus")).to_have_count(1)
    requests = visitor.responses_of("/api/send-discount-email")
    send = dialog.get_by_role("button", name="Solicitar descuento")
    visitor.press(send)
    terms = "Debes aceptar los términos y condiciones para continuar."
    shown_error(visitor, dialog.get_by_role("checkbox"), terms)
    for label in ("Teléfono", "Email", "Carrera"):
        expect(dialog.get_by_label(label)).to_have_attribute("aria-invalid", "true")
    assert requests == []
    careers = dialog.get_by_label("Carrera")
    expect(careers.locator("option:not([disabled])")).to_have_count(12)
    dialog.get_by_label("Teléfono").fill("600123123")
    dialog.get_by_label("Email").fill(visitor.email)
    careers.select_option("derecho")
    visitor.tick(dialog.get_by_role("checkbox"))
    visitor.page.route("**/api/send-discount-email", lambda route: route.fulfill(**FORMS_AWAY))
    visitor.press(send)
    problem = "Hubo un problema al enviar tu solicitud. Por favor, inténtalo de nuevo."
    expect(visitor.toast("Error", problem)).to_be_visible()
    expect(send).to_be_focused()
    visitor.page.unroute("**/api/send-discount-email")
    visitor.press(send)

    expect(
        visitor.toast("¡Solicitud enviada!", "Te hemos enviado tu código de descuento por email.")
    ).to_be_visible()
    expect(visitor.dialog).to_have_count(0)
    # The island has replaced the pressed link with a button.
    expect(visitor.page.get_by_role("button", name="Solicitar mi descuento")).to_be_focused()
    code = PromoCode.objects.get(leads__email=visitor.email).code
    mail = eventually(lambda: mails_to(visitor.email))[0]
    assert code in text_of(mail)


def open_missing(visitor: Visitor) -> Locator:
    visitor.page.goto("/precios")
    visitor.press(visitor.page.get_by_text("¿No encuentras tu asignatura?"))
    visitor.press(visitor.page.locator(".subject-request").get_by_text("Solicitar asignatura"))
    expect(visitor.dialog).to_be_visible()
    return visitor.dialog


SUBJECT_REQUEST = {
    "Nombre": "Ana",
    "Email": "",
    "Teléfono": "600123123",
    "Universidad": "UNED",
    "Carrera": "Turismo",
    "Nombre de la asignatura": "Geografía",
}


def test_subject_request_is_sent(visitor):
    dialog = open_missing(visitor)
    for label, answer in SUBJECT_REQUEST.items():
        dialog.get_by_label(label, exact=True).fill(answer or visitor.email)
    visitor.press(dialog.get_by_role("button", name="Enviar solicitud"))

    expect(
        visitor.toast("¡Solicitud enviada correctamente! Te contactaremos pronto.")
    ).to_be_visible()
    expect(visitor.dialog).to_have_count(0)
    request = lead_of(visitor.email, Lead.Kind.SUBJECT_REQUEST).subject_request
    assert (request.university, request.subject_name) == ("UNED", "Geografía")


# ---------------------------------------------------------------- free subject
def free_dialog(visitor: Visitor) -> Locator:
    visitor.page.goto("/precios")
    visitor.press(visitor.page.locator("header").get_by_text("Asignatura gratis").first)
    expect(visitor.dialog).to_be_visible()
    return visitor.dialog


def test_free_subject_inputs_are_read_only_for_the_first_500_ms(visitor):
    page = visitor.page
    page.goto("/precios")
    page.clock.install()
    visitor.press(page.locator("header").get_by_text("Asignatura gratis").first)
    expect(visitor.dialog).to_be_visible()
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 10)
    # Close and open the dialog again with a stopped clock.
    visitor.press(visitor.dialog.get_by_role("button", name="Cancelar"))
    visitor.press(page.get_by_role("button", name="Asignatura gratis").first)
    expect(visitor.dialog).to_be_visible()

    page.clock.run_for(499)
    for label in ("Email", "Teléfono"):
        expect(visitor.dialog.get_by_label(label)).not_to_be_editable()
    # Nothing is sent during the 500 ms: browsers do not validate read-only fields.
    visitor.tick(visitor.dialog.get_by_role("checkbox"))
    visitor.press(visitor.dialog.get_by_role("button", name="Solicitar", exact=True))
    expect(visitor.dialog).to_be_visible()
    page.clock.run_for(1)
    for label in ("Email", "Teléfono"):
        expect(visitor.dialog.get_by_label(label)).to_be_editable()


def test_free_subject_modal_needs_accepted_terms_and_on_submit_closes_resets_and_sends(visitor):
    logged: list[str] = []
    visitor.page.on("console", lambda message: logged.append(message.text))
    dialog = free_dialog(visitor)
    expect(dialog.get_by_role("heading", name="Solicita tu asignatura gratis!")).to_be_visible()
    fields = {
        "Email": "tu@email.com",
        "Teléfono": "+34 123 456 789",
        "Carrera": "Ej: Psicología, Educación Social...",
    }
    for label, placeholder in fields.items():
        expect(dialog.get_by_label(label)).to_have_attribute("placeholder", placeholder)
        expect(dialog.get_by_label(label)).to_have_attribute("required", "")
    expect(dialog.get_by_label("Email")).to_have_attribute("type", "email")
    expect(dialog.get_by_label("Teléfono")).to_have_attribute("type", "tel")
    expect(dialog.get_by_role("button", name="Cancelar")).to_be_enabled()
    submit = dialog.get_by_role("button", name="Solicitar", exact=True)
    expect(submit).to_be_disabled()

    dialog.get_by_label("Email").fill(visitor.email)
    dialog.get_by_label("Teléfono").fill("600 123 123")
    dialog.get_by_label("Carrera").fill("Psicología")
    visitor.tick(visitor.box("Acepto los términos y condiciones"))
    expect(submit).to_be_enabled()
    with visitor.page.expect_response("**/api/request-free-subject") as sent:
        visitor.press(submit)
        expect(visitor.dialog).to_have_count(0)
    assert sent.value.status == 200
    assert lead_of(visitor.email, Lead.Kind.FREE_SUBJECT).career == "Psicología"
    answer = "Te escribimos en menos de 24 h."
    expect(visitor.toast("Hemos recibido tu solicitud", answer)).to_be_visible()
    assert logged == []

    visitor.press(visitor.page.get_by_role("button", name="Asignatura gratis").first)
    for label in fields:
        expect(visitor.dialog.get_by_label(label)).to_have_value("")
    expect(visitor.dialog.get_by_role("checkbox")).not_to_be_checked()


def test_free_subject_modal_stays_open_while_the_browser_s_validation_fails(visitor):
    dialog = free_dialog(visitor)
    sample = dialog.get_by_role("link", name="Mira antes una lección")
    expect(sample).to_have_attribute("href", "/muestra")
    requests = visitor.responses_of("/api/request-free-subject")
    visitor.tick(dialog.get_by_role("checkbox"))
    submit = dialog.get_by_role("button", name="Solicitar", exact=True)
    expect(dialog.get_by_label("Email")).to_be_editable()
    visitor.press(submit)
    expect(dialog.get_by_label("Email")).to_be_focused()
    dialog.get_by_label("Email").fill("ana@casa")
    dialog.get_by_label("Teléfono").fill("1")
    dialog.get_by_label("Carrera").fill(" ")
    visitor.press(submit)
    expect(dialog.get_by_label("Email")).to_be_focused()
    dialog.get_by_label("Email").fill(visitor.email)
    visitor.press(submit)
    expect(dialog.get_by_label("Carrera")).to_be_focused()
    assert requests == []


# ---------------------------------------------------------------- preview contact
@pytest.fixture
def preview(visitor):
    visitor.page.goto("/servicios")
    form = visitor.page.locator("[data-island=preview-contact]")
    form.scroll_into_view_if_needed()
    expect(visitor.page.locator("[data-island=preview-contact][data-mounted]")).to_be_attached()
    return form


def test_preview_contact_sends_its_attachment_to_the_shop(visitor, preview, tmp_path):
    file = preview.get_by_label("Archivo")
    expect(file).to_have_attribute("accept", ".pdf,.doc,.docx,.txt,.jpg,.jpeg,.png")
    expect(file).to_have_accessible_description(re.compile("Máx. 10MB"))
    expect(preview.get_by_label("Email")).to_have_attribute("type", "email")
    (tmp_path / "pec1.pdf").write_bytes(PDF)
    file.set_input_files(tmp_path / "pec1.pdf")
    preview.get_by_label("Email").fill(visitor.email)
    visitor.tick(preview.get_by_role("checkbox"))
    visitor.press(preview.get_by_role("button", name="Enviar"))

    expect(
        visitor.toast(
            "¡Solicitud enviada!", "Hemos recibido tu archivo. Te responderemos por email."
        )
    ).to_be_visible()
    expect(preview.get_by_label("Email")).to_have_value("")
    attachment = lead_of(visitor.email, Lead.Kind.PREVIEW).attachment
    assert (attachment.original_name, attachment.size) == ("pec1.pdf", len(PDF))
