"""The pages of subjects, degrees and universities below /asignaturas."""

from decimal import Decimal

import pytest
from django.conf import settings
from django.test import Client

from apps.catalogue.models import Lesson, Subject, University
from apps.pages.course_pages import PAGE_SIZE
from apps.pages.models import TeamMember
from apps.pages.tests.test_pages import visible_text
from apps.pages.tests.test_site_files import things
from tests.helpers.factories import make_degree, make_subject, make_university

pytestmark = pytest.mark.django_db


def text_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return visible_text(answer.content.decode()).replace("\xa0", " ")


@pytest.fixture
def subject():
    """Lessons of 50, 55, 55 and 55 €, and an expired one. The whole costs 192 €: 23 € less."""
    degree = make_degree(make_university("Universidad Abierta del Faro", acronym="UAF"))
    row = make_subject("Microeconomía", "192.00", degree=degree, lessons=4)
    first = row.lessons.get(title="PEC 1")
    first.price = Decimal(50)
    first.save()
    Lesson.objects.create(
        subject=row, title="PEC 0", price=Decimal(55), status=Lesson.Status.EXPIRED
    )
    return Subject.objects.get(pk=row.pk)


def test_page_of_a_subject_is_complete_without_javascript(client, subject):
    teacher = TeamMember.objects.create(name="Lucía Martín", degree="Economía")
    teacher.degrees.add(subject.degree)
    TeamMember.objects.create(name="Hugo Sanz", degree="Derecho")
    text = text_of(client, subject.page_path)
    assert f"Asignaturas UAF {subject.degree.name} Microeconomía" in text
    assert "Asignatura completa 192,00 €" in text
    # 50 + 3 × 55 = 215 €, 23 € more than the whole: less than any lesson, so in percent.
    assert "Ahorras 23,00 € frente a las lecciones sueltas. Es un 10 % menos." in text
    assert "desde 50,00 €" in text
    assert "PEC 1 50,00 € PEC 2 55,00 €" in text
    assert "PEC 0 Caducada" in text
    # 5 % off for paying at once.
    assert "Pagando de una vez 182,40 €" in text
    assert "Resolvemos contigo cada PEC de Microeconomía" in text
    assert "Lucía Martín" in text
    assert "Hugo Sanz" not in text
    assert "hoy 64,00 €, y después 64,00 € cada 20 días" in text
    assert "hace falta JavaScript" in text


def test_texts_of_the_owner_replace_the_default_texts(client, subject):
    subject.pecs_content = "Oferta y <demanda>.\n\nElasticidad."
    subject.exam_content = "Tres problemas y un tema."
    subject.save()
    html = client.get(subject.page_path).content.decode()
    assert "<p>Oferta y &lt;demanda&gt;.</p>\n\n<p>Elasticidad.</p>" in html
    assert "<p>Tres problemas y un tema.</p>" in html
    assert "Resolvemos contigo" not in html


def test_structured_data_has_the_course_with_its_offers_and_its_path(client, subject):
    said = things(client, subject.page_path)
    offers = [(row["name"], row["price"]) for row in said["Course"]["offers"]]
    assert offers == [
        ("Asignatura completa", "192.00"),
        ("PEC 1", "50.00"),
        *((f"PEC {number}", "55.00") for number in (2, 3, 4)),
    ]
    assert said["Course"]["name"] == "Microeconomía"
    path = [row["name"] for row in said["BreadcrumbList"]["itemListElement"]]
    assert path == ["Inicio", "Asignaturas", "UAF", subject.degree.name, "Microeconomía"]


def test_old_addresses_redirect_after_a_name_changes(client, subject):
    university, degree = subject.degree.university, subject.degree
    old = [row.page_path for row in (subject, degree, university)]
    assert old[0] == f"/asignaturas/uaf-{university.pk}/microeconomia-{subject.pk}"
    subject.name = "Microeconomía avanzada"
    subject.save()
    degree.name = "Economía y empresa"
    degree.save()
    university.acronym = "UFARO"
    university.save()
    for path, row in zip(old, (subject, degree, university), strict=True):
        row.refresh_from_db()
        answer = client.get(f"{path}?pagina=1")
        assert answer.status_code == 301
        assert answer["Location"].removesuffix("?pagina=1") == row.page_path != path
        assert client.get(row.page_path).status_code == 200


def test_drafts_and_subjects_of_later_universities_have_no_page(client, subject):
    draft = make_subject("Borrador", degree=subject.degree, active=False)
    later = make_subject(
        "Futura", degree=make_degree(make_university(status=University.Status.COMING_SOON))
    )
    unknown = subject.page_path.replace(f"-{subject.pk}", "-999999999")
    for path in (
        draft.page_path,
        later.page_path,
        later.degree.page_path,
        later.degree.university.page_path,
        unknown,
        "/asignaturas/uaf/microeconomia",
        f"/asignaturas/uaf-1/x-{'9' * 30}",
    ):
        assert client.get(path).status_code == 404, path
    assert "Borrador" not in text_of(client, subject.degree.page_path)


def test_retired_subject_is_gone_and_takes_a_request(client, subject):
    subject.active = False
    subject.enrolled_offset = 12
    subject.save()
    answer = client.get(subject.page_path)
    html = answer.content.decode()
    assert answer.status_code == 410
    assert 'content="noindex"' in html
    assert "ya no está a la venta" in html
    assert 'data-island="subject-request"' in html
    assert 'data-island="subject"' not in html


def test_subject_whose_lessons_have_all_expired_is_shown_but_not_sold(client, subject):
    subject.lessons.update(status=Lesson.Status.EXPIRED)
    text = text_of(client, subject.page_path)
    assert "Ahora no está a la venta" in text
    assert "Comprar ahora" not in text
    assert "offers" not in things(client, subject.page_path)["Course"]


def test_lists_are_paged_and_sorted(client):
    degree = make_degree()
    for number in range(PAGE_SIZE + 1):
        make_subject(f"Tema {number:02}", str(100 + number), degree=degree, lessons=1)
    last = make_subject("Ábaco", "90.00", degree=degree, lessons=1, enrolled_offset=-1)
    for path in (degree.page_path, degree.university.page_path):
        first = client.get(path).content.decode()
        assert f'<link rel="canonical" href="{settings.SITE_URL}{path}">' in first
        assert first.count("course-card") // 2 == PAGE_SIZE
        assert first.index("Ábaco") < first.index("Tema 00")
        second = client.get(f"{path}?pagina=2").content.decode()
        assert f'{path}?pagina=2">' in second
        assert "Tema 24" in second
        by_price = client.get(f"{path}?orden=precio").content.decode()
        assert by_price.index(last.name) < by_price.index("Tema 00")
        assert f'<link rel="canonical" href="{settings.SITE_URL}{path}">' in by_price
        assert client.get(f"{path}?orden=&pagina=cien").status_code == 200
