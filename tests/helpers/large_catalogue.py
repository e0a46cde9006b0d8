"""A catalogue of four thousand subjects, for tests of indexes."""

from django.db import connection

from apps.catalogue.models import Lesson, Subject, University
from apps.catalogue.services import deferred_counts
from tests.helpers.factories import make_degree, make_university

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
