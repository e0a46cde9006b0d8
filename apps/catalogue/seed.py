"""The sample catalogue: invented universities and plausible subjects, always the same ones."""

from collections.abc import Iterable
from decimal import Decimal

from django.db import transaction

from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.catalogue.seed_contents import add_contents, syllabus_of
from apps.catalogue.seed_names import DEGREES, UNIVERSITIES
from apps.core.dates import today

# Subject n takes element n of each list, and the lists have different lengths. So prices, lessons
# and students vary from subject to subject without randomness.
# The prices are those of the site's plans: a single PEC costs 55 €, and a complete subject from
# 39 € for each of its PECs (`pages.initial_content.PLANS`).
LESSON_PRICE = Decimal("55.00")
PRICES_PER_PEC = ("39.00", "42.00", "48.00", "39.00", "45.00", "40.50", "46.00", "39.00", "44.90")
LESSON_COUNTS = (5, 6, 4, 5, 3, 6, 5, 2, 6, 4, 0, 5, 1)
DISCOUNTS = (0, 0, 10, 0, 20, 0, 0, 15)
# They fit the "+400 estudiantes" of the home page (`pages.claims`): no subject has more students
# than its degree, and all degrees together have about as many as the university.
ENROLLED = (45, 20, 9, 31, 6, 15, 3, 25, 12, 2, 9)
STUDENTS = 440
TITLES = ("PEC 1", "PEC 2", "PEC 3", "PEC 4", "PEC 5", "Examen")
# Every 45th subject has expired lessons only: the admin shows it, the shop does not.
ALL_EXPIRED_EVERY = 45
# Single PECs are sold only for some subjects: every fourth one is sold complete only.
COMPLETE_ONLY_EVERY = 4
# What /contenido-asignatura promises: a solution and eight videos of theory for each PEC, and ten
# videos for the exam (`pages.content`).
VIDEOS_PER_PEC, VIDEOS_PER_EXAM = 9, 10
SUBJECTS = sum(len(subjects) for _, _, subjects in DEGREES)


@transaction.atomic
def seed_catalogue() -> None:
    """Add the sample rows that do not exist. Existing rows are not changed."""
    for name, acronym, is_open in UNIVERSITIES:
        University.objects.get_or_create(
            acronym=acronym,
            defaults={
                "name": name,
                "status": University.Status.OPEN if is_open else University.Status.COMING_SOON,
                "students_offset": STUDENTS if is_open else 0,
                "is_sample": True,
            },
        )
    university = University.objects.get(acronym=UNIVERSITIES[0][1])
    present = set(university.degrees.values_list("name", flat=True))
    Degree.objects.bulk_create(
        Degree(
            university=university,
            name=name,
            acronym=acronym,
            number_of_courses=4,
            students_offset=52 - 2 * number,
        )
        for number, (name, acronym, _) in enumerate(DEGREES)
        if name not in present
    )
    added = _add_subjects({degree.name: degree for degree in university.degrees.all()})
    Lesson.objects.bulk_create(
        lesson for number, subject in added for lesson in lessons_of(number, subject)
    )


def _add_subjects(degrees: dict[str, Degree]) -> list[tuple[int, Subject]]:
    """Add the subjects that do not exist. Return them with their numbers in the full list."""
    present = set(Subject.objects.values_list("degree_id", "name"))
    names = [(degrees[degree], name) for degree, _, subjects in DEGREES for name in subjects]
    missing = [
        (number, _subject(number, degree, name))
        for number, (degree, name) in enumerate(names)
        if (degree.pk, name) not in present
    ]
    Subject.objects.bulk_create(subject for _, subject in missing)
    return missing


def _subject(number: int, degree: Degree, name: str) -> Subject:
    subject = Subject(
        degree=degree,
        name=name,
        final_price=price_of(number),
        total_discounts=DISCOUNTS[number % len(DISCOUNTS)],
        complete_only=is_complete_only(number),
        videos_count=videos_of(number),
        enrolled_offset=max(0, ENROLLED[number % len(ENROLLED)] - number // len(ENROLLED)),
    )
    add_contents(subject, today())
    return subject


def price_of(number: int) -> Decimal:
    """The price of the complete subject with this number: always less than its lessons together."""
    count, expired = _lesson_counts(number)
    titles = TITLES[expired:count] or TITLES[:count] or TITLES
    pecs = sum(title.startswith("PEC") for title in titles)
    return pecs * Decimal(PRICES_PER_PEC[number % len(PRICES_PER_PEC)])


def is_complete_only(number: int) -> bool:
    return number % COMPLETE_ONLY_EVERY == 1


def videos_of(number: int) -> int:
    """How many videos the complete subject with this number has."""
    titles = TITLES[: _lesson_counts(number)[0]]
    pecs = sum(title.startswith("PEC") for title in titles)
    return pecs * VIDEOS_PER_PEC + (len(titles) - pecs) * VIDEOS_PER_EXAM


def _lesson_counts(number: int) -> tuple[int, int]:
    """How many lessons the subject with this number has, and how many of them have expired."""
    count = LESSON_COUNTS[number % len(LESSON_COUNTS)]
    if number % ALL_EXPIRED_EVERY == ALL_EXPIRED_EVERY - 1:
        return count, count
    # As during a term: many subjects have one expired lesson, and a few have no other.
    return count, number % 3 // 2 if count > 1 else 0


def lessons_of(number: int, subject: Subject) -> Iterable[Lesson]:
    """Yield the lessons of the subject with this number."""
    count, expired = _lesson_counts(number)
    for position, title in enumerate(TITLES[:count], start=1):
        lesson = Lesson(
            subject=subject,
            title=title,
            position=position,
            price=LESSON_PRICE,
            status=Lesson.Status.EXPIRED if position <= expired else Lesson.Status.ACTIVE,
        )
        lesson.syllabus = syllabus_of(subject, lesson, position)
        yield lesson
