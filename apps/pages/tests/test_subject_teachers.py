"""The column of teachers in the import and export of the catalogue."""

import io

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from openpyxl import load_workbook

from apps.catalogue.exchange import diff
from apps.catalogue.exchange.apply import import_lines
from apps.catalogue.exchange.diff import diff_catalogue
from apps.catalogue.exchange.file_errors import BadFile
from apps.catalogue.exchange.reading import read_lines
from apps.catalogue.exchange.teachers import NOT_ALLOWED
from apps.catalogue.exchange.uploads import State, read_upload, store_upload
from apps.catalogue.exchange.writing import write_catalogue, write_template
from apps.catalogue.models import Subject
from apps.catalogue.services import prices_changed_by
from apps.pages.models import TeamMember
from apps.pages.subject_teachers import TEACHER_TABLE
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db
FORMATS = ("catalogo.csv", "catalogo.xlsx", "catalogo.json")


def teacher(name, *subjects):
    row = TeamMember.objects.create(name=name, degree="Economía")
    row.subjects.set(subjects)
    return row


@pytest.fixture
def micro():
    return make_subject("Microeconomía", lessons=1)


@pytest.fixture
def lucia(micro):
    return teacher("Lucía Martín", micro)


@pytest.fixture
def hugo():
    return teacher("Hugo Sanz")


def naming(cell, subject="Microeconomía"):
    """The lines of a file in which this subject, perhaps a new one, has these teachers."""
    degree = Subject.objects.first().degree
    text = f'"{degree.university.acronym}";"{degree.name}";"{subject}";"10";"{cell}"\n'
    head = "universidad_siglas;grado;asignatura;descuento;profesores\n"
    if not Subject.objects.filter(name=subject).exists():
        head, text = head.replace("descuento", "precio"), text
    return read_lines((head + text).encode(), "catalogo.csv")


def names_of(subject):
    return [row.name for row in subject.teachers.all()]


@pytest.mark.parametrize("name", FORMATS)
def test_importing_an_export_keeps_the_teachers(name, micro, lucia):
    twice = [teacher("Ana Gil", micro), teacher("Ana  Gil")]
    odd = teacher("Gil, María", micro)
    data = write_catalogue(name)
    assert diff_catalogue(read_lines(data, name)).is_empty

    micro.teachers.clear()
    import_lines(read_lines(data, name))

    assert list(micro.teachers.all()) == [lucia, twice[0], odd]


@pytest.mark.parametrize("cell", ["Hugo Sanz,  Lucía Martín", "Lucía Martín;Hugo Sanz\n"])
def test_import_gives_a_subject_the_named_teachers(cell, micro, lucia, hugo):
    diff = import_lines(naming(cell))

    [line] = diff.details()
    assert line.endswith("descuento: 0 → 10; profesores: Lucía Martín → Lucía Martín, Hugo Sanz")
    assert names_of(micro) == ["Lucía Martín", "Hugo Sanz"]
    assert import_lines(naming(cell)).is_empty


def test_import_takes_the_subject_away_from_other_teachers_only(micro, lucia, hugo):
    lucia.subjects.add(make_subject("Álgebra", degree=micro.degree))

    import_lines(naming("Hugo Sanz"))

    assert names_of(micro) == ["Hugo Sanz"]
    assert [row.name for row in lucia.subjects.all()] == ["Álgebra"]


def test_new_subject_gets_its_teachers(micro, lucia, hugo):
    diff = import_lines(naming("Hugo Sanz", "Macroeconomía"), is_confirmed=True)

    assert names_of(Subject.objects.get(name="Macroeconomía")) == ["Hugo Sanz"]
    assert names_of(micro) == ["Lucía Martín"]
    assert len(diff.new(Subject)) == 1


def test_empty_cell_keeps_the_teachers(micro, lucia):
    import_lines(naming(""))

    assert names_of(micro) == ["Lucía Martín"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("Lucia Martin", "No hay ningún profesor «Lucia Martin». ¿Querías decir «Lucía Martín»?"),
        ("Lucía Martín, Luis Mora", "ningún profesor «Luis Mora». Añádelo antes en «Profesores»."),
        (" , ", "No dice ningún nombre."),
    ],
)
def test_unknown_teacher_is_an_error_and_is_never_added(cell, said, micro, lucia):
    with pytest.raises(BadFile) as refused:
        import_lines(naming(cell))

    [line] = refused.value.lines
    assert line.startswith("Línea 2, columna «profesores»: ")
    assert line.endswith(said)
    assert names_of(micro) == ["Lucía Martín"]
    assert TeamMember.objects.count() == 1


def test_name_of_two_teachers_is_asked_about(micro, hugo):
    other = teacher("Hugo Sanz")

    with pytest.raises(BadFile, match=rf"escribe «Hugo Sanz \({hugo.pk}\)» o «Hugo Sanz"):
        import_lines(naming("Hugo Sanz"))

    import_lines(naming(f"Hugo Sanz ({other.pk})"))
    assert list(micro.teachers.all()) == [other]


@pytest.fixture
def dora():
    """She may import, and not change teachers."""
    return get_user_model().objects.create_user("dora", is_staff=True)


def read(csv, by):
    upload = store_upload(by=by, name="c.csv", content=csv)
    read_upload.call(upload_id=upload.pk)
    upload.refresh_from_db()
    return upload


def test_only_staff_who_may_change_teachers_import_their_subjects(micro, lucia, hugo, dora):
    csv = write_catalogue("c.csv").replace("Lucía Martín".encode(), b"Hugo Sanz")

    refused = read(csv, dora)
    assert (refused.state, refused.result["errors"]) == (
        State.REFUSED,
        [f"Columna «profesores»: {NOT_ALLOWED}"],
    )
    with pytest.raises(BadFile, match=NOT_ALLOWED), prices_changed_by(dora):
        import_lines(read_lines(csv, "c.csv"))
    assert names_of(micro) == ["Lucía Martín"]

    app, codename = TEACHER_TABLE.permission.split(".")
    dora.user_permissions.add(
        Permission.objects.get(content_type__app_label=app, codename=codename)
    )
    dora = get_user_model().objects.get(pk=dora.pk)  # Its permissions are kept once they are read.
    assert read(csv, dora).state == State.READ
    with prices_changed_by(dora):
        import_lines(read_lines(csv, "c.csv"))
    assert names_of(micro) == ["Hugo Sanz"]


def test_staff_who_may_not_change_teachers_import_a_file_that_keeps_them(micro, lucia, dora):
    assert read(write_catalogue("c.csv"), dora).state == State.READ


def test_file_of_staff_gives_a_teacher_so_many_subjects(micro, lucia, hugo, dora, monkeypatch):
    """A hundred teachers in each of 50,000 rows took 2.3 GB."""
    monkeypatch.setattr(diff, "MOST_OF_TEACHER", 1)
    dora.is_superuser = True
    dora.save()
    degree = micro.degree
    rows = "".join(
        f"{degree.university.acronym};{degree.name};{name};10;{cell}\n"
        for name, cell in (("Macro", "Hugo Sanz"), ("Lengua", "Lucía Martín"))
    )
    head = "universidad_siglas;grado;asignatura;precio;profesores\n"
    refused = read((head + rows).encode(), dora)
    assert refused.state == State.REFUSED
    assert [error.partition(": ")[2] for error in refused.result["errors"]] == [
        "Con este archivo «Lucía Martín» tendría demasiadas asignaturas propias: caben 1."
    ]
    assert read((head + rows).replace("Lucía Martín", "").encode(), dora).state == State.READ
    # The command has no such bound, and a teacher who has more keeps them.
    import_lines(read_lines((head + rows).encode(), "c.csv"))
    assert lucia.subjects.count() == 2
    kept = head.replace("precio", "descuento") + rows.replace("Hugo Sanz", "Lucía Martín")
    more = kept.splitlines()[0] + "\n" + kept.splitlines()[2].replace("Martín", "Martín, Hugo Sanz")
    assert read(more.encode(), dora).result["errors"][0].count("«Hugo Sanz»") == 1


def test_template_explains_the_column():
    book = load_workbook(io.BytesIO(write_template()))
    assert "profesores" in [cell.value for cell in book["Catálogo"][1]]
    [row] = [row for row in book["Columnas"].values if row[0] == "profesores"]
    assert row[1] == "asignatura"
    assert "Tienen que estar ya en «Profesores»" in row[3]
