from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection, transaction

from academy.tests.factories import make_degree, make_subject, make_university
from apps.catalogue.models import Lesson
from apps.catalogue.services import subject_enrolled
from apps.classroom.models import Enrolment
from apps.students.models import Student

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
MANY = 12


def in_parallel(job, times):
    def closing_its_connection(number):
        try:
            job(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as pool:
        list(pool.map(closing_its_connection, range(times)))


def test_purchases_at_the_same_moment_are_all_counted():
    degree = make_degree()
    subjects = [make_subject(f"Asignatura {n}", degree=degree, lessons=1) for n in range(2)]
    students = [Student.objects.create(email=f"a{n}@example.com") for n in range(MANY)]
    start = Barrier(MANY)

    def buy(number):
        start.wait()
        # Half of them buy in the other order: they would wait for each other in a circle.
        mine = subjects if number % 2 else subjects[::-1]
        with transaction.atomic():
            for subject in mine:
                Enrolment.objects.create(
                    student=students[number], subject=subject, reference=f"pedido-{number}"
                )
                subject_enrolled(subject.pk)

    in_parallel(buy, MANY)

    for subject in subjects:
        subject.refresh_from_db()
        assert subject.enrolled_students_count == MANY
    degree.refresh_from_db()
    assert degree.students_count == MANY
    degree.university.refresh_from_db()
    assert degree.university.students_counted == MANY


def test_lessons_saved_at_the_same_moment_are_all_counted():
    subject = make_subject(degree=make_degree(make_university()), lessons=0)
    start = Barrier(MANY)

    def add_lesson(number):
        start.wait()
        Lesson.objects.create(subject=subject, title=f"PEC {number}", price=55)

    in_parallel(add_lesson, MANY)

    subject.refresh_from_db()
    assert subject.active_lessons_count == MANY
