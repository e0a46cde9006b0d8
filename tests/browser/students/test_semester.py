"""A student's semester: lessons, the rest of the subject, progress, renewal, and withdrawal."""

import re
from urllib.parse import urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.classroom.models import Enrolment, Progress
from apps.core.dates import today
from apps.core.models import SiteSettings
from apps.leads.models import Withdrawal
from apps.orders.jobs import offer_renewals
from apps.orders.renewals.renewals import FROM_BEFORE
from apps.pricing.models import Terms
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.records import eventually, mail_with, orders_of, text_of
from tests.browser.visitor import Visitor, expect_to_fit, nbsp, sign_in_staff


@pytest.fixture
def generous_terms(stack):
    terms = Terms.objects.create(changed_by="prueba", renewal_percent=50, lesson_credit=True)
    SiteSettings.objects.update(classroom_progress=True)
    yield
    SiteSettings.objects.update(classroom_progress=False)
    terms.delete()


def expect_to_fit_at_both_widths(student: Visitor) -> None:
    """The page fits and is accessible on a wide screen and on a phone, which the student keeps."""
    for size in (DESKTOP, PHONE):
        student.page.set_viewport_size(size)
        expect_to_fit(student.page)
        student.assert_accessible()


@pytest.mark.usefixtures("money_adds_up", "generous_terms")
def test_students_semester(new_visitor, visitor, shelf, stack, hosted_shop):
    law = shelf.put("Derecho", "200.00", lessons=3)
    student = new_visitor(viewport=PHONE, reduced_motion="reduce")
    page, email = student.page, student.email
    student.open_catalogue(shelf.degree).fill_cart([], lessons=law.lessons.all()[:2])
    student.open_dialog().fill_contact().buy("95,00 €").expect_success()
    of_student = Enrolment.objects.filter(student__email=email)
    person = eventually(of_student.first).student

    # The rest of the subject: 190 € less the 95 € that two lessons cost.
    student.sign_in(person, stack.url)
    student.open_catalogue(shelf.degree).fill_cart([law]).open_dialog()
    student.expect_step_2()
    expect(student.dialog.get_by_text("Ya pagado por tus lecciones")).to_be_visible()
    expect_to_fit_at_both_widths(student)
    student.buy("95,00 €").expect_success()
    assert [order.total_cents for order in orders_of(email)] == [95_00, 95_00]

    # The account: progress as the classroom reports it, and the end in two weeks.
    eventually(of_student.filter(lesson=None).first)
    of_student.update(ends_on=today() + FROM_BEFORE)
    Progress.objects.create(
        student=person, subject=law, done=3, total=5, last_access_at=timezone.now(),
        measured_at=timezone.now(),
    )  # fmt: skip
    student.sign_in(person, hosted_shop)
    page.goto(f"{hosted_shop}/mi-cuenta")
    expect(page.get_by_role("progressbar", name=law.name)).to_have_attribute("value", "3")
    expect(page.get_by_role("link", name="Renovar")).to_be_visible()
    expect_to_fit_at_both_widths(student)

    # The mail two weeks before the end, and its link on the same phone.
    offer_renewals()
    text = text_of(mail_with("Tu acceso termina", email))
    link = urlsplit(re.search(r"http\S+/renovar\S+", text)[0])
    page.goto(f"{stack.url}{link.path}?{link.query}")
    page.get_by_role("button", name=re.compile(nbsp("Renovar por 95,00 €"))).click()
    # One price, paid at once.
    expect(page.get_by_text("Precio de renovación", exact=True)).to_be_visible()
    expect(page.get_by_text("Forma de pago")).to_have_count(0)
    expect_to_fit_at_both_widths(student)
    # It is for its own student.
    expect(page.get_by_role("button", name="Cambiar tus datos")).to_have_count(0)
    student.tick_boxes().press(student.pay_button("95,00 €"))
    # Nobody has accepted the terms for this order yet.
    student.watch.expect("400.*process-checkout")
    student.tick(student.terms)
    student.tick(student.privacy)
    student.press(page.get_by_role("button", name="Continuar"))
    student.open_card_form("95,00 €").type_card()
    student.press(student.pay_button("95,00 €"))
    page.wait_for_url(f"{stack.url}/")

    # The withdrawal from the whole subject, within its term, has the proof of use.
    whole = orders_of(email)[1]
    page.goto(f"{hosted_shop}/mi-cuenta")
    order = page.get_by_role("article").filter(has_text=f"Pedido n.º {whole.pk}")
    order.get_by_role("link", name="Desistir de la compra").click()
    page.get_by_role("button", name="Desistir del contrato aquí").click()
    page.get_by_label("Nombre y apellidos").fill("Ana Gil")
    page.get_by_label("Email").fill(email)
    page.get_by_role("button", name="Desistir del contrato aquí").click()
    page.get_by_role("button", name="Confirmar desistimiento").click()
    expect(page.get_by_role("heading", name="Hemos recibido tu desistimiento")).to_be_visible()
    case = Withdrawal.objects.get(order=whole)
    sign_in_staff(visitor.page, path=f"/admin/leads/withdrawal/{case.pk}/change/")
    expect(visitor.page.get_by_text("3 de 5")).to_be_visible()
