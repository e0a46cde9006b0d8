from itertools import count

import pytest
from django.db import transaction

from academy.tests.factories import make_degree, make_subject
from academy.tests.parallel import in_parallel
from apps.catalogue.models import Lesson
from apps.catalogue.services import subject_enrolled
from apps.classroom.models import Enrolment
from apps.students.models import Student

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
MANY = 12


def failures(results):
    return [result for result in results if isinstance(result, Exception)]


def test_purchases_at_the_same_moment_are_all_counted():
    degree = make_degree()
    subjects = [make_subject(f"Asignatura {n}", degree=degree, lessons=1) for n in range(2)]
    numbers = count()

    def buy():
        number = next(numbers)
        student = Student.objects.create(email=f"alumna{number}@example.com")
        with transaction.atomic():
            # Half of them buy in the other order: they could wait for each other in a circle.
            for subject in subjects if number % 2 else reversed(subjects):
                Enrolment.objects.create(student=student, subject=subject, reference="pedido-1")
                subject_enrolled(subject.pk)

    assert failures(in_parallel(buy, MANY)) == []

    for row in (*subjects, degree, degree.university):
        row.refresh_from_db()
    assert [subject.enrolled_students_count for subject in subjects] == [MANY, MANY]
    assert degree.students_count == MANY
    assert degree.university.students == MANY


def test_lessons_saved_at_the_same_moment_are_all_counted():
    subject = make_subject(lessons=0)
    numbers = count(1)

    def add_lesson():
        Lesson.objects.create(subject=subject, title=f"PEC {next(numbers)}", price=55)

    assert failures(in_parallel(add_lesson, MANY)) == []

    subject.refresh_from_db()
    assert subject.active_lessons_count == MANY
