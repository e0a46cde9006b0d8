"""Reasons why a subject is not sold, in the list and the form of staff."""

import pytest
from django.urls import reverse

from apps.catalogue.models import Subject, University
from apps.catalogue.sale_state import sale_problems_of, with_sale_problem
from apps.classroom.models import MoodleCourse
from tests.helpers.factories import make_degree, make_subject, make_university

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def in_moodle(settings):
    settings.CLASSROOM = "moodle"


def sold(name, price="90.00", **values):
    """A subject with a course in Moodle."""
    subject = make_subject(name, price, **values)
    MoodleCourse.objects.create(
        subject=subject, course_id=subject.pk, shortname=name, full_name=name
    )
    return subject


@pytest.fixture
def subjects():
    closed = make_university("Universidad cerrada", acronym="UC")
    found = {
        "sold": sold("Cálculo"),
        "withdrawn": sold("Retirada"),
        "closed_university": sold("Lejana", degree=make_degree(university=closed)),
        "no_lesson": sold("Vacía"),
        "no_price": sold("Gratis", "0.00"),
        "no_course": make_subject("Sin curso", "90.00"),
    }
    University.objects.filter(pk=closed.pk).update(status=University.Status.COMING_SOON)
    changes = {
        "withdrawn": {"active": False},
        "no_lesson": {"active_lessons_count": 0},
    }
    for code, values in changes.items():
        Subject.objects.filter(pk=found[code].pk).update(**values)
    return found


def test_each_subject_has_its_first_problem_and_the_form_all_of_them(subjects):
    Subject.objects.filter(pk=subjects["withdrawn"].pk).update(active_lessons_count=0)
    found = with_sale_problem(Subject.objects.all()).values_list("pk", "sale_problem")
    codes = {subject.pk: "" if code == "sold" else code for code, subject in subjects.items()}
    assert dict(found) == codes
    of_form = sale_problems_of(subjects["withdrawn"])
    assert [each.code for each in of_form] == ["withdrawn", "no_lesson"]


def test_subjects_on_sale_are_those_without_a_problem_that_hides_them(subjects):
    hiding = {"withdrawn", "closed_university", "no_lesson"}
    on_sale = set(Subject.objects.on_sale().values_list("pk", flat=True))
    assert on_sale == {row.pk for code, row in subjects.items() if code not in hiding}


def test_another_classroom_than_moodle_needs_no_course(subjects, settings):
    settings.CLASSROOM = "local"
    assert sale_problems_of(subjects["no_course"]) == []


@pytest.mark.parametrize("code", ["si", "withdrawn", "no_lesson", "no_price", "no_course"])
def test_list_filters_subjects_by_what_stands_against_them(admin_client, subjects, code):
    page = admin_client.get(reverse("admin:catalogue_subject_changelist"), {"venta": code})
    expected = "sold" if code == "si" else code
    assert [row.pk for row in page.context["cl"].result_list] == [subjects[expected].pk]


def test_list_shows_all_that_is_not_sold_whatever_the_reason_is(admin_client, subjects):
    page = admin_client.get(reverse("admin:catalogue_subject_changelist"), {"venta": "no"})
    on_sale = set(Subject.objects.on_sale())
    assert set(page.context["cl"].result_list) == set(subjects.values()) - on_sale


def test_list_says_why_a_subject_is_not_sold(admin_client, subjects):
    page = admin_client.get(reverse("admin:catalogue_subject_changelist")).text
    for label in ("Retirada", "Universidad sin abrir", "Sin lecciones activas", "Cuesta 0 €"):
        assert f">{label}</span>" in page
    form = admin_client.get(
        reverse("admin:catalogue_subject_change", args=[subjects["no_course"].pk])
    ).text
    assert "Sin curso de Moodle" in form
