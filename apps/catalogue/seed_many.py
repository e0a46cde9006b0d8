"""A catalogue of any size, invented and the same each time, for `manage.py seed --subjects N`.

Subject number n is always the same subject: a larger N adds those that are missing.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.catalogue.seed import DISCOUNTS, PRICES, lessons_of
from apps.catalogue.seed_many_names import AREAS, FORMS, KINDS, PLACES
from apps.catalogue.services import counts_at_the_end

PER_DEGREE = 50
PER_UNIVERSITY = 2000
DEGREES = PER_UNIVERSITY // PER_DEGREE
COMING_SOON_EVERY = 8
_TOPICS = 10
_FORMS = PER_DEGREE // _TOPICS


class UniversityName(NamedTuple):
    name: str
    acronym: str


def seed_many(count: int, on_progress: Callable[[int], object]) -> int:
    """Add what is missing of the first `count` subjects; returns how many were added.

    In one transaction. `on_progress` is told how many subjects have been dealt with since the last
    time. Rows that exist are left as staff have made them.
    """
    added = 0
    with counts_at_the_end():
        for first in range(0, count, PER_UNIVERSITY):
            numbers = range(first, min(first + PER_UNIVERSITY, count))
            added += _fill_university(numbers)
            on_progress(len(numbers))
    return added


def _fill_university(numbers: range) -> int:
    index = numbers.start // PER_UNIVERSITY
    naming = university_name(index)
    university, _ = University.objects.get_or_create(
        acronym=naming.acronym,
        defaults={
            "name": naming.name,
            "status": University.Status.COMING_SOON
            if index % COMING_SOON_EVERY == COMING_SOON_EVERY - 1
            else University.Status.OPEN,
            "students_offset": 900 + index * 37 % 4000,
            "is_sample": True,
        },
    )
    degrees = _degrees(university, sorted({number // PER_DEGREE % DEGREES for number in numbers}))
    present = set(
        Subject.objects.filter(degree__in=degrees.values()).values_list("degree__name", "name")
    )
    missing = [
        (number, subject)
        for number in numbers
        if (
            (subject := _subject(number, degrees[number // PER_DEGREE % DEGREES])).degree.name,
            subject.name,
        )
        not in present
    ]
    lessons = [lesson for number, subject in missing for lesson in lessons_of(number, subject)]
    # Counted beforehand: to write every subject a second time costs as much as to add it.
    for lesson in lessons:
        lesson.subject.active_lessons_count += lesson.status == Lesson.Status.ACTIVE
    Subject.objects.bulk_create(subject for _, subject in missing)
    Lesson.objects.bulk_create(lessons)
    return len(missing)


def _degrees(university: University, places: list[int]) -> dict[int, Degree]:
    """The university's degrees by their place among the forty; those that are missing are added."""
    present = {degree.name: degree for degree in university.degrees.all()}
    Degree.objects.bulk_create(
        Degree(
            university=university,
            name=degree_name(place),
            acronym="".join(word[0] for word in degree_name(place).split() if word[0].isupper()),
            students_offset=60 + 13 * place,
        )
        for place in places
        if degree_name(place) not in present
    )
    by_name = {degree.name: degree for degree in university.degrees.all()}
    for degree in by_name.values():
        degree.university = university
    return {place: by_name[degree_name(place)] for place in places}


def _subject(number: int, degree: Degree) -> Subject:
    return Subject(
        degree=degree,
        name=subject_name(number // PER_DEGREE % DEGREES, number % PER_DEGREE),
        final_price=Decimal(PRICES[number % len(PRICES)]),
        total_discounts=DISCOUNTS[number % len(DISCOUNTS)],
        # Steps of a prime: from nobody to 600, in no order that one sees.
        enrolled_offset=number * 7919 % 601,
        active=number % 97 != 96,
    )


def university_name(index: int) -> UniversityName:
    """The university of that number: no two have the same name or acronym."""
    round_, place = divmod(index, len(PLACES) * len(KINDS))
    place, kind = divmod(place, len(KINDS))
    kind_name, kind_letter = KINDS[kind]
    place_name, place_letters = PLACES[place]
    again = f" {round_ + 1}" if round_ else ""
    return UniversityName(
        f"Universidad {kind_name} {place_name}{again}",
        f"U{kind_letter}{place_letters}{again.strip()}",
    )


def degree_name(place: int) -> str:
    area, number = divmod(place, len(AREAS[0].degrees))
    return AREAS[area].degrees[number]


def subject_name(degree: int, place: int) -> str:
    """The name of a degree's subject; degrees of one area share topics and not their angles."""
    area, number = divmod(degree, len(AREAS[0].degrees))
    angle, topic = divmod(place, _TOPICS)
    form = FORMS[(number * 2 + angle) % len(FORMS)]
    return form.format(**_declined(AREAS[area].topics[topic]))


def _declined(topic: str) -> dict[str, str]:
    """ "el derecho" after the prepositions that contract with its article."""
    masculine = topic.startswith("el ")
    return {
        "en": f"en {topic}",
        "a": f"al {topic[3:]}" if masculine else f"a {topic}",
        "de": f"del {topic[3:]}" if masculine else f"de {topic}",
    }
