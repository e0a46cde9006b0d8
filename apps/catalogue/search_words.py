"""Words of a search that are no names: a lesson, a semester, a code, a number.

"pec 1" is the lesson, "examen de enero" the exam's month, "2.º semestre" the half of the year,
"65011027" the code of a subject at its university. What is left are words of names, in which "1"
is also "I".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, Q

from apps.catalogue.lesson_kinds import LessonKind
from apps.catalogue.models import Lesson, Subject
from apps.catalogue.text import search_form

LONGEST_SEARCH = 100
MOST_WORDS = 8
# Each lesson is a subquery: PostgreSQL takes a quarter of a second to plan and run 24 of them.
MOST_PARTS = 3
# Words that say nothing about the subject; searched for only if there are no others.
FILLERS = frozenset(
    ("a", "al", "de", "del", "e", "el", "en", "la", "las", "los", "o", "para", "por", "y")
)
Semester = Subject.Semester
_ORDINALS = {
    **dict.fromkeys(("1", "1.º", "1º", "1.", "1er", "1.er", "primer", "primero"), Semester.FIRST),
    **dict.fromkeys(("2", "2.º", "2º", "2.", "2do", "segundo"), Semester.SECOND),
}
_HALVES = ("semestre", "cuatrimestre")
# The first word of a lesson's title, as typed, and as titles have it.
_LESSONS = {"pec": "PEC", "pecs": "PEC", "pr": "PR", "practica": "PR"}
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
         "octubre", "noviembre", "diciembre"),
        start=1,
    )
}  # fmt: skip
_NUMBER = re.compile(r"[1-9]\d?")
_TOGETHER = re.compile(r"(pec|pr)-?([1-9]\d?)")
# A code has digits, and more signs than the number of a lesson or of a year.
_CODE = re.compile(r"(?=.*\d)[a-z0-9.-]{4,20}")
ROMAN = {"1": "i", "2": "ii", "3": "iii", "4": "iv", "5": "v", "6": "vi", "7": "vii", "8": "viii"}
_ARABIC = {roman: arabic for arabic, roman in ROMAN.items()}


@dataclass(frozen=True)
class Part:
    """Something that was understood: its name for visitors, and the search without it."""

    label: str
    rest: str


@dataclass
class Asked:
    """A search that was taken apart. `subjects` is the condition of what is no name."""

    words: list[str] = field(default_factory=list)
    subjects: Q = field(default_factory=Q)
    parts: list[Part] = field(default_factory=list)


def understand(text: str, *, is_name: Callable[[str], bool]) -> Asked:
    """Take a search apart. `is_name` says whether a word is part of a name in the catalogue.

    Parts after the first MOST_PARTS different ones are ignored, as are words after MOST_WORDS.
    """
    typed = text[:LONGEST_SEARCH].split()
    forms = [search_form(word) for word in typed]
    codes = _codes_among(forms)
    conditions: dict[str, Q] = {}
    # The label of the part that a word belongs to, by the word's place.
    labels: dict[int, str] = {}

    def take(label: str, condition: Q, *places: int) -> None:
        conditions.setdefault(label, condition)
        labels.update(dict.fromkeys(places, label))

    for place, form in enumerate(forms):
        if place in labels:
            continue
        following = forms[place + 1] if place + 1 < len(forms) else ""
        together = _TOGETHER.fullmatch(form)
        if together:
            title = f"{_LESSONS[together[1]]} {together[2]}"
            take(title, _has_lesson(Q(title__iexact=title)), place)
        elif form in _LESSONS and _NUMBER.fullmatch(following):
            title = f"{_LESSONS[form]} {following}"
            take(title, _has_lesson(Q(title__iexact=title)), place, place + 1)
        elif form == "examen" and not is_name(form) and (months := _months_at(forms, place + 1)):
            month = _MONTHS[forms[months[-1]]]
            held = Q(exam_on__month=month) | Q(resit_on__month=month)
            take(f"Examen en {forms[months[-1]]}", held, place, *months)
        elif form == "examen" and not is_name(form):
            take("Examen", _has_lesson(Q(kind=LessonKind.EXAM)), place)
        elif following in _HALVES and form in _ORDINALS:
            _take_semester(take, _ORDINALS[form], place, place + 1)
        elif form in _HALVES and following in _ORDINALS:
            _take_semester(take, _ORDINALS[following], place, place + 1)
        elif form == "anual" and not is_name(form):
            _take_semester(take, Semester.WHOLE_YEAR, place)
        elif form.upper() in codes:
            take(f"Código {form.upper()}", Q(code=form.upper()), place)
    asked = Asked()
    for label in list(conditions)[:MOST_PARTS]:
        asked.subjects &= conditions[label]
        rest = " ".join(word for place, word in enumerate(typed) if labels.get(place) != label)
        asked.parts.append(Part(label, rest))
    left = [form for place, form in enumerate(forms) if place not in labels]
    words = list(dict.fromkeys(" ".join(left).split()))[:MOST_WORDS]
    asked.words = [word for word in words if word not in FILLERS]
    if not asked.words and not asked.parts:
        asked.words = words
    return asked


def _months_at(forms: list[str], place: int) -> list[int]:
    """The places of "enero" or "de enero" from this place on; [] for other words."""
    after_filler = place + (forms[place : place + 1] in (["de"], ["en"]))
    is_month = forms[after_filler : after_filler + 1] and forms[after_filler] in _MONTHS
    return list(range(place, after_filler + 1)) if is_month else []


def _codes_among(forms: list[str]) -> set[str]:
    """The words that are codes of subjects, in capitals. All are looked up by one statement."""
    possible = {
        form.upper() for form in forms if _CODE.fullmatch(form) and not _TOGETHER.fullmatch(form)
    }
    if not possible:
        return set()
    with_code = Subject.objects.findable().order_by().filter(code__in=possible)
    return set(with_code.values_list("code", flat=True))


def _take_semester(take: Callable[..., None], semester: Subject.Semester, *places: int) -> None:
    take(str(semester.label), Q(semester=semester), *places)


def _has_lesson(condition: Q) -> Q:
    active = Lesson.objects.filter(subject=OuterRef("pk"), status=Lesson.Status.ACTIVE)
    return Q(Exists(active.filter(condition)))


def is_number(word: str) -> bool:
    """Whether the word is a number in names, "1" or "I"."""
    return word in ROMAN or word in _ARABIC


def number_in_name(word: str) -> Q | None:
    """The condition of a name with this number as a word; None for other words."""
    if not is_number(word):
        return None
    arabic = _ARABIC.get(word, word)
    found = Q()
    for number in (arabic, ROMAN[arabic]):
        found |= Q(name_search__endswith=f" {number}") | Q(name_search__contains=f" {number} ")
        found |= Q(name_search__contains=f" {number}:")
    return found
