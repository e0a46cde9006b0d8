"""What a visitor sees before paying: sample, teacher, exam, search, and "Avísame"; and renewals."""

import re
from datetime import date, timedelta
from urllib.parse import urlsplit

import pytest
from django.utils.formats import date_format
from playwright.sync_api import expect

from apps.catalogue.models import University
from apps.classroom.models import Enrolment
from apps.core.dates import today
from apps.leads.models import UniversityNotice
from apps.orders.renewals.renewals import FROM_BEFORE, renewal_link
from apps.pages.models import LessonSample, TeamMember
from apps.pricing.models import Terms
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.records import eventually, mail_with, orders_of, text_of
from tests.browser.visitor import expect_to_fit
from tests.browser.visitors.test_accessibility import assert_accessible
from tests.helpers.factories import make_university

TEST = "\n\n".join(
    f"¿Pregunta {number}?\n- No\n+ Sí\n= Por la razón {number}." for number in (1, 2, 3)
)


@pytest.fixture
def maths(shelf):
    """A subject with syllabus, exam, own teacher, and its first lesson as a sample."""
    subject = shelf.put("Cálculo", "200.00")
    subject.code, subject.exam_on = f"CAL-{subject.pk}", today() + timedelta(days=30)
    subject.save()
    lesson = subject.lessons.get(title="PEC 1")
    lesson.syllabus = "Unidad 1. Límites\n- Continuidad"
    lesson.save()
    LessonSample.objects.create(
        lesson=lesson, video_url="https://vimeo.com/76979871", first_page="Enunciado", test=TEST
    )
    teacher = TeamMember.objects.create(
        name=f"Noa Cálculo{subject.pk}", degree="Matemáticas", biography="Da clase desde 2010."
    )
    teacher.subjects.add(subject)
    return subject


@pytest.fixture
def reader(new_visitor):
    return new_visitor(viewport=PHONE, reduced_motion="reduce")


def expect_to_fit_at_both_widths(page):
    """The page fits on a wide screen and on a phone, which it keeps."""
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        expect_to_fit(page)


def test_sample_teacher_and_exam_are_on_the_subjects_page(reader, maths):
    page = reader.page
    asked = []
    page.route("https://player.vimeo.com/**", lambda route: (asked.append(1), route.fulfill()))
    page.goto(f"/buscar?q=pec+1+{maths.code}")
    understood = page.get_by_role("list").filter(has_text=f"Código {maths.code}")
    expect(understood).to_contain_text("PEC 1")
    page.get_by_role("link", name=maths.name).click()
    expect(page.get_by_role("listitem").filter(has_text="Examen: ")).to_be_visible()
    expect_to_fit_at_both_widths(page)

    page.get_by_text("Ver la respuesta").first.click()
    expect(page.get_by_text("Por la razón 1.")).to_be_visible()
    assert not asked
    page.get_by_role("link", name=re.compile("Reproducir el vídeo de PEC 1")).click()
    expect(page.get_by_title(f"Vídeo de PEC 1 de {maths.name}")).to_be_visible()
    eventually(lambda: asked)

    page.get_by_role("link", name=f"Noa Cálculo{maths.pk}").click()
    expect(page.get_by_text("Da clase desde 2010.")).to_be_visible()
    expect(page.get_by_role("link", name=maths.name)).to_be_visible()
    expect_to_fit_at_both_widths(page)

    month = date_format(maths.exam_on, "F")
    page.goto(f"/buscar?q=noa calculo{maths.pk} examen de {month}")
    for understood in (f"Examen en {month}", f"Noa Cálculo{maths.pk}"):
        expect(page.get_by_role("link", name=understood)).to_be_visible()
    expect(page.get_by_role("link", name=maths.name, exact=True)).to_be_visible()
    expect_to_fit_at_both_widths(page)


def test_pages_of_subject_teacher_search_and_notice_are_accessible(new_visitor, maths):
    later = make_university("Universidad del Norte", status=University.Status.COMING_SOON)
    reader = new_visitor(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    for path in (
        maths.page_path, maths.teachers.get().page_path, f"/buscar?q=pec+1+{maths.code}",
        f"/avisame?universidad={later.pk}", "/avisame",
    ):  # fmt: skip
        reader.page.goto(path)
        assert_accessible(reader)


def test_visitor_is_told_of_a_university_after_confirming_and_may_leave(reader):
    later = make_university("Universidad del Sur", status=University.Status.COMING_SOON)
    page = reader.page
    page.goto(f"/buscar?q={later.acronym}")
    page.get_by_role("link", name="Avísame").click()
    page.get_by_label("Email").fill(reader.email)
    page.get_by_role("button", name="Avísame").click()
    expect(page.get_by_role("status")).to_contain_text(reader.email)
    assert_accessible(reader)
    mail = mail_with("Confirma tu aviso", reader.email)
    page.goto(re.findall(r"http://\S+/avisame/confirmar\S+", text_of(mail))[0])
    expect_to_fit_at_both_widths(page)
    assert_accessible(reader)
    page.get_by_role("button", name="Sí, avísame").click()
    expect(page.get_by_role("heading", name="Te avisaremos")).to_be_visible()
    assert_accessible(reader)
    assert UniversityNotice.objects.get(email=reader.email).confirmed_at

    page.get_by_role("link", name="Darme de baja").click()
    expect_to_fit_at_both_widths(page)
    assert_accessible(reader)
    page.get_by_role("button", name="No quiero el aviso").click()
    expect(page.get_by_role("heading", name="Ya no te avisaremos")).to_be_visible()
    assert_accessible(reader)
    assert not UniversityNotice.objects.filter(email=reader.email).exists()
    reader.watch.expect("status of 404.*/avisame/baja")
    page.goto(page.url)
    expect(page.get_by_role("heading", name="Este enlace ya no sirve")).to_be_visible()
    assert_accessible(reader)


@pytest.fixture
def half_price(stack):
    terms = Terms.objects.create(changed_by="prueba", renewal_percent=50)
    yield
    terms.delete()


@pytest.mark.usefixtures("money_adds_up")
def test_student_renews_with_one_press(new_visitor, shelf, half_price):
    """The end of access is moved to the coming days, as if the semester were nearly over."""
    law = shelf.put("Derecho", "200.00")
    student = new_visitor(viewport={"width": 390, "height": 844})
    student.to_step_2(shelf.degree, [law]).buy("190,00 €")
    student.expect_success()
    ends_on: date = today() + FROM_BEFORE
    of_student = Enrolment.objects.filter(student__email=student.email)
    enrolment = eventually(of_student.first)
    of_student.update(ends_on=ends_on)

    page = student.page
    address = urlsplit(renewal_link(enrolment.student, ends_on))
    page.goto(f"{address.path}?{address.query}")
    expect_to_fit(page)
    page.get_by_role("button", name=re.compile("^Renovar por 95,00")).click()
    expect(page.get_by_text("95,00").first).to_be_visible()
    assert [order.total_cents for order in orders_of(student.email)] == [19000, 9500]
