"""Export and import: round trip, changes, rollback and commands."""

import csv
import io
import json
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from openpyxl import load_workbook

from apps.catalogue.exchange import near_names, writing
from apps.catalogue.exchange.apply import CatalogueHasChanged, import_lines
from apps.catalogue.exchange.columns import COLUMNS
from apps.catalogue.exchange.diff import diff_catalogue
from apps.catalogue.exchange.reading import read_lines
from apps.catalogue.exchange.writing import write_catalogue
from apps.catalogue.models import Degree, Lesson, PriceChange, Subject, University
from apps.catalogue.services import prices_changed_by
from apps.catalogue.tests.exchange_helpers import (
    HEAD,
    MICRO,
    errors_of,
    import_text,
    lines_of,
    snapshot,
)
from tests.helpers.factories import make_degree, make_subject, make_university
from tests.helpers.properties import given

pytestmark = pytest.mark.django_db
FORMATS = ("catalogo.csv", "catalogo.xlsx", "catalogo.json")


@pytest.fixture
def small():
    """One row of each kind, a degree without subjects and a university without degrees."""
    degree = make_degree(make_university(acronym="UNO", students_offset=-3, is_sample=True))
    make_subject("Microeconomía", "192.50", degree=degree, total_discounts=20, active=False)
    make_subject("Sin lecciones", "10.00", degree=degree, lessons=0, enrolled_offset=-7)
    Lesson.objects.filter(title="PEC 2").get().delete()
    expired = Lesson.objects.get()
    expired.status = Lesson.Status.EXPIRED
    expired.syllabus = "Unidad 1. Oferta\n- El precio; la renta\n- «=1+1»"
    expired.save()
    Subject.objects.filter(pk=expired.subject_id).update(
        semester="first", code="65011027", language="es", hours=18,
        exam_on="2027-01-20", questions="¿Pide mucho?\nLo justo.\n\n¿Y fácil?\nSí.",
        pecs_content="=Teoría\n\ny práctica",
    )  # fmt: skip
    make_degree(degree.university, "Derecho")
    make_university(acronym="DOS", status=University.Status.COMING_SOON)


# ---------------------------------------------------------------- round trip


@pytest.mark.parametrize("name", FORMATS)
def test_importing_an_export_changes_nothing(name, small):
    before = snapshot()

    diff = import_lines(read_lines(write_catalogue(name), name))

    assert diff.is_empty
    assert list(diff.details()) == []
    assert snapshot() == before


@pytest.mark.parametrize("name", FORMATS)
def test_import_into_an_empty_catalogue_restores_the_export(name, small):
    before = snapshot()
    data = write_catalogue(name)
    for model in (Lesson, Subject, Degree, University):
        model.objects.all().delete()

    import_lines(read_lines(data, name))

    # The price history starts anew with the first prices.
    assert snapshot()[:-1] == before[:-1]
    assert PriceChange.objects.filter(before=None).count() == PriceChange.objects.count() == 3


@pytest.mark.parametrize("at_once", [1, 2])
def test_export_is_the_same_however_many_lines_are_read_at_once(at_once, small, monkeypatch):
    whole, subjects = write_catalogue("c.json"), []
    monkeypatch.setattr(writing, "LINES_AT_ONCE", at_once)
    assert write_catalogue("c.json", subjects.append) == whole
    assert sum(subjects) == Subject.objects.count()


ODD = st.text(
    st.one_of(
        st.sampled_from("=+-@'\";,\t\n\r áéñÑ€ü–«»\u0301\u00a0\u2028\ufeff_x000D_#N/A&<>%"),
        st.characters(exclude_categories=("Cs", "Cc", "Cn")),
    ),
    min_size=1,
    max_size=30,
)


class OddNames(TestCase):
    @given(ODD, ODD, ODD)
    @settings(max_examples=20)
    def test_unusual_names_survive_export_and_import(self, degree_name, subject_name, title):
        degree = Degree.objects.create(university=make_university(), name=degree_name)
        subject = make_subject(subject_name, degree=degree, lessons=0)
        Lesson.objects.create(subject=subject, title=title, price=Decimal("49.90"))
        for name in FORMATS:
            if not all(part.strip() for part in (degree_name, subject_name, title)):
                continue
            diff = diff_catalogue(read_lines(write_catalogue(name), name))
            assert diff.is_empty, (name, list(diff.details()))


def test_csv_cells_are_never_formulas():
    degree = Degree.objects.create(university=make_university(), name='=HYPERLINK("http://x")')
    make_subject("@SUM(1)", degree=degree, lessons=1)
    make_subject("'+1", degree=degree, lessons=1)

    rows = list(
        csv.reader(io.StringIO(write_catalogue("c.csv").decode("utf-8-sig")), delimiter=";")
    )

    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert diff_catalogue(read_lines(write_catalogue("c.csv"), "c.csv")).is_empty


def test_xlsx_cells_are_never_formulas():
    Degree.objects.create(university=make_university(), name="=1+1")

    sheet = load_workbook(io.BytesIO(write_catalogue("c.xlsx"))).active

    assert "f" not in {cell.data_type for row in sheet.iter_rows() for cell in row}


# ---------------------------------------------------------------- changes


def test_import_adds_new_rows_and_refreshes_counts():
    diff = import_text(HEAD + MICRO + MICRO.replace("PEC 1", "PEC 2").replace("Activa", "caducada"))

    subject = Subject.objects.get()
    assert (subject.name_sort, subject.active_lessons_count) == ("microeconomia", 1)
    assert subject.university.acronym == "UAP"
    assert (subject.degree.subjects_count, subject.university.subjects_count) == (1, 1)
    assert Subject.objects.on_sale().count() == 1
    assert list(diff.details()) == [
        "+ universidad UAP",
        "+ grado UAP › Economía",
        "+ asignatura UAP › Economía › Microeconomía: 192,00\xa0€, IVA: 21 %",
        "+ lección UAP › Economía › Microeconomía › PEC 1: 55,00\xa0€",
        "+ lección UAP › Economía › Microeconomía › PEC 2: 55,00\xa0€",
    ]
    assert diff.summary(is_done=True)[1:] == [
        "Grados: 1 añadido, 0 cambiados, 0 sin cambios",
        "Asignaturas: 1 añadida, 0 cambiadas, 0 sin cambios",
        "Lecciones: 2 añadidas, 0 cambiadas, 0 sin cambios",
    ]


def test_importing_a_file_twice_changes_nothing():
    import_text(HEAD + MICRO)
    before = snapshot()

    assert import_text(HEAD + MICRO).is_empty
    assert snapshot() == before


def test_import_records_price_changes_with_the_user():
    carla = get_user_model().objects.create_user("carla")
    import_text(HEAD + MICRO)

    with prices_changed_by(carla):
        diff = import_text(HEAD + MICRO.replace("192,00", "210,50").replace("55,00", "60"))

    assert list(diff.details()) == [
        "~ asignatura UAP › Economía › Microeconomía: precio: 192,00 → 210,50",
        "~ lección UAP › Economía › Microeconomía › PEC 1: leccion_precio: 55,00 → 60",
    ]
    changes = PriceChange.objects.exclude(before=None).order_by("pk")
    assert [(c.before, c.after, c.changed_by) for c in changes] == [
        (Decimal("192.00"), Decimal("210.50"), carla),
        (Decimal("55.00"), Decimal("60.00"), carla),
    ]
    assert (Subject.objects.get().final_price, Lesson.objects.get().price) == (
        Decimal("210.50"),
        Decimal("60.00"),
    )


def test_imported_status_change_refreshes_counts():
    import_text(HEAD + MICRO)

    import_text(HEAD + MICRO.replace("Activa", "Caducada"))

    assert Subject.objects.get().active_lessons_count == 0
    assert University.objects.get().subjects_count == 0


def test_imported_university_name_updates_its_sort_form():
    import_text(HEAD + MICRO)

    import_text("universidad_siglas;universidad\nUAP;Ñandú\n")

    assert University.objects.get().name_sort == "n\x7fandu"


def test_empty_cells_absent_columns_and_absent_rows_change_nothing(small):
    before = snapshot()

    diff = import_text("universidad_siglas;grado;precio\nUNO;;\n")

    assert diff.is_empty
    assert snapshot() == before


def test_new_lessons_of_an_existing_subject_are_counted():
    import_text(HEAD + MICRO)

    import_text("universidad_siglas;grado;asignatura;leccion;leccion_precio\n"
            "UAP;Economía;Microeconomía;PEC 9;12\n")  # fmt: skip

    assert Subject.objects.get().active_lessons_count == 2


# ---------------------------------------------------------------- rollback


def test_failed_import_rolls_back(small):
    before = snapshot()

    def interrupt(count):
        if Subject.objects.filter(name="Microeconomía", degree__name="Economía").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_lines(lines_of(HEAD + MICRO), on_progress=interrupt)

    assert snapshot() == before


def test_outdated_diff_is_not_applied():
    previewed = diff_catalogue(lines_of(HEAD + MICRO)).fingerprint()
    import_text(HEAD + MICRO.replace("192,00", "100"))
    before = snapshot()

    with pytest.raises(CatalogueHasChanged):
        import_lines(lines_of(HEAD + MICRO), expected=previewed)

    assert snapshot() == before


# ---------------------------------------------------------------- commands


def test_commands_export_preview_and_import(tmp_path, capsys, small):
    get_user_model().objects.create_user("carla")
    file = tmp_path / "c.csv"
    call_command("export_catalogue", file)
    assert capsys.readouterr().out == f"{file}: 2 asignaturas.\n"
    file.write_text(file.read_text("utf-8").replace("192,50", "200"), "utf-8")
    before = snapshot()

    call_command("import_catalogue", file, "--dry-run")
    tried = capsys.readouterr()
    assert snapshot() == before
    assert tried.err == ""  # no progress bar without a terminal
    assert "Microeconomía: precio: 192,50 → 200\nCambiaría:\n" in tried.out
    assert "Asignaturas: 0 por añadir, 1 con cambios, 1 sin cambios\n" in tried.out

    call_command("import_catalogue", file, "--user", "carla")
    assert Subject.objects.get(name="Microeconomía").final_price == 200
    assert PriceChange.objects.latest("pk").changed_by.username == "carla"


def test_import_command_lists_errors_and_changes_nothing(tmp_path):
    file = tmp_path / "c.csv"
    file.write_text(HEAD + MICRO.replace("192,00", "x"), "utf-8")

    with pytest.raises(CommandError, match=r"No se ha importado nada\.\nLínea 2, columna «precio»"):
        call_command("import_catalogue", file)
    with pytest.raises(CommandError, match="No hay ninguna cuenta «nadie»"):
        call_command("import_catalogue", file, "--user", "nadie")
    with pytest.raises(CommandError):
        call_command("import_catalogue", tmp_path / "fehlt.csv")

    assert not University.objects.exists()


def test_export_has_every_column():
    make_subject(lessons=1)

    (item,) = json.loads(write_catalogue("c.json"))

    assert set(item) == {column.name for column in COLUMNS}


NEAR = [
    ("Estadística I", "Estadistica I", True),
    ("Estadística I", "Estadística II", False),
    ("Historia de la Filosofía", "Historia de Filosofía", True),
    ("Historia de la Filosofía", "Historia de la Filosofia.", True),
    ("Historia de la Filosofía", "Historia de la Folisofía", True),
    ("Derecho Civil", "Derecho Penal", False),
    ("Arte", "Arta", True),
    ("Ética", "Óptica", False),
]


@pytest.mark.parametrize(("stored", "new", "is_near"), NEAR)
def test_import_asks_about_a_name_that_is_nearly_that_of_another_row(stored, new, is_near):
    import_text(HEAD + MICRO.replace("Microeconomía", stored))
    diff = diff_catalogue(lines_of(HEAD + MICRO.replace("Microeconomía", new)))
    assert any(f"¿querías decir «{stored}»?" in line for line in diff.near_names()) is is_near


def test_import_compares_new_names_with_each_other_but_not_across_degrees():
    line = "UAP;Universidad de Prueba;Abierta;{};{};192,00;PEC {};55,00;Activa\n"
    rows = [("Economía", "Sociología", 1), ("Economía", "Sociologia", 1), ("Arte", "Sociologia", 1)]
    diff = diff_catalogue(lines_of(HEAD + "".join(line.format(*row) for row in rows)))
    assert diff.near_names() == [
        "asignatura UAP › Economía › Sociologia: ¿querías decir «Sociología»?"
    ]


def test_comparison_of_names_ends_at_its_bound(monkeypatch):
    monkeypatch.setattr(near_names, "MOST_PAIRS", 1)
    names = near_names.NearNames()
    for name in ("Sociología", "Psicología"):
        names.add(1, name)
    # Two pairs would be compared. Equal letters take no comparison.
    assert names.near_or_add(1, "Sociologhia") == ""
    assert names.near_or_add(1, "Sociologia") == "Sociología"


@pytest.mark.parametrize(
    ("cell", "vat"),
    [("21 %", "general"), ("10", "reduced"), ("0.04", "super_reduced"), ("exenta", "exempt")],
)
def test_import_reads_the_vat_of_a_subject(cell, vat):
    head = HEAD.replace("asignatura;", "asignatura;iva;")
    import_text(head + MICRO.replace("192,00;", f"{cell};192,00;"))
    assert Subject.objects.get().vat == vat


@pytest.mark.parametrize("cell", ["2027-01-20", "20/1/2027", "2027-01-20 00:00:00"])
def test_import_reads_the_day_of_an_exam(cell):
    head = HEAD.replace("asignatura;", "asignatura;examen;codigo;")
    import_text(head + MICRO.replace("192,00;", f"{cell}; ab-1 ;192,00;"))
    subject = Subject.objects.get()
    assert (f"{subject.exam_on}", subject.code) == ("2027-01-20", "AB-1")


@pytest.mark.parametrize(
    "cell", ["2027-13-01", "31/02/2027", "enero", "20/01/27", "2027-01-20 10:00"]
)
def test_import_refuses_what_is_no_day(cell):
    head = HEAD.replace("asignatura;", "asignatura;examen;")
    [error] = errors_of(head + MICRO.replace("192,00;", f"{cell};192,00;"))
    assert "fecha" in error


def test_import_refuses_an_unknown_vat():
    head = HEAD.replace("asignatura;", "asignatura;iva;")
    (error,) = errors_of(head + MICRO.replace("192,00;", "7 %;192,00;"))
    assert "«7 %» no vale aquí: escribe «21 %» o «10 %»" in error
