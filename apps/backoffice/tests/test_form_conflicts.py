"""A form of the admin that somebody else changed meanwhile is refused, with both values."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User

from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.core.models import Mail
from apps.core.staff.admin_conflicts import SEEN
from apps.pages.models import Faq
from apps.pricing.models import PromoCode
from apps.students.models import Student
from apps.students.services import change_email
from tests.helpers.admin import admin_url
from tests.helpers.factories import make_subject

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("carla")]


def shown_form(client, url):
    """The fields of a page as a browser would send them back."""
    page = client.get(url)
    sent = {}
    formsets = [inline.formset for inline in page.context["inline_admin_formsets"]]
    forms = [page.context["adminform"].form]
    for formset in formsets:
        forms += [formset.management_form, *formset.forms]
    for form in forms:
        for bound in form:
            value = bound.value()
            if value is True:
                sent[bound.html_name] = "on"
            elif value is not None and value is not False:
                sent[bound.html_name] = value
    return sent


def test_price_that_was_changed_meanwhile_is_refused_once_with_both_values(client):
    subject = make_subject("Álgebra", price="149.90", lessons=1)
    url = admin_url(Subject, "change", subject.pk)
    form = shown_form(client, url) | {"final_price": "139,00", "name": "Álgebra lineal"}
    subject.final_price = Decimal("155.00")
    subject.save()

    refused = client.post(url, form)
    page = refused.content.decode()
    assert "Otra persona lo ha cambiado entretanto a «155,00»" in page
    assert 'value="139,00"' in page
    assert 'value="Álgebra lineal"' in page
    subject.refresh_from_db()
    assert (subject.name, subject.final_price) == ("Álgebra", Decimal("155.00"))

    again = form | {SEEN: refused.context["adminform"].form[SEEN].value()}
    assert client.post(url, again).status_code == 302
    subject.refresh_from_db()
    assert (subject.name, subject.final_price) == ("Álgebra lineal", Decimal("139.00"))


def test_row_of_a_lesson_that_was_changed_meanwhile_is_refused(client):
    subject = make_subject("Álgebra", price="149.90", lessons=2)
    url = admin_url(Subject, "change", subject.pk)
    form = shown_form(client, url)
    lesson = subject.lessons.first()
    Lesson.objects.filter(pk=lesson.pk).update(status="expired")

    page = client.post(url, form).content.decode()
    assert "cambiado entretanto a «Caducada»" in page
    lesson.refresh_from_db()
    assert lesson.status == "expired"


def test_row_of_a_degree_that_was_changed_meanwhile_is_refused(client):
    degree = make_subject("Álgebra").degree
    url = admin_url(University, "change", degree.university_id)
    form = shown_form(client, url)
    del form["logo"]
    Degree.objects.filter(pk=degree.pk).update(name="Grado en Álgebra")

    assert "cambiado entretanto a «Grado en Álgebra»" in client.post(url, form).text


def test_same_change_by_two_people_and_a_form_without_changes_are_no_conflict(client):
    subject = make_subject("Álgebra", price="149.90", lessons=1)
    url = admin_url(Subject, "change", subject.pk)
    form = shown_form(client, url)
    assert client.post(url, form).status_code == 302

    subject.name = "Álgebra lineal"
    subject.save()
    assert client.post(url, form | {"name": "Álgebra lineal"}).status_code == 302


@pytest.mark.parametrize("seen", ["", "[]", "{", "null", '{"question": 5}', "[" * 5000])
def test_hidden_field_with_nonsense_is_no_server_error(client, seen):
    faq = Faq.objects.create(question="¿Cuándo?", answer="Siempre")
    url = admin_url(Faq, "change", faq.pk)
    sent = {"question": "¿Cuándo?", "answer": "Nunca", "position": "0", SEEN: seen}
    assert client.post(url, sent).status_code in (200, 302)


def test_restrictions_of_a_code_that_were_changed_meanwhile_are_shown_by_name(client):
    one, two = make_subject("Álgebra"), make_subject("Física")
    code = PromoCode.objects.create(code="OTONO", kind="FIJO", value=5)
    url = admin_url(PromoCode, "change", code.pk)
    form = shown_form(client, url)
    code.subjects.set([one, two])

    page = client.post(url, form).content.decode()
    assert "cambiado entretanto a «Álgebra, Física»" in page
    assert code.subjects.count() == 2


def test_deactivated_account_is_not_opened_again_by_a_form_of_before(client):
    bruno = User.objects.create_user("bruno", is_staff=True)
    url = admin_url(User, "change", bruno.pk)
    form = shown_form(client, url) | {"first_name": "Bruno"}
    User.objects.filter(pk=bruno.pk).update(is_active=False)

    assert "cambiado entretanto a «no»" in client.post(url, form).text
    bruno.refresh_from_db()
    assert not bruno.is_active


def test_address_of_a_student_is_not_changed_back_by_a_form_of_before(client):
    ana = Student.objects.create(email="ana@example.com")
    url = admin_url(Student, "change", ana.pk)
    form = shown_form(client, url) | {"first_name": "Ana"}
    change_email(student_id=ana.pk, email="ana@example.org")
    told = Mail.objects.count()

    assert "cambiado entretanto a «ana@example.org»" in client.post(url, form).text
    ana.refresh_from_db()
    assert (ana.email, Mail.objects.count()) == ("ana@example.org", told)
