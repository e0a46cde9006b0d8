from itertools import count

import pytest
from django.db import transaction

from apps.catalogue.models import Lesson, StaleCount
from apps.catalogue.services import note_changed_enrolments, refresh_noted_counts
from apps.classroom.models import Enrolment
from apps.students.models import Student
from tests.helpers.factories import make_degree, make_subject
from tests.helpers.parallel import in_parallel

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
MANY = 12


def failures(results):
    return [result for result in results if isinstance(result, Exception)]


def test_concurrent_purchases_are_all_counted():
    degree = make_degree()
    subjects = [make_subject(f"Asignatura {n}", degree=degree, lessons=1) for n in range(2)]
    numbers = count()

    def buy():
        number = next(numbers)
        student = Student.objects.create(email=f"alumna{number}@example.com")
        with transaction.atomic():
            # Half of them buy in the opposite order, which would deadlock if purchases locked rows.
            for subject in subjects if number % 2 else reversed(subjects):
                Enrolment.objects.create(student=student, subject=subject, order_id=1)
                note_changed_enrolments([subject.pk])
        # Each count runs while others buy, and must leave their notes for the next count.
        refresh_noted_counts()

    assert failures(in_parallel(buy, MANY)) == []
    assert not StaleCount.objects.exists()

    for row in (*subjects, degree, degree.university):
        row.refresh_from_db()
    assert [subject.enrolled_students_count for subject in subjects] == [MANY, MANY]
    assert degree.students_count == MANY
    assert degree.university.students == MANY


def test_concurrent_lesson_saves_are_all_counted():
    subject = make_subject(lessons=0)
    numbers = count(1)

    def add_lesson():
        Lesson.objects.create(subject=subject, title=f"PEC {next(numbers)}", price=55)

    assert failures(in_parallel(add_lesson, MANY)) == []

    subject.refresh_from_db()
    assert subject.active_lessons_count == MANY
