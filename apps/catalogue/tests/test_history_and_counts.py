import random
from datetime import timedelta
from decimal import Decimal
from itertools import count

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.catalogue.models import Degree, Lesson, PriceChange, StaleCount, Subject, University
from apps.catalogue.price_history import has_proven_list_price, lowest_earlier_prices
from apps.catalogue.services import (
    note_changed_enrolments,
    prices_changed_by,
    refresh_counts,
    refresh_noted_counts,
    set_lesson_status,
)
from apps.classroom.models import Enrolment
from apps.orders.jobs import refresh_popularity
from apps.orders.models import Order
from apps.students.models import Student
from tests.helpers.factories import enrol, make_degree, make_subject, make_university
from tests.helpers.friend_codes import buy_subject, place_order
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db


def add_expired_lesson(subject):
    Lesson.objects.create(
        subject=subject, title="PEC 6", price=55, status=Lesson.Status.EXPIRED, position=6
    )


def changes_of(row):
    return list(row.price_changes.order_by("pk").values_list("before", "after"))


def test_first_price_of_a_subject_is_recorded():
    subject = make_subject(price="192.00", lessons=0)

    assert changes_of(subject) == [(None, Decimal("192.00"))]


def test_price_change_is_recorded_with_old_price_and_user():
    carla = get_user_model().objects.create_user("carla")
    subject = make_subject(price="192.00", lessons=0)

    with prices_changed_by(carla):
        subject.final_price = Decimal("210.50")
        subject.save()

    assert changes_of(subject) == [
        (None, Decimal("192.00")),
        (Decimal("192.00"), Decimal("210.50")),
    ]
    first, second = subject.price_changes.order_by("pk")
    assert first.changed_by is None
    assert second.changed_by == carla


def test_lesson_price_is_recorded():
    lesson = make_subject(lessons=1).lessons.get()
    lesson.price = Decimal("60.00")
    lesson.save(update_fields=["price"])

    assert changes_of(lesson) == [
        (None, Decimal("55.00")),
        (Decimal("55.00"), Decimal("60.00")),
    ]


def test_save_without_a_new_price_records_nothing():
    subject = make_subject(price="192.00", lessons=0)
    subject.name = "Macroeconomía"
    subject.save()
    subject.final_price = "192"
    subject.save()

    assert changes_of(subject) == [(None, Decimal("192.00"))]


def test_price_outside_update_fields_is_not_recorded():
    subject = make_subject(price="192.00", lessons=0)
    subject.final_price = Decimal("1.00")
    subject.save(update_fields=["name"])

    assert changes_of(subject) == [(None, Decimal("192.00"))]
    assert Subject.objects.get().final_price == Decimal("192.00")


def test_bulk_created_subjects_have_first_price_names_and_counts():
    degree = make_degree()
    subjects = Subject.objects.bulk_create(
        [Subject(degree=degree, name=name, final_price=200) for name in ("Ética", "Lógica")]
    )
    Lesson.objects.bulk_create([Lesson(subject=subjects[0], title="PEC 1", price=55)])

    assert [changes_of(subject) for subject in subjects] == [[(None, Decimal("200.00"))]] * 2
    assert list(Subject.objects.values_list("name_sort", "name_search").order_by("pk")) == [
        ("etica", "etica"),
        ("logica", "logica"),
    ]
    degree.refresh_from_db()
    assert degree.subjects_count == 1


def test_update_of_a_price_without_history_is_refused():
    subject = make_subject(lessons=1)

    with pytest.raises(TypeError):
        Subject.objects.filter(pk=subject.pk).update(final_price=1)
    with pytest.raises(TypeError):
        Lesson.objects.update(price=1)
    subject.final_price = Decimal("1.00")
    with pytest.raises(TypeError), transaction.atomic():
        Subject.objects.bulk_update([subject], ["final_price"])

    assert Subject.objects.get().final_price == Decimal("192.00")


def test_failed_save_records_no_price_change():
    degree = make_degree()
    make_subject("Microeconomía", degree=degree, lessons=0)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_subject("Microeconomía", degree=degree, price="10.00", lessons=0)

    assert PriceChange.objects.count() == 1


def test_renamed_subject_is_found_even_if_only_the_name_is_saved():
    subject = make_subject(name="Microeconomía", lessons=0)
    subject.name = "Ética"
    subject.save(update_fields=["name"])

    subject.refresh_from_db()
    assert (subject.name_sort, subject.name_search) == ("etica", "etica")


# ---------------------------------------------------------------- counts


def test_counts_follow_saved_subjects_and_lessons():
    university = make_university()
    degree = make_degree(university)
    make_degree(university, "Derecho")
    subject = make_subject(degree=degree, lessons=2)
    add_expired_lesson(subject)
    add_expired_lesson(make_subject("Sin lecciones activas", degree=degree, lessons=0))
    make_subject("Retirada", degree=degree, lessons=1, active=False)

    university.refresh_from_db()
    degree.refresh_from_db()
    assert (university.degrees_count, university.subjects_count) == (2, 1)
    assert degree.subjects_count == 1
    assert subject.active_lessons_count == 2

    for lesson in subject.lessons.filter(status=Lesson.Status.ACTIVE):
        lesson.status = Lesson.Status.EXPIRED
        lesson.save()

    university.refresh_from_db()
    degree.refresh_from_db()
    subject.refresh_from_db()
    assert subject.active_lessons_count == 0
    assert (university.subjects_count, degree.subjects_count) == (0, 0)


def test_counts_follow_deletions():
    degree = make_degree()
    subject = make_subject(degree=degree, lessons=2)
    subject.lessons.first().delete()
    subject.refresh_from_db()
    assert subject.active_lessons_count == 1

    Lesson.objects.all().delete()
    subject.refresh_from_db()
    degree.refresh_from_db()
    assert subject.active_lessons_count == 0
    assert degree.subjects_count == 0


def test_moving_a_subject_refreshes_both_degrees():
    here, there = make_university("Una"), make_university("Otra")
    old, new = make_degree(here), make_degree(there)
    subject = make_subject(degree=old)

    subject.degree = new
    subject.save()

    for row in (here, there, old, new):
        row.refresh_from_db()
    assert (here.subjects_count, old.subjects_count) == (0, 0)
    assert (there.subjects_count, new.subjects_count) == (1, 1)


def test_saving_a_stale_copy_does_not_restore_old_counts():
    subject = make_subject(lessons=0)
    stale = Subject.objects.get(pk=subject.pk)
    Lesson.objects.create(subject=subject, title="PEC 1", price=55)

    stale.name = "Microeconomía I"
    stale.save()

    assert Subject.objects.get().active_lessons_count == 1


def test_student_with_several_enrolments_counts_once():
    university = make_university(students_offset=1000)
    degree = make_degree(university)
    micro = make_subject("Microeconomía", degree=degree, enrolled_offset=40)
    macro = make_subject("Macroeconomía", degree=degree, lessons=1)
    ana = Student.objects.create(email="ana@example.com")
    bruno = Student.objects.create(email="bruno@example.com")
    enrol(ana, micro)
    enrol(ana, macro, lesson=macro.lessons.get())
    enrol(bruno, micro, order_id=2)

    note_changed_enrolments([micro.pk, macro.pk])
    refresh_noted_counts()

    for row in (university, degree, micro, macro):
        row.refresh_from_db()
    assert (micro.enrolled_students_count, macro.enrolled_students_count) == (42, 1)
    assert degree.students_count == 2
    assert university.students == 1002


@pytest.mark.parametrize(
    ("model", "name"),
    [(University, "students_offset"), (Degree, "students_offset"), (Subject, "enrolled_offset")],
)
def test_earlier_students_are_bounded(model, name):
    """The sum with the counted ones is a column of 32 bits."""
    field = model._meta.get_field(name)
    for number in (-1_000_000, 1_000_000):
        field.run_validators(number)
    for number in (-1_000_001, 1_000_001, 2_147_483_647):
        with pytest.raises(ValidationError):
            field.run_validators(number)


def test_negative_offset_never_gives_a_negative_count():
    subject = make_subject(enrolled_offset=-5)

    assert subject.enrolled_students_count == 0


def test_refresh_counts_repairs_all_counts_in_few_queries(
    django_assert_max_num_queries,
):
    university = make_university()
    degree = make_degree(university)
    subject = make_subject(degree=degree, lessons=3)
    Subject.objects.update(active_lessons_count=9, enrolled_counted=9)
    Degree.objects.update(subjects_count=9, students_counted=9)
    University.objects.update(subjects_count=9, degrees_count=9, students_counted=9)

    with django_assert_max_num_queries(6):
        refresh_counts()

    for row in (university, degree, subject):
        row.refresh_from_db()
    assert (subject.active_lessons_count, subject.enrolled_counted) == (3, 0)
    assert (degree.subjects_count, degree.students_counted) == (1, 0)
    assert (university.degrees_count, university.subjects_count) == (1, 1)
    assert university.students_counted == 0


def stored_counts():
    return [
        list(model.objects.order_by("pk").values_list("pk", *fields))
        for model, fields in (
            (University, ("degrees_count", "subjects_count", "students_counted")),
            (Degree, ("subjects_count", "students_counted")),
            (Subject, ("active_lessons_count", "enrolled_counted", "university")),
        )
    ]


def any_change(chance, students):
    """Make one random change of the catalogue or of enrolments, as staff and purchases do."""
    degrees, subjects, lessons, enrolments = (
        list(model.objects.order_by("pk")) for model in (Degree, Subject, Lesson, Enrolment)
    )
    universities = list(University.objects.order_by("pk"))
    name = str(chance.random())
    match chance.choice(
        ["enrol", "enrol", "leave", "lesson", "expire", "delete", "hide", "move", "subject",
         "degree", "move degree", "move lesson", "delete subject"]
    ):  # fmt: skip
        case "enrol":
            chosen = chance.sample(subjects, chance.randint(1, 3))
            student = chance.choice(students)
            for subject in chosen:
                rows = Enrolment.objects.filter(student=student, subject=subject, lesson=None)
                if not rows.exists():
                    enrol(student, subject)
            note_changed_enrolments(subject.pk for subject in chosen)
            refresh_noted_counts()
        case "leave":
            if enrolments:
                row = chance.choice(enrolments)
                row.delete()
                note_changed_enrolments([row.subject_id])
                refresh_noted_counts()
        case "lesson":
            Lesson.objects.create(subject=chance.choice(subjects), title=name, price=1)
        case "expire":
            ids = [lesson.pk for lesson in lessons if chance.random() < 0.2]
            status = chance.choice(list(Lesson.Status))
            set_lesson_status(Lesson.objects.filter(pk__in=ids), status)
        case "delete":
            if lessons:
                chance.choice(lessons).delete()
        case "hide":
            subject = chance.choice(subjects)
            subject.active = not subject.active
            subject.save(update_fields=["active"])
        case "move":
            subject = chance.choice(subjects)
            subject.degree = chance.choice(degrees)
            subject.save()
        case "subject":
            make_subject(name, degree=chance.choice(degrees), lessons=1)
        case "degree":
            make_degree(chance.choice(universities))
        case "move degree":
            degree = chance.choice(degrees)
            degree.university = chance.choice(universities)
            degree.save()
        case "move lesson":
            if lessons:
                lesson = chance.choice(lessons)
                lesson.subject, lesson.title = chance.choice(subjects), name
                lesson.save()
        case "delete subject":
            empty = Subject.objects.filter(lessons=None, enrolments=None).first()
            if empty:
                empty.delete()


@pytest.mark.parametrize("seed", range(2))
def test_incremental_counts_equal_a_full_recount(seed):
    chance = random.Random(seed)
    for university in (make_university("Una"), make_university("Otra")):
        for _ in range(2):
            degree = make_degree(university)
            for number in range(2):
                make_subject(f"Materia {degree.pk} {number}", degree=degree, lessons=number)
    students = [Student.objects.create(email=f"alumna{n}@example.com") for n in range(4)]

    for _ in range(40):
        any_change(chance, students)
        kept = stored_counts()
        refresh_counts()
        assert kept == stored_counts()


def test_purchase_refreshes_only_its_own_degree():
    university = make_university()
    here = make_subject("Aquí", degree=make_degree(university))
    elsewhere = make_subject("En otro grado", degree=make_degree(university))
    Subject.objects.filter(pk=elsewhere.pk).update(enrolled_counted=7)
    student = Student.objects.create(email="ana@example.com")
    enrol(student, here)

    note_changed_enrolments([here.pk])
    refresh_noted_counts()

    for row in (here, elsewhere, university):
        row.refresh_from_db()
    assert (here.enrolled_counted, university.students_counted) == (1, 1)
    # Refreshing a university of 20,000 subjects would hold its lock for most of a second.
    assert elsewhere.enrolled_counted == 7


# ---------------------------------------------------------------- database constraints


@pytest.mark.parametrize(
    "make",
    [
        lambda s: University.objects.create(name="Otra", acronym=s.degree.university.acronym),
        lambda s: Degree.objects.create(university=s.degree.university, name=s.degree.name),
        lambda s: Subject.objects.create(degree=s.degree, name=s.name, final_price=1),
        lambda s: Subject.objects.create(degree=s.degree, name="X", final_price=-1),
        lambda s: Subject.objects.create(
            degree=s.degree, name="X", final_price=1, total_discounts=91
        ),
        lambda s: Lesson.objects.create(subject=s, title="PEC 1", price=1),
        lambda s: Lesson.objects.create(subject=s, title="PEC 2", price=-1),
        lambda s: PriceChange.objects.create(after=1),
        lambda s: PriceChange.objects.create(subject=s, lesson=s.lessons.get(), after=1),
    ],
)
def test_database_refuses_invalid_rows(make):
    subject = make_subject(lessons=1)
    with pytest.raises(IntegrityError), transaction.atomic():
        make(subject)


def test_rows_with_children_can_not_be_deleted():
    subject = make_subject()
    for row in (subject.degree.university, subject.degree, subject):
        with pytest.raises(IntegrityError):
            row.delete()


@pytest.mark.parametrize(("history", "is_proven"), [((100,), True), ((100, 90), False)])
def test_list_price_is_proven_only_by_the_lowest_earlier_price(history, is_proven):
    """100 € was charged, and then 90 €: 100 € can't be crossed out."""
    subject = make_subject(price=history[0], total_discounts=20)
    for price in (*history[1:], 80):
        subject.final_price = price
        subject.save()
    assert has_proven_list_price(Subject.objects.get(pk=subject.pk)) == is_proven


def test_price_that_was_charged_a_thousand_times_is_read_once():
    """Pages of the shop read the earlier prices of each card."""
    subject = make_subject(price=80)
    now = timezone.now()
    # 70 € ended 40 days before the last change, and 90 € two days before it.
    for days, before, times in ((41, 70, 500), (3, 90, 1000), (1, 85, 1)):
        rows = [PriceChange(subject=subject, before=before, after=80) for _ in range(times)]
        PriceChange.objects.bulk_create(rows)
        changed = PriceChange.objects.filter(before=before)
        changed.update(changed_at=now - timedelta(days=days))
    with CaptureQueriesContext(connection) as queries:
        assert lowest_earlier_prices({subject.pk: subject.final_price}) == {subject.pk: 85}
    [query] = queries
    with connection.cursor() as cursor:
        cursor.execute(query["sql"])
        assert len(cursor.fetchall()) == 3


@pytest.mark.postgres
def test_names_are_compared_bytewise_on_postgresql():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, collation_name FROM information_schema.columns "
            "WHERE column_name = 'name_sort' ORDER BY table_name"
        )
        assert cursor.fetchall() == [
            ("catalogue_degree", "C"),
            ("catalogue_subject", "C"),
            ("catalogue_university", "C"),
        ]


def test_popularity_counts_paid_orders_of_the_last_year():
    degree = make_degree()
    bought, saved = (make_subject(name, "200.00", degree=degree) for name in ("Cálculo", "Álgebra"))
    order = buy_subject(bought, total=19000)
    buy_subject(bought, total=19000, email="ana@example.com")
    place_order(saved, total=19000)

    assert refresh_popularity() == 1
    assert refresh_popularity() == 0
    by_name = dict(Subject.objects.values_list("name", "popularity"))
    assert by_name == {"Cálculo": 2, "Álgebra": 0}
    Order.objects.filter(pk=order.pk).update(paid_at=timezone.now() - timedelta(days=366))
    refresh_popularity()
    bought.refresh_from_db()
    assert bought.popularity == 1


MANY = 12


def failures(results):
    return [result for result in results if isinstance(result, Exception)]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
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
                enrol(student, subject, order_id=number)
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


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_lesson_saves_are_all_counted():
    subject = make_subject(lessons=0)
    numbers = count(1)

    def add_lesson():
        Lesson.objects.create(subject=subject, title=f"PEC {next(numbers)}", price=55)

    assert failures(in_parallel(add_lesson, MANY)) == []

    subject.refresh_from_db()
    assert subject.active_lessons_count == MANY
