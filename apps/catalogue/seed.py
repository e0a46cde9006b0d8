"""The sample catalogue: invented universities and plausible subjects, always the same ones."""

from collections.abc import Iterable
from decimal import Decimal

from django.db import transaction

from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.catalogue.seed_names import DEGREES, UNIVERSITIES

# Subject n takes element n of each list, and the lists have different lengths. So prices, lessons
# and students vary from subject to subject without randomness.
PRICES = ("192.00", "180.00", "240.00", "168.00", "216.00", "156.00", "204.00", "228.00", "199.50")
LESSON_PRICES = ("55.00", "48.00", "60.00", "45.00", "52.50", "58.00", "49.90")
LESSON_COUNTS = (5, 6, 4, 5, 3, 6, 5, 2, 6, 4, 0, 5, 1)
DISCOUNTS = (0, 0, 10, 0, 20, 0, 0, 15)
ENROLLED = (480, 212, 96, 341, 57, 158, 24, 275, 133, 12, 96)
TITLES = ("PEC 1", "PEC 2", "PEC 3", "PEC 4", "PEC 5", "Examen")
# Every 45th subject has expired lessons only: the admin shows it, the shop does not.
ALL_EXPIRED_EVERY = 45
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
                "students_offset": 2400 if is_open else 0,
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
            students_offset=180 + 35 * number,
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
    return Subject(
        degree=degree,
        name=name,
        final_price=Decimal(PRICES[number % len(PRICES)]),
        total_discounts=DISCOUNTS[number % len(DISCOUNTS)],
        enrolled_offset=ENROLLED[number % len(ENROLLED)] - 3 * (number // len(ENROLLED)),
    )


def lessons_of(number: int, subject: Subject) -> Iterable[Lesson]:
    """Yield the lessons of the subject with this number."""
    count = LESSON_COUNTS[number % len(LESSON_COUNTS)]
    # As during a term: many subjects have one expired lesson, and a few have no other.
    expired = number % 3 // 2 if count > 1 else 0
    if number % ALL_EXPIRED_EVERY == ALL_EXPIRED_EVERY - 1:
        expired = count
    for position, title in enumerate(TITLES[:count], start=1):
        yield Lesson(
            subject=subject,
            title=title,
            position=position,
            price=Decimal(LESSON_PRICES[number % len(LESSON_PRICES)]),
            status=Lesson.Status.EXPIRED if position <= expired else Lesson.Status.ACTIVE,
        )
