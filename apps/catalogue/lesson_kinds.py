"""The kinds of lessons, and the line that says what a subject contains."""

from collections import Counter
from collections.abc import Iterable

from django.db import models

from apps.catalogue.text import search_form


class LessonKind(models.TextChoices):
    PEC = "pec", "PEC"
    PRACTICE = "practice", "PR (práctica)"
    EXAM = "exam", "Examen"
    OTHER = "other", "Otra"


# The first word of a title, without accents and capitals.
_FIRST_WORDS = {
    "pec": LessonKind.PEC,
    "pr": LessonKind.PRACTICE,
    "practica": LessonKind.PRACTICE,
    "examen": LessonKind.EXAM,
}


def kind_in(title: str) -> str:
    """Return the kind that a title begins with: "PEC 3" is a PEC. Staff may choose another one."""
    first, *_ = [*search_form(title).split(), ""]
    return _FIRST_WORDS.get(first, LessonKind.OTHER).value


def contents_of(kinds: Iterable[str], videos: int) -> str:
    """Return what a subject contains: "5 PECs · examen · 42 vídeos". Expired lessons count."""
    count = Counter(kinds)
    exams, practices = count[LessonKind.EXAM], count[LessonKind.PRACTICE]
    parts = (
        _counted(count[LessonKind.PEC], "PEC", "PECs"),
        "PR" if practices == 1 else _counted(practices, "PR", "PR"),
        "examen" if exams == 1 else _counted(exams, "examen", "exámenes"),
        _counted(count[LessonKind.OTHER], "lección", "lecciones"),
        _counted(videos, "vídeo", "vídeos"),
    )
    return " · ".join(part for part in parts if part)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""
