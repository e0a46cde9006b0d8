"""All lists of the catalogue use an index, tested with thousands of subjects."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.catalogue import reads
from apps.catalogue.models import Lesson, Subject, University
from apps.catalogue.search import search_catalogue, suggest
from apps.catalogue.services import deferred_counts, refresh_counts, refresh_statistics
from apps.core.render_memory import Memory, remembering
from tests.helpers.factories import make_degree, make_university
from tests.helpers.query_plans import plan_of

# Universities, degrees of each, and subjects of each degree.
UNIVERSITIES, DEGREES, SUBJECTS = 10, 8, 50


def fill_catalogue() -> University:
    """Write the subjects, with fresh statistics as after an import. Returns a university."""
    with deferred_counts():
        for number in range(UNIVERSITIES):
            university = make_university(f"Universidad {number}")
            degrees = [make_degree(university) for _ in range(DEGREES)]
            subjects = [
                Subject(
                    degree=degree,
                    name=f"Materia {'aeiou'[n % 5]}{n:03} sobre {'xyz'[n % 3]}{number}",
                    final_price=100,
                    enrolled_offset=n * 37 % 101,
                    active_lessons_count=1,
                )
                for degree in degrees
                for n in range(SUBJECTS)
            ]
            Subject.objects.bulk_create(subjects)
            Lesson.objects.bulk_create(
                Lesson(subject=subject, title="PEC 1", price=10) for subject in subjects
            )
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return University.objects.earliest("pk")


pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def many(module_transaction):
    """The first university of the large catalogue."""
    with module_transaction.unblock():
        return fill_catalogue()


READS = {
    "a university": lambda u, d: {"university_id": u.pk},
    "a university's last page": lambda u, d: {"university_id": u.pk, "page": 9999},
    "a degree": lambda u, d: {"university_id": u.pk, "degree_id": d.pk},
    "a search": lambda u, d: {"search": "a010 sobre y3"},
    "a search in a university": lambda u, d: {"university_id": u.pk, "search": "sobre x0"},
    **{
        f"a university by {sort}, page {page}": lambda u, d, sort=sort, page=page: {
            "university_id": u.pk,
            "sort": sort,
            "page": page,
        }
        for sort in ("name", "price")
        for page in (1, 9999)
    },
    "a short search in a university": lambda u, d: {"university_id": u.pk, "search": "x0"},
}


@pytest.mark.parametrize("asked", READS.values(), ids=READS)
def test_lists_never_scan_a_whole_table(asked, many):
    degree = many.degrees.first()
    with CaptureQueriesContext(connection) as captured:
        assert reads.catalogue_page(**asked(many, degree))["results"]

    about_subjects = [
        query["sql"] for query in captured.captured_queries if "catalogue_subject" in query["sql"]
    ]
    assert len(about_subjects) >= 2
    for sql in about_subjects:
        plan = plan_of(sql)
        assert "Seq Scan on catalogue_subject" not in plan, plan
        assert "Seq Scan on catalogue_lesson" not in plan, plan
        # On SQLite the search has no index of its own; all other lists have one.
        if "search" not in asked(many, degree) or "university_id" in asked(many, degree):
            assert not [line for line in plan.splitlines() if line.startswith("SCAN catalogue")]


@pytest.mark.postgres
def test_search_of_three_letters_uses_the_trigram_index(many):
    with CaptureQueriesContext(connection) as captured:
        reads.catalogue_page(search="a010 sobre y3")

    plans = [plan_of(q["sql"]) for q in captured.captured_queries if "name_search" in q["sql"]]
    assert len(plans) == 2
    assert all("subject_by_trigram" in plan for plan in plans)


BY_INDEX = {
    "all by name": ("subject_by_name", {"sort": "name"}),
    "all by price": ("subject_shown_by_price", {"sort": "price"}),
    "a university by name": ("subject_shown_of_uni_by_name", {"sort": "name"}),
    "a university by price": ("subject_shown_of_uni_by_price", {"sort": "price"}),
}


@pytest.mark.postgres
@pytest.mark.parametrize(("index", "asked"), BY_INDEX.values(), ids=BY_INDEX)
def test_each_order_reads_one_page_from_its_index(index, asked, many):
    university = {"university_id": many.pk} if "_uni_" in index else {}
    with CaptureQueriesContext(connection) as captured:
        assert reads.catalogue_page(**asked, **university)["results"]
    [page] = [q["sql"] for q in captured.captured_queries if " LIMIT 9" in q["sql"]]
    plan = plan_of(page)
    assert f"using {index} " in plan, plan


@pytest.mark.postgres
def test_pages_of_universities_read_popularity_from_its_index(many, client):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(many.page_path).status_code == 200
    [page] = [q["sql"] for q in captured.captured_queries if '"popularity" DESC' in q["sql"]]
    plan = plan_of(page)
    assert "using subject_shown_by_popularity " in plan, plan


@pytest.mark.postgres
def test_suggestions_read_the_index_of_popular_subjects(many):
    refresh_statistics()
    with CaptureQueriesContext(connection) as captured:
        assert len(suggest("sobre")) == 6

    assert len(captured) == 5
    [popular] = [q["sql"] for q in captured.captured_queries if '"popularity" DESC' in q["sql"]]
    assert "Index Scan using subject_shown_popular" in plan_of(popular)


def test_words_of_the_catalogue_are_read_once_for_all_mistyped_words(many):
    memory: Memory = {}
    with remembering(memory):
        assert search_catalogue("matteria").corrected == "materia"
    with remembering(memory), CaptureQueriesContext(connection) as captured:
        assert search_catalogue("mateira").corrected == "materia"

    # Whether any subject has the mistyped word.
    assert len(captured) == 1
    assert "LIMIT 1" in captured[0]["sql"]


def test_moving_a_degree_updates_the_university_of_its_subjects(many):
    other = University.objects.last()
    degree = many.degrees.first()
    degree.university = other
    degree.save()

    assert set(degree.subjects.values_list("university", flat=True)) == {other.pk}
    assert reads.catalogue_page(university_id=other.pk)["count"] == (DEGREES + 1) * SUBJECTS
    assert reads.catalogue_page(university_id=many.pk)["count"] == (DEGREES - 1) * SUBJECTS


def test_refresh_counts_repairs_a_wrong_university(many):
    Subject.objects.filter(degree=many.degrees.first()).update(university=University.objects.last())

    refresh_counts()

    assert reads.catalogue_page(university_id=many.pk)["count"] == DEGREES * SUBJECTS


OVER_ALL = {
    "all": {},
    "all, last page": {"page": 9999},
    "a search of one letter": {"search": "e"},
    "a search of two letters": {"search": "y3"},
    "a search of two letters, last page": {"search": "so", "page": 9999},
}


# VACUUM, which a seed and an import run, works only outside a transaction.
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_full_list_uses_an_index_only_scan_after_refresh_statistics():
    fill_catalogue()
    refresh_statistics()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, relallvisible, relpages FROM pg_class WHERE relkind = 'r' "
            "AND relname IN ('catalogue_university', 'catalogue_degree', 'catalogue_subject', "
            "'catalogue_lesson', 'catalogue_pricechange')"
        )
        pages = {name: (visible, there) for name, visible, there in cursor.fetchall()}
    assert len(pages) == 5
    assert all(visible == there > 0 for visible, there in pages.values()), pages
    for asked in OVER_ALL.values():
        with CaptureQueriesContext(connection) as captured:
            reads.catalogue_page(**asked)
        plans = [
            plan_of(query["sql"])
            for query in captured.captured_queries
            if 'FROM "catalogue_subject"' in query["sql"]
        ]
        # The query that counts and the query of the page.
        assert len(plans) == 2
        for plan in plans:
            assert "Seq Scan on catalogue_subject" not in plan, (asked, plan)
            assert re.search("Index Only Scan using subject_shown", plan), (asked, plan)
