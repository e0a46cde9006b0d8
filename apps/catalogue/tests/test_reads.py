from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.catalogue import reads
from apps.catalogue.models import Lesson, University
from apps.core.errors import NotFound
from tests.helpers.factories import make_degree, make_subject, make_university

pytestmark = pytest.mark.django_db


def names(page):
    return [subject["name"] for subject in page["results"]]


# ---------------------------------------------------------------- shapes


def test_universities_answer_has_the_documented_shape(client):
    university = make_university(
        "Universidad Abierta", acronym="UA", logo_url="/logo.svg", students_offset=1200
    )
    make_university("Universidad Cercana", acronym="UC", status=University.Status.COMING_SOON)
    make_subject(degree=make_degree(university))

    assert client.get("/api/universities").json() == [
        {
            "id": university.pk,
            "name": "Universidad Abierta",
            "acronym": "UA",
            "logo_url": "/logo.svg",
            "degrees_count": 1,
            "subjects_count": 1,
            "students": 1200,
            "coming_soon": False,
        },
        {
            "id": university.pk + 1,
            "name": "Universidad Cercana",
            "acronym": "UC",
            "logo_url": "",
            "degrees_count": 0,
            "subjects_count": 0,
            "students": 0,
            "coming_soon": True,
        },
    ]


def test_degrees_answer_has_the_documented_shape(client):
    university = make_university("Universidad Abierta", acronym="UA")
    degree = university.degrees.create(
        name="Economía", acronym="ECO", number_of_courses=4, students_offset=50
    )
    university.degrees.create(name="Árabe", acronym="ARA")
    make_subject(degree=degree)

    answer = client.get("/api/degrees", {"university_id": university.pk}).json()

    assert [row["name"] for row in answer] == ["Árabe", "Economía"]
    assert answer[1] == {
        "id": degree.pk,
        "name": "Economía",
        "acronym": "ECO",
        "university_id": university.pk,
        "students_count": 50,
        "subjects_count": 1,
        "number_of_courses": 4,
        "university": {
            "id": university.pk,
            "name": "Universidad Abierta",
            "acronym": "UA",
            "logo_url": "",
            "degrees_count": 2,
            "subjects_count": 1,
            "students": 0,
        },
    }


def test_subjects_answer_has_the_documented_shape(client):
    degree = make_degree()
    subject = make_subject("Microeconomía", "199.50", degree=degree)
    make_subject("Álgebra", degree=degree)

    answer = client.get("/api/subjects", {"degree_id": degree.pk}).json()

    assert [row["name"] for row in answer] == ["Álgebra", "Microeconomía"]
    assert answer[1] == {
        "id": subject.pk,
        "name": "Microeconomía",
        "final_price": 199.5,
        "degree_id": degree.pk,
    }


def test_catalogue_answer_has_the_documented_shape(client):
    university = make_university("Universidad Abierta", acronym="UA")
    degree = university.degrees.create(name="Economía", acronym="ECO")
    subject = make_subject(
        "Microeconomía", degree=degree, lessons=1, total_discounts=20, enrolled_offset=7
    )
    active = subject.lessons.get()
    expired = Lesson.objects.create(
        subject=subject, title="PEC 2", price=Decimal("49.90"), status="expired", position=2
    )

    assert client.get("/api/catalogue").json() == {
        "count": 1,
        "page": 1,
        "pages": 1,
        "page_size": 9,
        "results": [
            {
                "id": subject.pk,
                "name": "Microeconomía",
                "final_price": 192.0,
                "total_discounts": 20,
                "enrolled_students_count": 7,
                "contents": "2 PECs",
                "complete_only": False,
                "degree_id": degree.pk,
                "degree": {
                    "id": degree.pk,
                    "name": "Economía",
                    "acronym": "ECO",
                    "university_id": university.pk,
                    "university": {
                        "id": university.pk,
                        "name": "Universidad Abierta",
                        "acronym": "UA",
                    },
                },
                "lessons": [
                    {
                        "id": active.pk,
                        "title": "PEC 1",
                        "subject_id": subject.pk,
                        "price": 55.0,
                        "status": "active",
                    },
                    {
                        "id": expired.pk,
                        "title": "PEC 2",
                        "subject_id": subject.pk,
                        "price": 49.9,
                        "status": "expired",
                    },
                ],
            }
        ],
    }


# ---------------------------------------------------------------- order, search, pages


def test_catalogue_sorts_by_enrolments_then_by_name_with_spanish_collation():
    degree = make_degree()
    for name in ("Nutrición", "Ñandú", "Ópera", "Zoología", "ética", "Estética", "Derecho civil"):
        make_subject(name, degree=degree, lessons=1)
    make_subject("Derechos humanos", degree=degree, lessons=1)
    make_subject("Última y preferida", degree=degree, lessons=1, enrolled_offset=1)

    assert names(reads.catalogue_page()) == [
        "Última y preferida",
        "Derecho civil",
        "Derechos humanos",
        "Estética",
        "ética",
        "Nutrición",
        "Ñandú",
        "Ópera",
        "Zoología",
    ]


def test_visitors_may_sort_by_name_or_price(client):
    degree = make_degree()
    for name, price, students in (
        ("Zoología", "90.00", 1),
        ("Ética", "100.00", 9),
        ("Arte", "90.00", 5),
    ):
        make_subject(name, price, degree=degree, enrolled_offset=students)

    def listed(**query):
        return names(client.get("/api/catalogue", query).json())

    assert listed() == listed(sort="popularity") == ["Ética", "Arte", "Zoología"]
    assert listed(sort="name") == ["Arte", "Ética", "Zoología"]
    assert listed(sort="price") == ["Arte", "Zoología", "Ética"]
    assert listed(sort="price", university_id=degree.university_id, search="a") == [
        "Arte",
        "Zoología",
        "Ética",
    ]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("economia", ["Economía española", "Microeconomía"]),
        ("ECONOMÍA", ["Economía española", "Microeconomía"]),
        ("  micro ", ["Microeconomía"]),
        ("espanola", ["Economía española"]),
        ("española", ["Economía española"]),
        ("100 %", ["Marketing 100 %"]),
        ("%", ["Marketing 100 %"]),
        ("_", []),
        ("química", []),
        ("   ", ["Economía española", "Marketing 100 %", "Microeconomía"]),
    ],
)
def test_search_ignores_accents_and_capitals(search, found):
    degree = make_degree()
    for name in ("Microeconomía", "Economía española", "Marketing 100 %"):
        make_subject(name, degree=degree, lessons=1)

    assert names(reads.catalogue_page(search=search)) == found


def test_catalogue_omits_subjects_without_active_lessons_and_whatever_is_not_on_sale():
    open_university = make_university()
    degree = make_degree(open_university)
    make_subject("A la venta", degree=degree)
    make_subject("Sin lecciones", degree=degree, lessons=0)
    make_subject("Retirada", degree=degree, active=False)
    make_subject("Solo caducadas", degree=degree, lessons=1)
    Lesson.objects.filter(subject__name="Solo caducadas").get().delete()
    elsewhere = make_degree(make_university(status=University.Status.COMING_SOON))
    make_subject("Próximamente", degree=elsewhere)

    assert names(reads.catalogue_page()) == ["A la venta"]
    assert [s["name"] for s in reads.subjects_of_degree(degree_id=degree.pk)] == ["A la venta"]


def test_subject_is_unlisted_when_its_last_lesson_expires():
    lesson = make_subject(lessons=1).lessons.get()
    lesson.status = Lesson.Status.EXPIRED
    lesson.save()

    assert reads.catalogue_page()["count"] == 0


def test_filters_by_university_and_degree():
    here, there = make_university("Una"), make_university("Otra")
    economics, law = make_degree(here, "Economía"), make_degree(here, "Derecho")
    make_subject("Microeconomía", degree=economics)
    make_subject("Derecho civil", degree=law)
    make_subject("Lejana", degree=make_degree(there))

    assert names(reads.catalogue_page(university_id=here.pk)) == ["Derecho civil", "Microeconomía"]
    assert names(reads.catalogue_page(university_id=here.pk, degree_id=law.pk)) == ["Derecho civil"]
    assert names(reads.catalogue_page(university_id=there.pk, degree_id=law.pk)) == []


def test_page_beyond_the_last_returns_the_last():
    degree = make_degree()
    for number in range(7):
        make_subject(f"Asignatura {number}", degree=degree, lessons=1)

    page = reads.catalogue_page(page=99, page_size=6)

    assert (page["count"], page["page"], page["pages"], page["page_size"]) == (7, 2, 2, 6)
    assert names(page) == ["Asignatura 6"]


def test_empty_catalogue_has_one_empty_page():
    assert reads.catalogue_page() == {
        "count": 0,
        "page": 1,
        "pages": 1,
        "page_size": 9,
        "results": [],
    }


def test_samples_are_hidden_without_debug(settings):
    university = make_university(is_sample=True)
    subject = make_subject(degree=make_degree(university))

    settings.DEBUG = True
    assert len(reads.universities()) == 1
    assert reads.catalogue_page()["count"] == 1

    settings.DEBUG = False
    assert reads.universities() == []
    assert reads.catalogue_page()["count"] == 0
    assert not Lesson.objects.on_sale().exists()
    with pytest.raises(NotFound):
        reads.degrees(university_id=university.pk)
    with pytest.raises(NotFound):
        reads.subjects_of_degree(degree_id=subject.degree_id)


# ---------------------------------------------------------------- cost and refusals


def grow(university):
    for number in range(6):
        make_subject(f"Más {number}", degree=make_degree(university), lessons=3)


@pytest.mark.parametrize(
    "read",
    [
        lambda u, d: reads.universities(),
        lambda u, d: reads.degrees(university_id=u.pk),
        lambda u, d: reads.subjects_of_degree(degree_id=d.pk),
        lambda u, d: reads.catalogue_page(university_id=u.pk, search="a", page_size=18),
    ],
)
def test_number_of_queries_does_not_grow_with_the_catalogue(read):
    university = make_university()
    degree = make_degree(university)
    make_subject("Una", degree=degree, lessons=1)

    def cost():
        with CaptureQueriesContext(connection) as queries:
            read(university, degree)
        return len(queries)

    little = cost()
    make_subject("Otra", degree=degree)
    grow(university)
    make_university("Otra universidad")

    assert cost() == little <= 4


HUGE = "9" * 40


@pytest.mark.parametrize(
    ("path", "query", "status", "field"),
    [
        ("degrees", {}, 400, "university_id"),
        ("degrees", {"university_id": ""}, 400, "university_id"),
        ("degrees", {"university_id": "uno"}, 400, "university_id"),
        ("degrees", {"university_id": "1\x00"}, 400, "university_id"),
        ("degrees", {"university_id": "-1"}, 400, "university_id"),
        ("degrees", {"university_id": HUGE}, 400, "university_id"),
        ("degrees", {"university_id": "9" * 2000}, 400, "university_id"),
        ("degrees", {"university_id": "999999"}, 404, None),
        ("subjects", {}, 400, "degree_id"),
        ("subjects", {"degree_id": HUGE}, 400, "degree_id"),
        ("subjects", {"degree_id": str(2**63 - 1)}, 404, None),
        ("catalogue", {"university_id": "999999"}, 404, None),
        ("catalogue", {"degree_id": "999999"}, 404, None),
        ("catalogue", {"degree_id": "1.5"}, 400, "degree_id"),
        ("catalogue", {"search": "a\x00b"}, 400, "search"),
        ("catalogue", {"search": "a" * 101}, 400, "search"),
        ("catalogue", {"page": "0"}, 400, "page"),
        ("catalogue", {"page": "dos"}, 400, "page"),
        ("catalogue", {"sort": "-name"}, 400, "sort"),
        ("catalogue", {"page_size": "7"}, 400, "page_size"),
        ("catalogue", {"page_size": "all"}, 400, "page_size"),
        ("catalogue", {"page_size": HUGE}, 400, "page_size"),
    ],
)
def test_invalid_query_is_refused_in_the_documented_shape(client, path, query, status, field):
    response = client.get(f"/api/{path}", query)
    answer = response.json()

    assert response.status_code == status
    assert answer["success"] is False
    assert answer["code"] == ("invalid" if status == 400 else "not_found")
    assert answer["error"].endswith(".")
    assert list(answer["fields"]) == ([field] if field else [])
    assert "Cache-Control" not in response.headers


def test_huge_page_number_returns_the_last_page(client):
    make_subject()

    assert client.get("/api/catalogue", {"page": HUGE}).json()["page"] == 1


@pytest.mark.parametrize("path", ["universities", "catalogue"])
def test_answers_are_cacheable_for_a_minute(client, path):
    response = client.get(f"/api/{path}")

    assert response.headers["Cache-Control"].startswith("public, max-age=60, ")
    assert not response.cookies
    assert "Cookie" not in response.headers.get("Vary", "")


def test_head_answers_like_get_and_post_is_refused(client):
    assert client.head("/api/catalogue").status_code == 200
    refused = client.post("/api/catalogue", {}, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (405, "method_not_allowed")


def test_schema_describes_the_reads(client):
    schema = client.get("/api/schema", {"format": "json"}).json()

    parameters = {
        path: {
            parameter["name"] for parameter in schema["paths"][path]["get"].get("parameters", [])
        }
        for path in ("/api/universities", "/api/degrees", "/api/subjects", "/api/catalogue")
    }
    assert parameters == {
        "/api/universities": set(),
        "/api/degrees": {"university_id"},
        "/api/subjects": {"degree_id"},
        "/api/catalogue": {"university_id", "degree_id", "search", "sort", "page", "page_size"},
    }
    page = schema["components"]["schemas"]["CataloguePageOut"]["properties"]
    assert list(page) == ["count", "page", "pages", "page_size", "results"]
