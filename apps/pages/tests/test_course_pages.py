"""The pages of subjects, degrees and universities below /asignaturas."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.formats import date_format

from apps.catalogue.models import Lesson, Subject, University
from apps.core.dates import today
from apps.pages.course_pages import PAGE_SIZE
from apps.pages.models import LessonSample, Opinion, TeamMember
from apps.pages.tests.test_pages import visible_text
from apps.pages.tests.test_site_files import things
from apps.students.services import find_or_create_student
from tests.helpers.factories import make_degree, make_subject, make_university

pytestmark = pytest.mark.django_db
DAY = r"j \d\e F \d\e Y"


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
    assert "Con pago completo 182,40 €" in text
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


def test_subject_says_its_facts_and_nothing_of_what_is_empty(client, subject):
    text = text_of(client, subject.page_path)
    assert "#muestra" not in client.get("/servicios").content.decode()
    for absent in ("Temario", "Qué cubre el examen", "Quién la prepara", "Código", "Pruébala"):
        assert absent not in text
    subject.code, subject.language, subject.hours = " 65011027 ", "es", 18
    subject.semester = Subject.Semester.FIRST
    subject.exam_on = today() + timedelta(days=40)
    subject.resit_on = today() - timedelta(days=1)
    subject.questions = "¿Pide mucho?\nLo justo.\n\n¿Sin respuesta?"
    subject.save()
    lesson = subject.lessons.get(title="PEC 1")
    lesson.syllabus = "Unidad 1. Oferta\n- El precio\n- <b>La renta</b>\nUnidad 2. Demanda"
    lesson.save()

    html = client.get(subject.page_path).content.decode()
    text = visible_text(html)
    assert "Código 65011027" in text
    assert "18 horas de estudio" in text
    assert f"Examen: {date_format(subject.exam_on, DAY)}" in text
    assert "Recuperación" not in text
    assert "Unidad 1. Oferta El precio &lt;b&gt;La renta&lt;/b&gt; Unidad 2. Demanda" in text
    assert "¿Pide mucho?" in text
    assert "¿Sin respuesta?" not in text
    course = things(client, subject.page_path)["Course"]
    assert course["courseCode"] == "65011027"
    assert course["hasCourseInstance"]["courseWorkload"] == "PT18H"
    assert course["hasPart"][0]["teaches"] == ["Unidad 1. Oferta", "Unidad 2. Demanda"]


def test_page_shows_no_more_syllabus_than_can_be_kept(client, subject):
    """200 lessons with 3,000 letters each made a page of 4 MB, in 300 ms for each visitor."""
    lines = "\n".join(['Unidad "1"', *['- "'] * 98])
    Lesson.objects.bulk_create(
        Lesson(subject=subject, title=f"PEC {number}", price=10, position=number, syllabus=lines)
        for number in range(10, 200)
    )
    page = client.get(subject.page_path)
    assert len(page.content) < 512 * 1024
    assert "PEC 10" in page.text
    parts = things(client, subject.page_path)["Course"]["hasPart"]
    assert len([part for part in parts if "teaches" in part]) == page.text.count("Unidad &quot;1")


def test_own_teacher_takes_the_place_of_those_of_the_degree(client, subject):
    of_degree = TeamMember.objects.create(name="Hugo Sanz", degree="Derecho")
    of_degree.degrees.add(subject.degree)
    own = TeamMember.objects.create(name="Lucía Martín", degree="Economía", biography="Doctora.")
    own.subjects.add(subject)
    text = text_of(client, subject.page_path)
    assert "Lucía Martín" in text
    assert "Hugo Sanz" not in text
    instance = things(client, subject.page_path)["Course"]["hasCourseInstance"]
    assert [person["name"] for person in instance["instructor"]] == ["Lucía Martín"]


def test_page_of_a_teacher_says_who_they_are_and_what_they_teach(client, subject):
    row = TeamMember.objects.create(
        name="Lucía Martín", degree="Economía", biography="Es <doctora>.\n\nY enseña."
    )
    row.subjects.add(subject, make_subject("Borrador", degree=subject.degree, active=False))
    row.degrees.add(subject.degree)
    student = find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="A")
    Opinion.objects.create(
        student=student, subject=subject, status="published", rating=5, text="Muy clara.",
        shown_name="Ana", answered_at=timezone.now(),
    )  # fmt: skip
    text = text_of(client, row.page_path)
    assert row.page_path == f"/profesores/lucia-martin-{row.pk}"
    assert "Es &lt;doctora&gt;." in text
    assert "Microeconomía" in text
    assert "Borrador" not in text
    assert "Muy clara." in text
    assert things(client, row.page_path)["Person"]["name"] == "Lucía Martín"
    assert row.page_path in client.get("/nosotros").content.decode()
    assert row.page_path in client.get("/sitemap-paginas.xml").content.decode()
    old = f"/profesores/otra-{row.pk}"
    assert client.get(old)["Location"] == row.page_path
    assert client.get("/profesores/nadie-999999").status_code == 404
    assert client.get("/profesores/nadie").status_code == 404


def test_sample_of_a_lesson_is_on_the_page_of_its_subject(client, subject):
    lesson = subject.lessons.get(title="PEC 1")
    block = "¿{}?\n- No\n+ Sí\n= Porque {}."
    test = "\n\n".join(block.format(word, word) for word in ("uno", "dos", "tres"))
    row = LessonSample(lesson=lesson, first_page="Enunciado.\n\n1. <Paso>", test=test)
    row.full_clean()
    row.save()
    text = text_of(client, subject.page_path)
    assert "Pruébala: PEC 1" in text
    assert "1. &lt;Paso&gt;" in text
    assert "¿dos? No Sí Ver la respuesta Sí Porque dos." in text
    assert "vimeo" not in text.lower()
    row.video_url = "https://vimeo.com/123"
    row.save()
    html = client.get(subject.page_path).content.decode()
    assert "https://player.vimeo.com" not in html
    demo = client.get("/servicios").content.decode()
    assert f'{subject.page_path}#muestra">Abre gratis una lección: PEC 1 de Microeconomía' in demo
    assert "puede guardar cookies" in html
    assert client.get("/muestra").headers["Location"] == f"{subject.page_path}#muestra"


def test_without_a_sample_its_address_leads_to_the_demo(client, subject):
    assert client.get("/muestra").headers["Location"] == "/servicios"


@pytest.mark.parametrize(
    "test",
    [
        "¿Una sola?\n+ Sí\n- No",
        "¿Sin buena?\n- Sí\n- No\n\n" * 3,
        "¿Dos buenas?\n+ Sí\n+ No\n\n" * 3,
        "¿Una respuesta?\n+ Sí\n\n" * 3,
        "+ Sin pregunta\n- No\n\n" * 3,
        "¿Con otra línea?\n+ Sí\n- No\notra cosa\n\n" * 3,
        "=\n\n=\n\n=",
    ],
)
def test_sample_whose_test_cannot_be_read_is_refused_with_how_to_write_it(subject, test):
    row = LessonSample(lesson=subject.lessons.first(), first_page="Página", test=test)
    with pytest.raises(ValidationError) as refusal:
        row.full_clean()
    assert "«+» la buena" in str(refusal.value)


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


def test_search_finds_teachers_by_their_names(client, subject):
    row = TeamMember.objects.create(name="Álvaro Benítez", degree="Economía")
    row.subjects.add(subject)
    for typed in ("benitez", "alvaro ben", "BENÍTEZ álvaro"):
        page = client.get("/buscar", {"q": typed}).content.decode()
        assert row.page_path in page, typed
        assert subject.page_path in page
        assert "No se encontraron" not in page
    Subject.objects.filter(pk=subject.pk).update(exam_on=date(2027, 1, 20))
    in_january = client.get("/buscar", {"q": "benitez examen de enero"}).content.decode()
    assert row.page_path in in_january
    assert subject.page_path in in_january
    with CaptureQueriesContext(connection) as queries:
        in_may = client.get("/buscar", {"q": "benitez examen de mayo"}).content.decode()
    assert sum('FROM "pages_teammember" WHERE' in query["sql"] for query in queries) == 1
    assert row.page_path in in_may
    assert subject.page_path not in in_may
    assert row.page_path not in client.get("/buscar", {"q": "itez"}).content.decode()
    assert row.page_path not in client.get("/buscar").content.decode()
