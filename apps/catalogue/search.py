"""Search over the whole catalogue: subjects, degrees and universities, with mistyped words.

A lesson, a semester and a code are understood (`apps/catalogue/search_words.py`). Each other word
of a search must occur in the subject's name, or in that of its degree or university. Accents and
capitals do not count. If nothing is found, words that the catalogue does not have are
replaced by its nearest ones. `apps/catalogue/lookups.py` finds words in the names of subjects; the
names of degrees and universities are compared in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Q
from rapidfuzz import process
from rapidfuzz.distance import OSA

from apps.catalogue.models import Degree, Subject, SubjectQuerySet, University
from apps.catalogue.reads import shown_universities
from apps.catalogue.search_words import Part, is_number, number_in_name, understand
from apps.catalogue.text import search_form, searched_from_sorted
from apps.core.render_memory import remembered
from apps.core.web.throttle import Limit

# Searches that are not kept. Whoever types asks at each letter, and a class has one address.
SEARCHES = Limit(
    "searches",
    times=2400,
    seconds=600,
    reason="Desde tu conexión llegan demasiadas búsquedas.",
)
# The most mistakes that a word of at least so many letters may have.
_MISTAKES = ((8, 2), (4, 1))
MOST_CORRECTED = 3
MOST_DEGREES, MOST_ANNOUNCED = 12, 3
SUGGESTED_UNIVERSITIES, SUGGESTED_DEGREES, SUGGESTED_SUBJECTS = 2, 3, 6


@dataclass(frozen=True)
class Found:
    """The subjects of a search. `corrected` is the text that was searched for instead, or "".

    `announced` are universities that open later, `understood` what was understood beside names:
    `condition` is what subjects have to do with it, and `names` are the other words.
    """

    subjects: SubjectQuerySet
    degrees: list[Degree]
    universities: list[University]
    announced: list[University] = field(default_factory=list)
    corrected: str = ""
    understood: list[Part] = field(default_factory=list)
    condition: Q = field(default_factory=Q)
    names: str = ""


class _Place(NamedTuple):
    """A degree or university. `names` are the words of its names, each after a space."""

    pk: int
    university_id: int
    names: str

    def has(self, word: str) -> bool:
        """Whether a word of the names begins with this one, or is it if it is a number."""
        return f" {word} " in f"{self.names} " if is_number(word) else f" {word}" in self.names


def search_catalogue(
    text: str, *, names_another: Callable[[str], bool] = lambda words: False
) -> Found:
    """Return what matches all words of the text, which may be empty: then nothing is found.

    Words that are found nowhere, but name something else than the catalogue, are not corrected.
    """
    # A search may ask for them with each of its words.
    known = cache(_known_words)
    asked = understand(text, is_name=cache(lambda word: _is_known(word, known())))
    words = asked.words
    if not words and not asked.parts:
        return Found(Subject.objects.none(), [], [])
    universities, degrees = _places()

    def found_with(words: list[str]) -> Found:
        found = _matching(words, universities, degrees)
        return replace(
            found,
            subjects=found.subjects.filter(asked.subjects),
            understood=asked.parts,
            condition=asked.subjects,
            names=" ".join(asked.words),
        )

    found = found_with(words)
    if found.announced or found.degrees or found.universities or found.subjects.exists():
        return found
    if names_another(" ".join(words)):
        return found
    corrected = _corrected(words, known())
    if corrected == words:
        return found
    return replace(found_with(corrected), corrected=" ".join(corrected))


def suggest(text: str) -> list[dict[str, str]]:
    """Return the best few universities, degrees and subjects, the most popular subjects first.

    If nothing is found, the one suggestion is to request the subject.
    """
    found = search_catalogue(text)
    subjects = found.subjects.most_popular_first().select_related("degree__university")
    rows: list[tuple[Any, str]] = [
        *((row, "Universidad") for row in found.universities[:SUGGESTED_UNIVERSITIES]),
        *((row, "Próximamente") for row in found.announced[:SUGGESTED_UNIVERSITIES]),
        *((row, f"Grado · {row.university.acronym}") for row in found.degrees[:SUGGESTED_DEGREES]),
        *(
            (row, f"{row.degree.name} · {row.degree.university.acronym}")
            for row in subjects[:SUGGESTED_SUBJECTS]
        ),
    ]
    if not rows:
        return [
            {
                "name": f"No encontramos «{text}»",
                "detail": "Pídenosla",
                "url": _search_path(text),
            }
        ]
    return [{"name": row.name, "detail": detail, "url": _path(row)} for row, detail in rows]


def _path(row: Any) -> str:
    """The page of a row. A university that opens later has none: the search page announces it."""
    is_announced = isinstance(row, University) and row.coming_soon
    return _search_path(row.acronym) if is_announced else str(row.page_path)


def _search_path(text: str) -> str:
    return f"/buscar?{urlencode({'q': text})}"


@remembered
def _places() -> tuple[dict[int, _Place], list[_Place]]:
    """The open universities by id, and their degrees with subjects, all by name."""
    universities = {
        row.pk: _Place(row.pk, row.pk, _names(row.name_sort, row.acronym))
        for row in shown_universities()
        if not row.coming_soon
    }
    rows = Degree.objects.filter(university__in=universities, subjects_count__gt=0).by_name()
    degrees = [
        _Place(pk, university_id, _names(name_sort, acronym))
        for pk, university_id, name_sort, acronym in rows.values_list(
            "pk", "university_id", "name_sort", "acronym"
        )
    ]
    return universities, degrees


def _names(name_sort: str, acronym: str) -> str:
    return f" {searched_from_sorted(name_sort)} {search_form(acronym)}"


def _matching(words: list[str], universities: dict[int, _Place], degrees: list[_Place]) -> Found:
    subjects = Subject.objects.findable().filter(university__in=list(universities))
    for word in words:
        of_degrees = [place.pk for place in degrees if place.has(word)]
        of_universities = [place.pk for place in universities.values() if place.has(word)]
        matches = number_in_name(word) or Q(name_search__includes=word)
        if of_degrees:
            matches |= Q(degree__in=of_degrees)
        if of_universities:
            matches |= Q(university__in=of_universities)
        subjects = subjects.filter(matches)
    found_degrees = [
        place.pk
        for place in degrees
        if any(place.has(word) for word in words)
        and all(place.has(word) or universities[place.university_id].has(word) for word in words)
    ]
    found_universities = [
        place.pk
        for place in universities.values()
        if words and all(place.has(word) for word in words)
    ]
    return Found(
        subjects,
        list(_rows(Degree, found_degrees[:MOST_DEGREES]).select_related("university")),
        list(_rows(University, found_universities)),
        _announced(words),
    )


def _announced(words: list[str]) -> list[University]:
    """The universities that open later with all words in their names, or one as their acronym."""
    return [
        row
        for row in shown_universities()
        if row.coming_soon
        and words
        and (
            search_form(row.acronym) in words
            or all(f" {word}" in _names(row.name_sort, row.acronym) for word in words)
        )
    ][:MOST_ANNOUNCED]


def _rows(model: Any, ids: list[int]) -> Any:
    """The rows with these ids, by name. No ids take no query."""
    return model.objects.filter(pk__in=ids).by_name() if ids else model.objects.none()


@remembered
def _known_words() -> list[str]:
    """All words of the catalogue, sorted."""
    subjects = Subject.objects.findable().order_by().values_list("name_search", flat=True)
    universities = [_names(row.name_sort, row.acronym) for row in shown_universities()]
    places = [*universities, *(place.names for place in _places()[1])]
    return sorted({word for names in (*subjects.distinct(), *places) for word in names.split()})


def _corrected(words: list[str], known: list[str]) -> list[str]:
    """Replace each word that no name has by the nearest word of the catalogue, if one is near.

    More than MOST_CORRECTED such words stay as they are.
    """
    unknown = [word for word in words if not _is_known(word, known)]
    if len(unknown) > MOST_CORRECTED:
        return words
    return [_nearest(word, known) if word in unknown else word for word in words]


def _is_known(word: str, known: list[str]) -> bool:
    return any(word in name for name in known)


def _nearest(word: str, known: list[str]) -> str:
    """Return the known word, or the beginning of one, with the fewest mistakes; else the word."""
    most = next((mistakes for letters, mistakes in _MISTAKES if len(word) >= letters), 0)
    if not most:
        return word
    # The beginnings, because the visitor may still be typing.
    lengths = range(len(word) - most, len(word) + most + 1)
    beginnings = {name[:length] for name in known for length in lengths if len(name) > length}
    for choices in (known, beginnings):
        near = process.extract(word, choices, scorer=OSA.distance, score_cutoff=most, limit=None)
        if near:
            # Of several the first by name.
            return str(min((mistakes, name) for name, mistakes, _ in near)[1])
    return word
