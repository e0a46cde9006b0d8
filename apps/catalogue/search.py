"""Search over the whole catalogue: subjects, degrees and universities, with mistyped words.

Each word of a search must occur in the subject's name, or in that of its degree or university.
Accents and capitals do not count. If nothing is found, words that the catalogue does not have are
replaced by its nearest ones. `apps/catalogue/lookups.py` finds words in the names of subjects; the
few hundred degrees and universities are compared in memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from rapidfuzz import process
from rapidfuzz.distance import OSA

from apps.catalogue.models import Degree, Subject, SubjectQuerySet, University
from apps.catalogue.text import search_form

LONGEST_SEARCH = 100
MOST_WORDS = 8
# Words that say nothing about the subject; searched for only if there are no others.
_FILLERS = frozenset(
    ("a", "al", "de", "del", "e", "el", "en", "la", "las", "los", "o", "para", "por", "y")
)
# The most mistakes that a word of at least so many letters may have.
_MISTAKES = ((8, 2), (4, 1))
MOST_DEGREES = 12
SUGGESTED_UNIVERSITIES, SUGGESTED_DEGREES, SUGGESTED_SUBJECTS = 2, 3, 6


@dataclass(frozen=True)
class Found:
    """The subjects of a search. `corrected` is the text that was searched for instead, or ""."""

    subjects: SubjectQuerySet
    degrees: list[Degree]
    universities: list[University]
    corrected: str = ""


@dataclass(frozen=True)
class _Place:
    """A degree or university, and the words of its name in their form for searching."""

    row: Any
    words: frozenset[str]

    def has(self, word: str) -> bool:
        return any(name.startswith(word) for name in self.words)


def search_catalogue(text: str) -> Found:
    """Return what matches all words of the text, which may be empty: then nothing is found."""
    words = _words(text)
    if not words:
        return Found(Subject.objects.none(), [], [])
    universities = [
        _Place(row, _words_of(row.name, row.acronym)) for row in University.objects.open().by_name()
    ]
    degrees = [
        _Place(row, _words_of(row.name, row.acronym))
        for row in Degree.objects.filter(
            university__in=[place.row.pk for place in universities], subjects_count__gt=0
        )
        .select_related("university")
        .by_name()
    ]
    found = _matching(words, universities, degrees)
    if found.degrees or found.universities or found.subjects.exists():
        return found
    corrected = _corrected(words, [*universities, *degrees])
    if corrected == words:
        return found
    nearest = _matching(corrected, universities, degrees)
    return Found(nearest.subjects, nearest.degrees, nearest.universities, " ".join(corrected))


def suggest(text: str) -> list[dict[str, str]]:
    """Return the best few universities, degrees and subjects, the most popular subjects first.

    If nothing is found, the one suggestion is to request the subject.
    """
    found = search_catalogue(text)
    subjects = found.subjects.most_popular_first().select_related("degree__university")
    rows: list[tuple[Any, str]] = [
        *((row, "Universidad") for row in found.universities[:SUGGESTED_UNIVERSITIES]),
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
                "url": f"/buscar?{urlencode({'q': text})}",
            }
        ]
    return [{"name": row.name, "detail": detail, "url": row.page_path} for row, detail in rows]


def _words(text: str) -> list[str]:
    words = list(dict.fromkeys(search_form(text[:LONGEST_SEARCH]).split()))[:MOST_WORDS]
    return [word for word in words if word not in _FILLERS] or words


def _words_of(*names: str) -> frozenset[str]:
    return frozenset(word for name in names for word in search_form(name).split())


def _matching(words: list[str], universities: list[_Place], degrees: list[_Place]) -> Found:
    subjects = Subject.objects.findable().filter(
        university__in=[place.row.pk for place in universities]
    )
    for word in words:
        of_degrees = [place.row.pk for place in degrees if place.has(word)]
        of_universities = [place.row.pk for place in universities if place.has(word)]
        matches = Q(name_search__includes=word)
        if of_degrees:
            matches |= Q(degree__in=of_degrees)
        if of_universities:
            matches |= Q(university__in=of_universities)
        subjects = subjects.filter(matches)
    university_of = {place.row.pk: place for place in universities}
    return Found(
        subjects,
        [
            place.row
            for place in degrees
            if any(place.has(word) for word in words)
            and all(
                place.has(word) or university_of[place.row.university_id].has(word)
                for word in words
            )
        ][:MOST_DEGREES],
        [place.row for place in universities if all(place.has(word) for word in words)],
    )


def _corrected(words: list[str], places: Iterable[_Place]) -> list[str]:
    """Replace each word that no name has by the nearest word of the catalogue, if one is near."""
    known = _words_of(
        *Subject.objects.findable().order_by().values_list("name_search", flat=True).distinct()
    )
    known = known.union(*(place.words for place in places))
    return [word if _is_known(word, known) else _nearest(word, known) for word in words]


def _is_known(word: str, known: frozenset[str]) -> bool:
    return word in known or any(word in name for name in known)


def _nearest(word: str, known: frozenset[str]) -> str:
    """Return the known word, or the beginning of one, with the fewest mistakes; else the word."""
    most = next((mistakes for letters, mistakes in _MISTAKES if len(word) >= letters), 0)
    if not most:
        return word
    # The beginnings, because the visitor may still be typing. Sorted: ties are always broken alike.
    beginnings = {name[: len(word) + extra] for name in known for extra in range(-most, most + 1)}
    for choices in (known, beginnings):
        best = process.extractOne(word, sorted(choices), scorer=OSA.distance, score_cutoff=most)
        if best:
            return str(best[0])
    return word
