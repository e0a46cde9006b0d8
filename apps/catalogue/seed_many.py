"""A sample catalogue of any size, for `manage.py seed --subjects N`.

Subject number n is always the same subject, so a larger N only adds subjects.
"""

from collections.abc import Callable
from typing import NamedTuple

from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.catalogue.seed import DISCOUNTS, is_complete_only, lessons_of, price_of, videos_of
from apps.catalogue.seed_many_names import AREAS, FORMS, KINDS, PLACES
from apps.catalogue.services import deferred_counts

PER_DEGREE = 50
PER_UNIVERSITY = 2000
DEGREES = PER_UNIVERSITY // PER_DEGREE
COMING_SOON_EVERY = 8
_TOPICS = 10


class UniversityName(NamedTuple):
    name: str
    acronym: str


def seed_many(count: int, on_progress: Callable[[int], object]) -> int:
    """Add those of the first `count` subjects that do not exist, and return how many were added.

    Runs in one transaction. `on_progress` gets the number of subjects processed since its last
    call. Existing rows are not changed.
    """
    added = 0
    with deferred_counts():
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
    # Set the counts before the insert: updating every subject later costs as much as the insert.
    for lesson in lessons:
        lesson.subject.active_lessons_count += lesson.status == Lesson.Status.ACTIVE
    Subject.objects.bulk_create(subject for _, subject in missing)
    Lesson.objects.bulk_create(lessons)
    return len(missing)


def _degrees(university: University, places: list[int]) -> dict[int, Degree]:
    """Return the degrees of the university by number, 0 to 39. Add those that do not exist."""
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
        final_price=price_of(number),
        total_discounts=DISCOUNTS[number % len(DISCOUNTS)],
        complete_only=is_complete_only(number),
        videos_count=videos_of(number),
        # Multiples of a prime modulo 601: numbers from 0 to 600 without a visible pattern.
        enrolled_offset=number * 7919 % 601,
        active=number % 97 != 96,
    )


def university_name(index: int) -> UniversityName:
    """Return the name and acronym of the university with this index. Both are unique."""
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
    """Return the name of a subject. Degrees of one area share its topics with other wordings."""
    area, number = divmod(degree, len(AREAS[0].degrees))
    angle, topic = divmod(place, _TOPICS)
    form = FORMS[(number * 2 + angle) % len(FORMS)]
    return form.format(**_declined(AREAS[area].topics[topic]))


def _declined(topic: str) -> dict[str, str]:
    """Return the topic after en, a and de: "el derecho" becomes "al derecho", "del derecho"."""
    masculine = topic.startswith("el ")
    return {
        "en": f"en {topic}",
        "a": f"al {topic[3:]}" if masculine else f"a {topic}",
        "de": f"del {topic[3:]}" if masculine else f"de {topic}",
    }
