"""The column of a subject's own teachers.

Teachers are rows of the app of pages, which stands above this one and registers their table when
the program starts (docs/map.md, "What runs without being called"). An import never adds a teacher.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from apps.catalogue.exchange.columns import BadCell, clean
from apps.catalogue.exchange.file_errors import quoted
from apps.catalogue.exchange.near_names import NearNames
from apps.catalogue.models import Subject

NOT_ALLOWED = (
    "Cambia los profesores de alguna asignatura, y tu cuenta no puede cambiar profesores. Quita la "
    "columna, o pide que lo importe alguien que pueda."
)


@dataclass(frozen=True)
class TeacherTable:
    # The permission that an import needs to change the teachers of a subject.
    permission: str
    # The id and the name of every teacher, in the order of the site.
    everybody: Callable[[], Iterable[tuple[int, str]]]
    # The ids of a subject and of a teacher of its own, for these subjects.
    of_subjects: Callable[[QuerySet[Subject]], Iterable[tuple[int, int]]]
    # Make these the only own teachers of each subject: ids of teachers by the id of the subject.
    assign: Callable[[Mapping[int, Collection[int]]], None]


_tables: list[TeacherTable] = []


def register_teachers(table: TeacherTable) -> None:
    """Register the table of teachers; repeating it has no effect. Called in `AppConfig.ready()`."""
    if table not in _tables:
        _tables.append(table)


def may_assign(user: Any) -> bool:
    """Whether this member of staff may change the teachers of subjects. None is the shop itself."""
    return user is None or all(user.has_perm(table.permission) for table in _tables)


class TeacherNames:
    """The names of all teachers, read once. A cell has a name in each line, in the site's order.

    Two teachers with the same name have their id behind it.
    """

    @cached_property
    def _by_name(self) -> dict[str, int]:
        everybody = [(pk, clean(name)) for table in _tables for pk, name in table.everybody()]
        times = Counter(name for _, name in everybody)
        return {name if times[name] == 1 else f"{name} ({pk})": pk for pk, name in everybody}

    @cached_property
    def _by_id(self) -> dict[int, str]:
        return {pk: name for name, pk in self._by_name.items()}

    @cached_property
    def _near(self) -> NearNames:
        near = NearNames()
        for name in self._by_name:
            near.add(None, name)
        return near

    def read(self, text: str) -> str:
        """Return the teachers of a cell: a name in each line, or several with commas between them.

        Raises BadCell with a question for a name that is nearly that of a teacher.
        """
        found = {pk for line in text.splitlines() for pk in self._ids_in(clean(line))}
        if not found:
            raise BadCell("No dice ningún nombre.")
        return self._shown(found)

    def ids(self, cell: str) -> list[int]:
        """The ids of a cell that `read` or `of_subjects` has returned."""
        return [self._by_name[name] for name in cell.splitlines()]

    def of_subjects(self, subjects: QuerySet[Subject]) -> dict[int, str]:
        """The cells of those subjects that have teachers of their own, by the subject's id."""
        found: dict[int, set[int]] = defaultdict(set)
        for table in _tables:
            for subject, teacher in table.of_subjects(subjects):
                found[subject].add(teacher)
        return {subject: self._shown(teachers) for subject, teachers in found.items()}

    def name(self, teacher: int) -> str:
        return self._by_id[teacher]

    def stored(self) -> list[tuple[int, int]]:
        """The ids of each subject and of each teacher of its own."""
        return [link for table in _tables for link in table.of_subjects(Subject.objects.all())]

    def _shown(self, teachers: Collection[int]) -> str:
        return "\n".join(name for pk, name in self._by_id.items() if pk in teachers)

    def _ids_in(self, line: str) -> list[int]:
        # A name may have a comma of its own.
        names = [line] if line in self._by_name else map(clean, re.split("[,;]", line))
        return [self._id_of(name) for name in names if name]

    def _id_of(self, name: str) -> int:
        if name in self._by_name:
            return self._by_name[name]
        same = [f"«{other}»" for other in self._by_name if other.startswith(f"{name} (")]
        if same:
            raise BadCell(f"Hay varios profesores {quoted(name)}: escribe {' o '.join(same)}.")
        near = self._near.near(None, name)
        hint = f"¿Querías decir «{near}»?" if near else "Añádelo antes en «Profesores»."
        raise BadCell(f"No hay ningún profesor {quoted(name)}. {hint}")


def assign_teachers(cells: Mapping[int, str], names: TeacherNames) -> None:
    """Give subjects the teachers of their cells, by the subject's id."""
    for table in _tables:
        table.assign({subject: names.ids(cell) for subject, cell in cells.items()})
