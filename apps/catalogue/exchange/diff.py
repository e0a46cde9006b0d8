"""The differences between a file and the catalogue in the database."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django.core.exceptions import ValidationError

from apps.catalogue.exchange.bounds import COMMAND, Reading
from apps.catalogue.exchange.columns import (
    COLUMNS,
    DATA,
    KEYS,
    LEVELS,
    PARENTS,
    READ_ONLY,
    SAMPLE,
    STORED,
    TEACHERS,
    VAT,
    BadCell,
    Column,
    clean,
)
from apps.catalogue.exchange.file_errors import BadFile, FileError, FileErrors, quoted
from apps.catalogue.exchange.near_names import NearNames
from apps.catalogue.exchange.reading import Line
from apps.catalogue.exchange.teachers import NOT_ALLOWED, TeacherNames, may_assign
from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.catalogue.price_questions import needs_confirmation
from apps.catalogue.recorded import NAMES, Recorded
from apps.catalogue.vat import may_change_vat
from apps.core.money import format_euros, grouped, to_cents
from apps.core.staff.staff_log import shown_change
from apps.core.text_links import check_words

VAT_NOT_ALLOWED = (
    "Cambia el IVA de {}{}, y tu cuenta no puede cambiarlo. Deja en la columna el que tienen, y en "
    "una asignatura nueva el de las demás de su grado, o pide que lo importe alguien que pueda."
)
SAMPLE_NOT_ALLOWED = (
    "Marca {} como de ejemplo, y así dejaría de venderse. Deja la celda vacía, o con «no»."
)
# SQLite allows at most 32,766 parameters in a statement.
PARENTS_AT_ONCE = 10_000
# The most rows below one parent that an uploaded file may lead to: a page shows them all.
MOST_BELOW: dict[type[Recorded], int] = {
    University: University.most_rows,
    Degree: Degree.most_below["university"],
    Lesson: Lesson.most_below["subject"],
}
# The most rows in all that an uploaded file may lead to.
MOST_IN_ALL: dict[type[Recorded], int] = {
    Degree: Degree.most_rows,
    Subject: 50_000,
    Lesson: 200_000,
}
# The most subjects of a teacher: the form of a teacher takes 1,000 fields.
MOST_OF_TEACHER = 900
# Texts of so many letters are kept once, however many rows name them.
LONG_TEXT = 200

# The university's acronym, the names of the levels below it, and the row's own name.
Path = tuple[str, ...]


@dataclass
class Change:
    column: Column
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.column.name}: {self._shown(self.before)} → {self._shown(self.after)}"

    def logged(self) -> str:
        """The change in one line, with a long text cut as the log of staff cuts it."""
        before, after = (" ".join(self._shown(each).split()) for each in (self.before, self.after))
        return f"{self.column.name}: {shown_change(before, after)}"

    def _shown(self, value: Any) -> str:
        if value is None:
            return "(nuevo)"
        text = str(self.column.show(value))
        if self.column is TEACHERS:
            text = ", ".join(text.splitlines())
        # Prices are shown with a decimal comma, whatever the file has.
        return text.replace(".", ",") if isinstance(value, Decimal) else text or "(vacío)"


@dataclass
class Entry:
    """One university, degree, subject or lesson that the file names."""

    model: type[Recorded]
    path: Path
    place: str
    parent: "Entry | None"
    values: dict[Column, Any] = field(default_factory=dict)
    # Columns whose cell could not be read; their error is reported already.
    unread: set[Column] = field(default_factory=set)
    # The id of the row in the database, or None for a new row.
    pk: int | None = None
    changes: list[Change] = field(default_factory=list)
    # The nearly equal name of another row, if the entry is new and may be mistyped.
    near: str = ""

    def __str__(self) -> str:
        return " › ".join(self.path)

    def first_price(self) -> str:
        """ ": 120,00 €, IVA: 21 %" of a new row that has a price."""
        facts = []
        for column in DATA[self.model]:
            if column.attribute == self.model.price_field:
                facts.append(format_euros(to_cents(self.values[column])))
            elif column.attribute == "vat":
                vat = self.values.get(column, column.field.get_default())
                facts.append(f"IVA: {column.show(vat)}")
        return f": {', '.join(facts)}" if facts else ""

    def price_changes(self) -> list[Change]:
        """Return the change of the row's price, also from nothing to its first one."""
        is_price = self.model.price_field.__eq__
        if self.pk is not None:
            return [change for change in self.changes if is_price(change.column.attribute)]
        return [
            Change(column, None, value)
            for column, value in self.values.items()
            if is_price(column.attribute)
        ]


@dataclass
class CatalogueDiff:
    """The entries of a file by model, each in the order of the file."""

    entries: dict[type[Recorded], list[Entry]]
    # The columns with cells that an import ignores.
    ignored: list[Column] = field(default_factory=list)
    teacher_names: TeacherNames = field(default_factory=TeacherNames)

    def new(self, model: type[Recorded]) -> list[Entry]:
        return [entry for entry in self.entries[model] if entry.pk is None]

    def changed(self, model: type[Recorded]) -> list[Entry]:
        return [entry for entry in self.entries[model] if entry.changes]

    def unchanged_count(self, model: type[Recorded]) -> int:
        return sum(entry.pk is not None and not entry.changes for entry in self.entries[model])

    @property
    def is_empty(self) -> bool:
        return not any(self.new(model) or self.changed(model) for model in LEVELS)

    def summary(self, *, is_done: bool = False) -> list[str]:
        """Return "Asignaturas: 3 por añadir, 1 con cambios, 130 sin cambios" for each model.

        After the import: "Asignaturas: 3 añadidas, 1 cambiada, 130 sin cambios". A line for each
        ignored column follows.
        """
        counts = [
            f"{str(model._meta.verbose_name_plural).capitalize()}: "
            f"{_counted(len(self.new(model)), 'por añadir', 'añadid', model, is_done)}, "
            f"{_counted(len(self.changed(model)), 'con cambios', 'cambiad', model, is_done)}, "
            f"{self.unchanged_count(model)} sin cambios"
            for model in LEVELS
        ]
        return counts + [
            f"La columna «{column.name}» no se importa: los logotipos se suben en la ficha de cada "
            "universidad"
            for column in self.ignored
        ]

    def details(self) -> Iterator[str]:
        """Yield a line for each new row and for each changed row with its values, from → to."""
        for model in LEVELS:
            noun = model._meta.verbose_name
            for entry in self.new(model):
                yield f"+ {noun} {entry}{entry.first_price()}"
            for entry in self.changed(model):
                yield f"~ {noun} {entry}: {'; '.join(map(str, entry.changes))}"

    def log_lines(self) -> Iterator[str]:
        """Yield the lines of the log of staff: those of `details`, the changed rows first."""
        for model in LEVELS:
            for entry in self.changed(model):
                changes = "; ".join(change.logged() for change in entry.changes)
                yield f"~ {model._meta.verbose_name} {entry}: {changes}"
        for model in LEVELS:
            for entry in self.new(model):
                yield f"+ {model._meta.verbose_name} {entry}{entry.first_price()}"

    def near_names(self) -> list[str]:
        """Return a question for each new row whose name is nearly that of another row."""
        return [
            f"{entry.model._meta.verbose_name} {entry}: ¿querías decir «{entry.near}»?"
            for model in LEVELS
            for entry in self.new(model)
            if entry.near
        ]

    def prices_to_confirm(self) -> list[str]:
        """Return a line for each price that staff confirm: 0 €, or a change by more than half."""
        return [
            f"{entry.model._meta.verbose_name} {entry}: {change}"
            for model in LEVELS
            for entry in self.entries[model]
            for change in entry.price_changes()
            if needs_confirmation(change.before, change.after)
        ]

    def changed_prices(self) -> list[tuple[Recorded, Decimal | None, Decimal]]:
        """Return the changes of prices (row, before, after). The rows have their id and name.

        A new row has no id and no price before.
        """
        found = []
        for entry in (
            entry for model in LEVELS for entry in (*self.new(model), *self.changed(model))
        ):
            for change in entry.price_changes():
                name: Any = {KEYS[entry.model].attribute: entry.path[-1]}
                row = entry.model(**name)
                row.pk = entry.pk
                found.append((row, change.before, change.after))
        return found

    def changed_teachers(self) -> list[tuple[Entry, str]]:
        """Return the subjects whose teachers change, also new ones, each with its cell."""
        found = [
            (entry, str(entry.values[TEACHERS]))
            for entry in self.new(Subject)
            if TEACHERS in entry.values
        ]
        return found + [
            (entry, str(change.after))
            for entry in self.changed(Subject)
            for change in entry.changes
            if change.column is TEACHERS
        ]

    def check_may_assign(self, user: Any) -> None:
        """Raise BadFile if the teachers of a subject change, and `user` may not change them."""
        if self.changed_teachers() and not may_assign(user):
            raise BadFile(FileError(NOT_ALLOWED, column=TEACHERS.name))

    def check_makes_no_samples(self) -> None:
        """Raise BadFile if a university becomes a sample: it would leave the shop, for good.

        No form of the admin sets the mark. Only `manage.py import_catalogue` brings it back.
        """
        for entry in (*self.new(University), *self.changed(University)):
            values = (
                entry.values if entry.pk is None else {c.column: c.after for c in entry.changes}
            )
            if values.get(SAMPLE):
                raise BadFile(FileError(SAMPLE_NOT_ALLOWED.format(entry), column=SAMPLE.name))

    def vat_changes(self) -> list[str]:
        """Return a line for each subject whose VAT changes, or that begins with an unusual one."""
        return self._vat_changes(of_degrees={})

    def _vat_changes(self, of_degrees: dict[int, str]) -> list[str]:
        """The lines of `vat_changes`, without new subjects that have the VAT of their degree."""
        usual = VAT.field.get_default()
        return [
            f"{entry}: {VAT.show(usual)} → {VAT.show(entry.values[VAT])} (nueva)"
            for entry in self.new(Subject)
            if entry.values.get(VAT, usual) not in (usual, _of_degree(entry, of_degrees))
        ] + [
            f"{entry}: {VAT.show(change.before)} → {VAT.show(change.after)}"
            for entry in self.changed(Subject)
            for change in entry.changes
            if change.column is VAT
        ]

    def check_may_change_vat(self, user: Any) -> None:
        """Raise BadFile if the VAT of a subject changes, and `user` may not change it.

        Anybody may give a new subject the VAT that all others of its degree have.
        """
        if may_change_vat(user) or not self.vat_changes():
            return
        changes = self._vat_changes(Subject.objects.all().vat_by_degree())
        if changes:
            more = f", y de {len(changes) - 1} más" if len(changes) > 1 else ""
            raise BadFile(FileError(VAT_NOT_ALLOWED.format(changes[0], more), column=VAT.name))

    def fingerprint(self) -> str:
        """Return a hash that is equal for equal differences."""
        return sha256("\n".join(self.details()).encode()).hexdigest()


def _of_degree(subject: Entry, of_degrees: dict[int, str]) -> str | None:
    degree = subject.parent
    return None if degree is None or degree.pk is None else of_degrees.get(degree.pk)


def _counted(count: int, waiting: str, done: str, model: type[Recorded], is_done: bool) -> str:
    """ "3 por añadir", or "3 añadidas" in the gender and number of the model's name."""
    if not is_done:
        return f"{count} {waiting}"
    ending = "o" if model is Degree else "a"
    return f"{count} {done}{ending}{'' if count == 1 else 's'}"


def diff_catalogue(lines: Iterable[Line], reading: Reading | None = None) -> CatalogueDiff:
    """Compare the lines of a file with the database. Raises BadFile with all errors.

    It has the seconds of the reading once more; without a reading it has no limit.
    """
    reading = reading or Reading(COMMAND)
    reading.start_clock()
    errors = FileErrors()
    entries: dict[type[Recorded], dict[Path, Entry]] = {model: {} for model in LEVELS}
    ignored: set[str] = set()
    names = TeacherNames()
    cells = _Cells(names, reading)
    for line in lines:
        reading.take_turn()
        ignored |= READ_ONLY & line.cells.keys()
        _read_line(line, entries, errors, cells)
    diff = CatalogueDiff(
        {model: list(by_path.values()) for model, by_path in entries.items()},
        [column for column in COLUMNS if column.name in ignored],
        names,
    )
    for model in LEVELS:
        rows_below = _compare_with_rows(model, diff.entries[model], reading)
        if reading.bounds is not COMMAND and model in MOST_BELOW:
            _check_rows_below(model, diff.new(model), rows_below, errors)
        if reading.bounds is not COMMAND and model in MOST_IN_ALL:
            _check_rows_in_all(model, diff.new(model), errors)
        _check_required_cells(model, diff.entries[model], errors)
        _check_names(diff.entries[model], errors)
    _compare_teachers(diff.entries[Subject], names)
    if reading.bounds is not COMMAND:
        _check_teachers(diff.changed_teachers(), names, errors)
    errors.check()
    return diff


class _Cells:
    """Reads cells. A long text is read once, however many rows name it."""

    def __init__(self, names: TeacherNames, reading: Reading) -> None:
        self._names, self._reading = names, reading
        self._long: dict[tuple[str, str], Any] = {}

    def read(self, column: Column, text: str) -> Any:
        """Return the value of a cell. Raises BadCell."""
        if len(text) < LONG_TEXT:
            return self._value(column, text)
        key = (column.name, text)
        if key not in self._long:
            # The longest cells take milliseconds each, and a file has many.
            self._reading.check_time()
            self._long[key] = self._value(column, text)
        return self._long[key]

    def _value(self, column: Column, text: str) -> Any:
        return self._names.read(text) if column is TEACHERS else column.read(text)


def _read_cells(
    line: Line, errors: FileErrors, cells: _Cells
) -> tuple[dict[Column, Any], set[Column]]:
    """Return the values of a line by column, and the columns whose cell could not be read."""
    values: dict[Column, Any] = {}
    unread: set[Column] = set()
    for column in COLUMNS:
        text = line.cells.get(column.name)
        if text and not column.read_only:
            try:
                values[column] = cells.read(column, text)
            except BadCell as error:
                errors.add(str(error), place=line.place, column=column.name)
                unread.add(column)
    return values, unread


def _read_line(
    line: Line,
    entries: dict[type[Recorded], dict[Path, Entry]],
    errors: FileErrors,
    cells: _Cells,
) -> None:
    """Add the cells of a line to its entries, from the university to the lesson."""
    values, unread = _read_cells(line, errors, cells)
    parent: Entry | None = None
    path: Path = ()
    for level, model in enumerate(LEVELS):
        key = KEYS[model]
        below = [column for column in values if LEVELS.index(column.model) >= level]
        if key not in values:
            if key.name not in line.cells and (below or level == 0):
                errors.add("Falta.", place=line.place, column=key.name)
            return
        path = (*path, values[key])
        entry = entries[model].get(path)
        if entry is None:
            entry = entries[model][path] = Entry(model, path, line.place, parent)
        elif model is LEVELS[-1]:
            errors.add(f"Repite la {entry.place}.", place=line.place, column=key.name)
        entry.unread |= unread
        _add_values(entry, values, line, errors)
        parent = entry


def _add_values(entry: Entry, values: dict[Column, Any], line: Line, errors: FileErrors) -> None:
    """Add the values of a line to an entry, and report those that an earlier line contradicts."""
    for column in DATA[entry.model]:
        if column not in values:
            continue
        if entry.values.setdefault(column, values[column]) != values[column]:
            message = f"No coincide con lo que dice antes de {entry.path[-1]}: "
            message += f"{quoted(column.show(entry.values[column]))} ({entry.place})."
            errors.add(message, place=line.place, column=column.name)


def _compare_with_rows(
    model: type[Recorded], entries: list[Entry], reading: Reading
) -> Counter[int | None]:
    """Find the row of each entry and store the differing values in `changes`.

    A new entry gets the `near` name of another row, or of a new entry before it. Returns how many
    rows each parent has.
    """
    rows_below: Counter[int | None] = Counter()
    key = KEYS[model].attribute
    exact: dict[tuple[int | None, str], dict[str, Any]] = {}
    cleaned: dict[tuple[int | None, str], dict[str, Any]] = {}
    names = NearNames()
    for parent_id, row in _rows(model, entries):
        names.add(parent_id, row[key])
        rows_below[parent_id] += 1
        exact[parent_id, row[key]] = row
        # Older names may have double spaces or decomposed accents. They still match.
        cleaned.setdefault((parent_id, clean(row[key])), row)
    for entry in entries:
        reading.take_turn()
        parent_id = entry.parent.pk if entry.parent else None
        row_found = None
        if entry.parent is None or parent_id is not None:
            place = (parent_id, entry.path[-1])
            row_found = exact.get(place) or cleaned.get(place)
        if row_found is None:
            entry.near = names.near_or_add(parent_id or entry.path[:-1] or None, entry.path[-1])
            continue
        entry.pk = row_found["pk"]
        for column, after in entry.values.items():
            if column.linked:
                continue
            before = row_found[column.attribute]
            if column.tidy(before) != after:
                entry.changes.append(Change(column, before, after))
    return rows_below


def _check_names(entries: list[Entry], errors: FileErrors) -> None:
    """Report the new names with a link: mails repeat them, also to strangers."""
    for entry in entries:
        new = {change.column: change.after for change in entry.changes}
        if entry.pk is None:
            new = {KEYS[entry.model]: entry.path[-1], **entry.values}
        for column in new:
            if column.attribute not in NAMES:
                continue
            try:
                check_words(new[column])
            except ValidationError as error:
                errors.add(error.messages[0], place=entry.place, column=column.name)


def _check_rows_below(
    model: type[Recorded], new: list[Entry], rows_below: Counter[int | None], errors: FileErrors
) -> None:
    """Report each parent that the file would give too many rows, at the first one too many."""
    added: Counter[Path] = Counter()
    for entry in new:
        added[entry.path[:-1]] += 1
        before = rows_below[entry.parent.pk if entry.parent else None]
        if entry.parent and entry.parent.pk is None:
            before = 0
        if before + added[entry.path[:-1]] == max(before, MOST_BELOW[model]) + 1:
            where = f"de {entry.parent} " if entry.parent else ""
            message = f"Con este archivo habría demasiadas filas {where}en el nivel "
            message += f"«{model._meta.verbose_name_plural}»: caben {MOST_BELOW[model]}."
            errors.add(message, place=entry.place, column=KEYS[model].name)


def _check_rows_in_all(model: type[Recorded], new: list[Entry], errors: FileErrors) -> None:
    most = MOST_IN_ALL[model]
    before = model._default_manager.count() if new else 0
    if new and before + len(new) > most:
        plural = model._meta.verbose_name_plural
        message = f"Con este archivo habría {grouped(before + len(new))} {plural}: caben "
        message += f"{grouped(most)}."
        errors.add(message, place=new[0].place, column=KEYS[model].name)


def _compare_teachers(subjects: list[Entry], names: TeacherNames) -> None:
    """Store the differing teachers of the subjects whose rows are known."""
    known = [entry for entry in subjects if entry.pk is not None and TEACHERS in entry.values]
    for first in range(0, len(known), PARENTS_AT_ONCE):
        some = known[first : first + PARENTS_AT_ONCE]
        cells = names.of_subjects(Subject.objects.filter(pk__in=[entry.pk for entry in some]))
        for entry in some:
            before, after = cells.get(entry.pk or 0, ""), entry.values[TEACHERS]
            if before != after:
                entry.changes.append(Change(TEACHERS, before, after))


def _check_teachers(
    subjects: list[tuple[Entry, str]], names: TeacherNames, errors: FileErrors
) -> None:
    """Report the first teacher to whom the file would give too many subjects."""
    changed = {entry.pk for entry, _ in subjects}
    stored = names.stored() if subjects else []
    before = Counter(teacher for _, teacher in stored)
    after = Counter(teacher for subject, teacher in stored if subject not in changed)
    for entry, cell in subjects:
        for teacher in names.ids(cell):
            after[teacher] += 1
            if after[teacher] > max(before[teacher], MOST_OF_TEACHER):
                name = quoted(names.name(teacher))
                message = f"Con este archivo {name} tendría demasiadas asignaturas propias: caben "
                message += f"{MOST_OF_TEACHER}."
                errors.add(message, place=entry.place, column=TEACHERS.name)
                return


def _rows(
    model: type[Recorded], entries: list[Entry]
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield the rows below the entries' parents, each with the id of its parent."""
    names = ["pk", KEYS[model].attribute, *(column.attribute for column in STORED[model])]
    rows = model._default_manager.order_by("pk")
    if model not in PARENTS:
        for row in rows.values(*names):
            yield None, row
        return
    link = f"{PARENTS[model]}_id"
    parents = sorted({entry.parent.pk for entry in entries if entry.parent and entry.parent.pk})
    for first in range(0, len(parents), PARENTS_AT_ONCE):
        some = parents[first : first + PARENTS_AT_ONCE]
        for row in rows.filter(**{f"{link}__in": some}).values(*names, link).iterator():
            yield row[link], row


def _check_required_cells(model: type[Recorded], entries: list[Entry], errors: FileErrors) -> None:
    """Report the required cells that the entries of new rows lack."""
    required = [column for column in DATA[model] if column.required]
    for entry in entries:
        if entry.pk is not None:
            continue
        for column in required:
            if column not in entry.values and column not in entry.unread:
                row_name = f"{model._meta.verbose_name} {quoted(entry.path[-1])}"
                errors.add(
                    f"Falta, y no existe todavía: {row_name}.",
                    place=entry.place,
                    column=column.name,
                )
