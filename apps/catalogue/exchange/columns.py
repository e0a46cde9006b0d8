"""The columns of an import or export file, and how each cell is read and written.

An empty cell or an absent column leaves the stored value unchanged. A logo is uploaded in the
admin: its column shows the address, and an import ignores it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db.models import BooleanField, Field, FileField, TextField

from apps.catalogue.exchange.file_errors import quoted
from apps.catalogue.lesson_kinds import LessonKind
from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.catalogue.recorded import Recorded
from apps.catalogue.text import search_form
from apps.catalogue.vat import Vat
from apps.core.money import read_euros
from apps.core.normal_form import normal_form
from apps.core.staff.public_texts import check_lines, check_public_text

# Each model is the parent of the next one.
LEVELS: tuple[type[Recorded], ...] = (University, Degree, Subject, Lesson)


class BadCell(ValueError):
    """A cell that can't be read. The message is a Spanish sentence."""


def clean(text: str) -> str:
    """Return the text as it is stored and compared: composed accents, single spaces inside."""
    return " ".join(normal_form("NFC", text).split())


def _text(text: str) -> str:
    if "\0" in text:
        raise BadCell("Contiene un carácter nulo.")
    return clean(text)


def _euros(text: str) -> Decimal:
    try:
        return read_euros(text)
    except ValueError:
        raise BadCell(f"{quoted(text)} no es un precio. Escríbelo así: 192,50.") from None


def _whole(text: str) -> int:
    if not re.fullmatch(r"-?\d{1,9}(?:[.,]0+)?", text, re.ASCII):
        raise BadCell(f"{quoted(text)} no es un número entero.")
    return int(re.split("[.,]", text)[0])


def _percent(text: str) -> int:
    return _whole(text.removesuffix("%").strip())


_YES_NO = {
    **dict.fromkeys(("si", "s", "1", "x", "true", "verdadero"), True),
    **dict.fromkeys(("no", "n", "0", "false", "falso"), False),
}


def _yes_no(text: str) -> bool:
    try:
        return _YES_NO[search_form(text)]
    except KeyError:
        raise BadCell(f"{quoted(text)} no es ni «sí» ni «no».") from None


def _lines(text: str) -> str:
    """Text of several lines: the spaces inside each are single, empty lines stay."""
    return "\n".join(map(_text, text.splitlines())).strip()


def _day(text: str) -> str:
    """Read 2027-01-20 and 20/01/2027, and the midnight that Excel stores for a date."""
    found = re.fullmatch(
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:[ T]00:00:00)?"
        r"|(\d\d?)/(\d\d?)/(\d{4})",
        text,
        re.ASCII,
    )
    if found is None:
        raise BadCell(f"{quoted(text)} no es una fecha. Escríbela así: 20/01/2027.")
    year, month, day, *spanish = found.groups()
    if year is None:
        day, month, year = spanish
    return f"{year}-{int(month):02}-{int(day):02}"


def _one_of(
    choices: type[
        University.Status | Lesson.Status | LessonKind | Subject.Semester | Subject.Language | Vat
    ],
) -> Callable[[str], str]:
    known = {
        search_form(str(word)): choice.value
        for choice in choices
        for word in (choice.label, choice)
    }

    def parse(text: str) -> str:
        try:
            return str(known[search_form(text)])
        except KeyError:
            labels = " o ".join(f"«{choice.label}»" for choice in choices)
            raise BadCell(f"{quoted(text)} no vale aquí: escribe {labels}.") from None

    return parse


def _vat(text: str) -> str:
    """Read "21 %", "21" and 0.21, which is what Excel stores for a percentage."""
    number = text.removesuffix("%").strip().replace(",", ".")
    if re.fullmatch(r"\d{1,2}(?:\.\d{1,4})?", number, re.ASCII):
        percent = Decimal(number) * (100 if Decimal(number) < 1 else 1)
        text = f"{percent.normalize():f} %"
    elif search_form(text) == "exenta":
        return Vat.EXEMPT
    return _one_of(Vat)(text)


@dataclass(frozen=True)
class Column:
    name: str
    model: type[Recorded]
    attribute: str
    parse: Callable[[str], Any] = _text
    # The column that identifies a row among those of the same parent.
    is_key: bool = False
    # Required for a new row.
    required: bool = False
    # Written to a file, and ignored when a file is read.
    read_only: bool = False
    # The text of a column that is no field of the model but rows of another table (`teachers`).
    linked: str = ""

    @cached_property
    def field(self) -> "Field[Any, Any]":
        field = self.model._meta.get_field(self.attribute)
        assert isinstance(field, Field)  # noqa: S101  (the columns name no relations)
        return field

    @cached_property
    def _labels(self) -> dict[Any, Any]:
        return dict(self.field.flatchoices) if not self.linked and self.field.choices else {}

    @property
    def about(self) -> str:
        """The text of the column, for the template of the import."""
        if self.linked:
            return self.linked
        return f"{self.field.verbose_name}. {self.field.help_text}".removesuffix(". ")

    @property
    def choices(self) -> list[str]:
        """The words that a file may have in the column; empty if it is free."""
        if not self.linked and isinstance(self.field, BooleanField):
            return ["sí", "no"]
        return [str(label) for value, label in self._labels.items() if value]

    def read(self, text: str) -> Any:
        """Return the cell's value, validated as in the admin. Raises BadCell."""
        value = self.parse(text.strip())
        try:
            # Fields of lines check their length in forms alone.
            if isinstance(self.field, TextField) and self.field.max_length:
                MaxLengthValidator(self.field.max_length)(value)
            check_public_text(value)
            check_lines(value)
            return self.field.clean(value, None)
        except ValidationError as error:
            raise BadCell(" ".join(error.messages)) from None

    def tidy(self, value: Any) -> Any:
        """Return a stored value as an import would store it."""
        if not isinstance(value, str):
            return value
        return _lines(value) if self.parse is _lines else clean(value)

    def show(self, value: Any) -> Any:
        """Return the value as a file has it: a choice by its label, a boolean as "sí" or "no"."""
        if self._labels:
            return self._labels.get(value, "")
        if not self.linked and isinstance(self.field, FileField):
            return self.field.storage.url(value) if value else ""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "sí" if value else "no"
        return value


TEACHERS = Column(
    "profesores",
    Subject,
    "teachers",
    linked="Sus propios profesores, que salen en vez de los de su grado: el nombre de cada uno en "
    "una línea, o con comas entre ellos. Tienen que estar ya en «Profesores».",
)
SAMPLE = Column("ejemplo", University, "is_sample", _yes_no)
VAT = Column("iva", Subject, "vat", _vat)
COLUMNS = (
    Column("universidad_siglas", University, "acronym", is_key=True),
    Column("universidad", University, "name", required=True),
    Column("universidad_estado", University, "status", _one_of(University.Status)),
    Column("universidad_logo", University, "logo", read_only=True),
    Column("universidad_alumnos_anteriores", University, "students_offset", _whole),
    SAMPLE,
    Column("grado", Degree, "name", is_key=True),
    Column("grado_siglas", Degree, "acronym"),
    Column("grado_cursos", Degree, "number_of_courses", _whole),
    Column("grado_alumnos_anteriores", Degree, "students_offset", _whole),
    Column("asignatura", Subject, "name", is_key=True),
    Column("precio", Subject, "final_price", _euros, required=True),
    VAT,
    Column("descuento", Subject, "total_discounts", _percent),
    Column("semestre", Subject, "semester", _one_of(Subject.Semester)),
    Column("codigo", Subject, "code"),
    Column("idioma", Subject, "language", _one_of(Subject.Language)),
    Column("horas", Subject, "hours", _whole),
    Column("examen", Subject, "exam_on", _day),
    Column("examen_recuperacion", Subject, "resit_on", _day),
    Column("que_cubren_las_pecs", Subject, "pecs_content", _lines),
    Column("que_cubre_el_examen", Subject, "exam_content", _lines),
    Column("preguntas", Subject, "questions", _lines),
    Column("a_la_venta", Subject, "active", _yes_no),
    Column("solo_completa", Subject, "complete_only", _yes_no),
    Column("videos", Subject, "videos_count", _whole),
    Column("matriculados_anteriores", Subject, "enrolled_offset", _whole),
    TEACHERS,
    Column("leccion", Lesson, "title", is_key=True),
    Column("leccion_tipo", Lesson, "kind", _one_of(LessonKind)),
    Column("leccion_precio", Lesson, "price", _euros, required=True),
    Column("leccion_estado", Lesson, "status", _one_of(Lesson.Status)),
    Column("leccion_orden", Lesson, "position", _whole),
    Column("leccion_temario", Lesson, "syllabus", _lines),
)
READ_ONLY = frozenset(column.name for column in COLUMNS if column.read_only)
BY_NAME = {column.name: column for column in COLUMNS}
KEYS = {column.model: column for column in COLUMNS if column.is_key}
DATA = {model: tuple(c for c in COLUMNS if c.model is model and not c.is_key) for model in LEVELS}
# The columns of DATA that are fields of the model.
STORED = {
    model: tuple(column for column in columns if not column.linked)
    for model, columns in DATA.items()
}
PARENTS = {Degree: "university", Subject: "degree", Lesson: "subject"}
