"""Lists count their rows up to a limit, and their plans are judged by the rows that they read."""

import pytest

from apps.core.staff import admin_base
from apps.core.staff.admin_base import BoundedPaginator
from apps.students.models import Student
from tests.helpers.query_plans import LARGE, bounded_reads, multiply

pytestmark = pytest.mark.django_db


def test_paginator_offers_no_page_beyond_its_limit(monkeypatch):
    Student.objects.bulk_create(Student(email=f"{n}@example.com") for n in range(7))
    monkeypatch.setattr(admin_base, "MOST_COUNTED", 5)

    pages = BoundedPaginator(Student.objects.order_by("email"), 2)

    assert (pages.count, pages.num_pages) == (5, 3)
    assert BoundedPaginator(Student.objects.filter(email="1@example.com"), 2).count == 1


@pytest.mark.postgres
def test_bounded_reads_fails_on_a_scan_and_on_too_many_queries():
    first = Student.objects.create(email="ana@example.com")
    multiply(first, LARGE, email="'alumna' || n || '@example.com'", phone="n::text")

    with bounded_reads(at_most=1):
        assert Student.objects.filter(pk=first.pk).exists()
    with pytest.raises(AssertionError, match="Seq Scan on students_student"), bounded_reads():
        Student.objects.filter(phone="nobody's").first()
    with pytest.raises(AssertionError, match="2 queries"), bounded_reads(at_most=1):
        Student.objects.in_bulk([first.pk]), Student.objects.in_bulk([first.pk])
