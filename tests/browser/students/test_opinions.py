"""A verified opinion: asked by mail, given by a one-time link, moderated, and shown."""

import re
from datetime import timedelta

from playwright.sync_api import expect

from apps.classroom.models import Enrolment
from apps.core.dates import today
from apps.pages.models import Opinion
from apps.pages.opinions.asking import ask_for_opinions
from tests.browser.records import eventually, mail_with, pay_elsewhere, text_of
from tests.browser.visitor import sign_in_staff

TEXT = "Los vídeos <b>se entienden</b> y las dudas llegan resueltas."


def test_opinion_is_asked_given_moderated_and_shown_as_verified(phone, new_visitor, shelf):
    subject = shelf.put("Sociología", "100.00")
    pay_elsewhere(phone.email, {"subject_id": subject.pk}, total="95.00")
    ended = today() - timedelta(days=1)
    eventually(lambda: Enrolment.objects.filter(subject=subject).update(ends_on=ended))
    ask_for_opinions()
    letter = text_of(mail_with("¿Qué te ha parecido Sociología", phone.email))
    found = re.search(r"https?://[^/\s]+(/opinion\?\S+)", letter)
    assert found
    link = found[1]

    page = phone.page
    page.goto(link)
    phone.assert_accessible()
    phone.press(page.get_by_role("button", name="Enviar opinión"))
    expect(page.get_by_text("Elige una nota de 1 a 5.")).to_be_visible()
    expect(page.get_by_text("Escribe tu opinión.")).to_be_visible()
    phone.assert_accessible()
    phone.press(page.get_by_text("4 · Buena"))
    page.get_by_label("Tu opinión").fill(TEXT)
    page.get_by_label("Nombre que se muestra").fill("Ana M.")
    phone.press(page.get_by_role("button", name="Enviar opinión"))
    expect(page.get_by_role("heading", name="Gracias por tu opinión")).to_be_visible()
    page.goto(link)
    expect(page.get_by_role("heading", name="Gracias por tu opinión")).to_be_visible()
    expect(page.get_by_role("button", name="Enviar opinión")).to_have_count(0)
    page.goto(subject.page_path)
    expect(page.get_by_text("Compra verificada")).to_have_count(0)

    staff = new_visitor().page
    sign_in_staff(staff)
    staff.get_by_role("link", name="Opiniones por revisar").click()
    row = staff.locator("#result_list tbody tr").filter(has_text=subject.name)
    expect(row).to_contain_text(TEXT)
    row.get_by_role("checkbox").check()
    staff.locator("select[name=action]").select_option("Publicar")
    staff.locator("button[name=index]").click()
    expect(staff.get_by_text("Opiniones publicadas: 1.")).to_be_visible()
    assert Opinion.objects.get(subject=subject).status == Opinion.Status.PUBLISHED

    def shows_the_opinion(path: str) -> bool:
        page.goto(path)
        card = page.get_by_role("listitem").filter(has_text="Compra verificada")
        return card.filter(has_text=TEXT).filter(has_text="Ana M.").count() == 1

    for path in (subject.page_path, "/"):
        eventually(lambda path=path: shows_the_opinion(path))
        phone.assert_accessible()
    page.get_by_role("link", name=subject.name).first.click()
    page.wait_for_url(f"**{subject.page_path}")
