"""A contact in the back office: it arrives, is assigned, answered by mail and becomes a quote."""

import re

from playwright.sync_api import expect

from apps.backoffice.seed import ADMIN_NAME
from apps.leads.models import Lead
from tests.browser.records import mail_with, text_of
from tests.browser.visitor import Visitor, Watch, expect_to_fit, settled, sign_in_staff

QUESTION = "¿Los vídeos sirven para el examen de febrero?"


def test_contact_is_assigned_answered_and_becomes_a_quote(
    visitor: Visitor, email: str, watch: Watch
) -> None:
    page = visitor.page
    page.goto("/precios")
    sent = settled(
        page,
        """async (body) => (await fetch("/api/send-contact-email", {
            method: "POST", headers: {"Content-Type": "application/json"},
            body: JSON.stringify(body),
        })).status""",
        {
            "name": "Bruno Núñez",
            "email": email,
            "phone": "",
            "message": QUESTION,
            "privacyAccepted": True,
        },
    )
    assert sent == 200

    sign_in_staff(page, path="/admin/leads/lead/")
    page.get_by_role("link", name=re.compile("^Sin responder")).click()
    page.get_by_role("link", name=re.compile(re.escape(email))).click()
    conversation = page.locator(".lead-conversation")
    expect(conversation.get_by_text(QUESTION)).to_be_visible()
    expect(conversation.get_by_role("link", name="/precios")).to_be_visible()

    page.get_by_label("Asignada a").select_option(ADMIN_NAME)
    page.get_by_role("button", name="Guardar", exact=True).click()
    expect(conversation.get_by_text(f"Asignada a {ADMIN_NAME}")).to_be_visible()

    page.get_by_role("link", name="Lo miramos").click()
    expect(page.get_by_label("Mensaje")).to_have_value(re.compile("^Hola Bruno:"))
    page.get_by_label("Asunto").fill(f"Sobre el examen {email}")
    page.get_by_label("Mensaje").fill("Hola Bruno:\n\nSí, también para febrero.")
    page.get_by_role("button", name=f"Enviar a {email}").click()
    expect(conversation.get_by_text("Sí, también para febrero.")).to_be_visible()
    expect(page.get_by_text(re.compile("Primera respuesta en"))).to_be_visible()
    letter = text_of(mail_with(f"Sobre el examen {email}", email))
    assert "Sí, también para febrero." in letter
    assert QUESTION not in letter
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        expect_to_fit(page)
        visitor.assert_accessible()

    page.get_by_role("link", name="Presupuesto", exact=True).click()
    expect(page.get_by_role("heading", name="Enviar un presupuesto")).to_be_visible()
    visitor.assert_accessible()
    search = page.locator(".lead-field .select2-search__field")
    search.click()
    search.press_sequentially("derecho roma")
    page.get_by_role("option", name="Derecho romano").click()
    page.get_by_label("Pago completo").check()
    page.get_by_role("button", name="Enviar el presupuesto").click()
    expect(conversation.get_by_text(re.compile("Presupuesto n.º .* enviado a"))).to_be_visible()
    assert "Derecho romano" in text_of(mail_with("Tu presupuesto", email))
    lead = Lead.objects.get(email=email)
    assert (lead.status, lead.page, lead.quote.subjects.count()) == ("answered", "/precios", 1)
