import csv
import io
import json
import re
import zipfile
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from openpyxl import Workbook, load_workbook

from academy.tests.factories import make_degree, make_subject, make_university
from apps.catalogue.exchange import reading
from apps.catalogue.exchange.apply import PlanChanged, import_lines
from apps.catalogue.exchange.columns import COLUMNS
from apps.catalogue.exchange.errors import BadFile
from apps.catalogue.exchange.plan import make_plan
from apps.catalogue.exchange.reading import read_lines
from apps.catalogue.exchange.writing import write_catalogue
from apps.catalogue.models import Degree, Lesson, PriceChange, Subject, University
from apps.catalogue.services import prices_changed_by

pytestmark = pytest.mark.django_db
FORMATS = ("catalogo.csv", "catalogo.xlsx", "catalogo.json")


def everything():
    """Every value of the catalogue but ids, to see that nothing has changed."""
    skipped = {"id", "university", "degree", "subject"}
    return [
        sorted(
            (
                tuple(getattr(row, f.name) for f in model._meta.fields if f.name not in skipped)
                for row in model.objects.all()
            ),
            key=repr,
        )
        for model in (University, Degree, Subject, Lesson, PriceChange)
    ]


def lines(text, name="catalogo.csv"):
    return read_lines(text.encode(), name)


def take_in(text):
    return import_lines(lines(text))


def faults_of(text, name="catalogo.csv"):
    with pytest.raises(BadFile) as refused:
        make_plan(read_lines(text if isinstance(text, bytes) else text.encode(), name))
    return refused.value.lines


HEAD = (
    "universidad_siglas;universidad;universidad_estado;grado;asignatura;precio;leccion;"
    "leccion_precio;leccion_estado\n"
)
MICRO = "UAP;Universidad de Prueba;Abierta;Economía;Microeconomía;192,00;PEC 1;55,00;Activa\n"


@pytest.fixture
def small():
    """One of everything, a degree without subjects and a university without degrees."""
    degree = make_degree(make_university(acronym="UNO", students_offset=-3, is_sample=True))
    make_subject("Microeconomía", "192.50", degree=degree, total_discounts=20, active=False)
    make_subject("Sin lecciones", "10.00", degree=degree, lessons=0, enrolled_offset=-7)
    Lesson.objects.filter(title="PEC 2").get().delete()
    expired = Lesson.objects.get()
    expired.status = Lesson.Status.EXPIRED
    expired.save()
    make_degree(degree.university, "Derecho")
    make_university(acronym="DOS", status=University.Status.COMING_SOON)


# ---------------------------------------------------------------- out and in again


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_exported_changes_nothing_when_it_is_imported(name, small):
    before = everything()

    plan = import_lines(read_lines(write_catalogue(name), name))

    assert plan.is_empty
    assert list(plan.details()) == []
    assert everything() == before


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_catalogue_becomes_what_was_exported(name, small):
    before = everything()
    data = write_catalogue(name)
    for model in (Lesson, Subject, Degree, University):
        model.objects.all().delete()

    import_lines(read_lines(data, name))

    # The prices have a new history: their first.
    assert everything()[:-1] == before[:-1]
    assert PriceChange.objects.filter(before=None).count() == PriceChange.objects.count() == 3


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
    @settings(max_examples=40, deadline=None)
    def test_odd_names_come_back_as_they_were(self, degree_name, subject_name, title):
        degree = Degree.objects.create(university=make_university(), name=degree_name)
        subject = make_subject(subject_name, degree=degree, lessons=0)
        Lesson.objects.create(subject=subject, title=title, price=Decimal("49.90"))
        for name in FORMATS:
            if not all(part.strip() for part in (degree_name, subject_name, title)):
                continue
            plan = make_plan(read_lines(write_catalogue(name), name))
            assert plan.is_empty, (name, list(plan.details()))


def test_no_cell_of_a_csv_is_a_formula_to_a_spreadsheet():
    degree = Degree.objects.create(university=make_university(), name='=HYPERLINK("http://x")')
    make_subject("@SUM(1)", degree=degree, lessons=1)
    make_subject("'+1", degree=degree, lessons=1)

    rows = list(
        csv.reader(io.StringIO(write_catalogue("c.csv").decode("utf-8-sig")), delimiter=";")
    )

    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert make_plan(read_lines(write_catalogue("c.csv"), "c.csv")).is_empty


def test_no_cell_of_a_sheet_is_a_formula():
    Degree.objects.create(university=make_university(), name="=1+1")

    sheet = load_workbook(io.BytesIO(write_catalogue("c.xlsx"))).active

    assert "f" not in {cell.data_type for row in sheet.iter_rows() for cell in row}


# ---------------------------------------------------------------- what is changed, and how


def test_a_file_adds_what_is_new_and_counts_it():
    plan = take_in(HEAD + MICRO + MICRO.replace("PEC 1", "PEC 2").replace("Activa", "caducada"))

    subject = Subject.objects.get()
    assert (subject.name_sort, subject.active_lessons_count) == ("microeconomia", 1)
    assert subject.university.acronym == "UAP"
    assert (subject.degree.subjects_count, subject.university.subjects_count) == (1, 1)
    assert Subject.objects.on_sale().count() == 1
    assert list(plan.details()) == [
        "+ universidad UAP",
        "+ grado UAP › Economía",
        "+ asignatura UAP › Economía › Microeconomía",
        "+ lección UAP › Economía › Microeconomía › PEC 1",
        "+ lección UAP › Economía › Microeconomía › PEC 2",
    ]


def test_a_second_time_nothing_changes():
    take_in(HEAD + MICRO)
    before = everything()

    assert take_in(HEAD + MICRO).is_empty
    assert everything() == before


def test_a_changed_price_is_kept_with_who_changed_it():
    carla = get_user_model().objects.create_user("carla")
    take_in(HEAD + MICRO)

    with prices_changed_by(carla):
        plan = take_in(HEAD + MICRO.replace("192,00", "210,50").replace("55,00", "60"))

    assert list(plan.details()) == [
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


def test_counts_follow_a_status_that_a_file_changes():
    take_in(HEAD + MICRO)

    take_in(HEAD + MICRO.replace("Activa", "Caducada"))

    assert Subject.objects.get().active_lessons_count == 0
    assert University.objects.get().subjects_count == 0


def test_a_renamed_university_is_sorted_anew():
    take_in(HEAD + MICRO)

    take_in("universidad_siglas;universidad\nUAP;Ñandú\n")

    assert University.objects.get().name_sort == "n\x7fandu"


def test_empty_cells_missing_columns_and_missing_rows_leave_things_as_they_are(small):
    before = everything()

    plan = take_in("universidad_siglas;grado;precio\nUNO;;\n")

    assert plan.is_empty
    assert everything() == before


def test_new_lessons_of_a_subject_that_exists_are_counted():
    take_in(HEAD + MICRO)

    take_in("universidad_siglas;grado;asignatura;leccion;leccion_precio\n"
            "UAP;Economía;Microeconomía;PEC 9;12\n")  # fmt: skip

    assert Subject.objects.get().active_lessons_count == 2


# ---------------------------------------------------------------- what files look like


@pytest.mark.parametrize(
    ("written", "euros"),
    [
        ("192,50", "192.50"),
        ("192.5", "192.50"),
        ("1.234,5", "1234.50"),
        ("192 €", "192.00"),
        ("192,00\u00a0€", "192.00"),
    ],
)
def test_prices_are_read_as_spaniards_and_programs_write_them(written, euros):
    take_in(HEAD + MICRO.replace("192,00", written))

    assert Subject.objects.get().final_price == Decimal(euros)


def test_titles_separators_and_the_byte_order_mark_are_taken_as_excel_writes_them():
    text = '\ufeffUniversidad siglas,Universidad,Grado\r\nUAP,"Uno, y dos\nmás",Árabe\r\n'

    take_in(text)

    assert University.objects.get().name == "Uno, y dos más"
    assert Degree.objects.get().name == "Árabe"


def test_a_sheet_that_people_have_typed_is_read():
    book = Workbook()
    book.active.append(["universidad_siglas", "universidad", "grado", "asignatura", "precio",
                        "a la venta"])  # fmt: skip
    book.active.append(["UAP", "Una", "Economía", "Micro", 49.900000000000006, False])
    file = io.BytesIO()
    book.save(file)

    import_lines(read_lines(file.getvalue(), "c.XLSX"))

    assert (Subject.objects.get().final_price, Subject.objects.get().active) == (
        Decimal("49.90"),
        False,
    )


# ---------------------------------------------------------------- what is refused


def test_everything_wrong_is_said_at_once_with_line_and_column():
    text = HEAD + (
        "UAP;Una;Abierta;Economía;Micro;doce;PEC 1;55,00;Activa\n"
        "UAP;Otra;cerrada;Economía;Micro;;PEC 1;1.234;Activa\n"
        "UAP;;;;Suelta;10;;;\n"
        "UAP;;;Economía;Macro;;PEC 1;5;\n"
    )

    assert faults_of(text) == [
        "Línea 2, columna «precio»: «doce» no es un precio. Escríbelo así: 192,50.",
        "Línea 3, columna «universidad_estado»: «cerrada» no es un estado: "
        "escribe «Abierta» o «Próximamente».",
        "Línea 3, columna «leccion_precio»: «1.234» no es un precio. Escríbelo así: 192,50.",
        "Línea 3, columna «universidad»: No coincide con lo que dice antes de UAP: "
        "«Una» (línea 2).",
        "Línea 3, columna «leccion»: Repite la línea 2.",
        "Línea 4, columna «grado»: Falta.",
        "Línea 5, columna «precio»: Falta, y no existe todavía: asignatura «Macro».",
    ]
    assert not University.objects.exists()


def test_a_line_is_named_by_where_it_begins():
    text = HEAD + MICRO.replace("Microeconomía", '"Micro\neconomía"') + MICRO.replace("55,00", "x")

    assert faults_of(text) == [
        "Línea 4, columna «leccion_precio»: «x» no es un precio. Escríbelo así: 192,50."
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "El archivo está vacío."),
        ("grado\nEconomía\n", "Falta la columna «universidad_siglas»."),
        (
            "universidad_siglas;preico\nU;1\n",
            "Columna «preico»: No conozco esta columna. ¿Querías decir «precio»?",
        ),
        ("universidad_siglas;grado;grado\n", "Columna «grado»: La columna está dos veces."),
        ("universidad_siglas\nU;x\n", "Línea 2: Hay más celdas que columnas (1)."),
        (
            'universidad_siglas\n"U\n',
            "Línea 2: No se puede leer como CSV: hay unas comillas que no se cierran.",
        ),
        (
            "universidad_siglas;universidad\nU;Econom\xeda\n".encode("cp1252"),
            f"Línea 2: {reading._NOT_UTF8}",
        ),
        ("universidad_siglas\nU\n".encode("utf-16"), f"Línea 1: {reading._NOT_UTF8}"),
    ],
)
def test_a_csv_that_cannot_be_read_is_refused_in_a_sentence(text, fault):
    assert faults_of(text) == [fault]


@pytest.mark.parametrize(
    ("column", "value", "fault"),
    [
        ("descuento", "95", "Asegúrese de que este valor es menor o igual a 90."),
        ("grado_cursos", "0", "Asegúrese de que este valor es mayor o igual a 1."),
        ("leccion_orden", "1,5", "«1,5» no es un número entero."),
        ("a_la_venta", "quizá", "«quizá» no es ni «sí» ni «no»."),
        ("precio", "-1", "«-1» no es un precio. Escríbelo así: 192,50."),
        ("ejemplo", "a\0", "«a\0» no es ni «sí» ni «no»."),
        ("universidad", "a\0b", "Contiene un carácter nulo."),
    ],
)
def test_values_are_checked_as_the_admin_checks_them(column, value, fault):
    item = {"universidad_siglas": "U", "universidad": "Una", "grado": "G", "asignatura": "A",
            "precio": "1", "leccion": "L", "leccion_precio": "1", column: value}  # fmt: skip

    (found,) = faults_of(json.dumps([item]), "c.json")

    assert found == f"Elemento 1, columna «{column}»: {fault}"


@pytest.mark.parametrize("text", ["{}", "[1]", "[" * 5000, "x", '[{"universidad_siglas": []}]'])
def test_json_of_another_shape_is_refused(text):
    assert len(faults_of(text, "c.json")) == 1


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"universidad_siglas\n"])
def test_a_file_that_is_no_sheet_is_refused(data):
    assert faults_of(data, "c.xlsx") == [
        "No se puede leer como hoja de Excel .xlsx: está protegido con contraseña o es de otro "
        "tipo, como .xls; guárdalo como .xlsx."
    ]


def zipped(**parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def cut_in_the_middle():
    """A sheet that a bad line has damaged: its table of contents is there, a part is not."""
    whole = bytearray(write_catalogue("c.xlsx"))
    start = whole.index(b"xl/worksheets/sheet1.xml") + 40
    whole[start : start + 200] = b"\xff" * 200
    return bytes(whole)


def test_a_damaged_sheet_is_refused_in_spanish():
    make_subject(lessons=3)
    for data in (zipped(a="b"), cut_in_the_middle()):
        (fault,) = faults_of(data, "c.xlsx")
        assert re.fullmatch(
            r"No se puede leer como hoja de Excel \.xlsx: "
            r"(le falta una parte o está dañada|el archivo está dañado o incompleto)\.",
            fault,
        )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('universidad_siglas\n"U"x\n', "detrás de unas comillas que se cierran tiene que"),
        (f"universidad_siglas\n{'U' * 140_000}\n", "una celda es demasiado larga"),
    ],
)
def test_what_the_csv_reader_says_is_said_in_spanish(text, reason):
    (fault,) = faults_of(text)
    assert fault.startswith(f"Línea 2: No se puede leer como CSV: {reason}")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[\n{]", "Línea 2: No es JSON: falta el nombre de una columna entre comillas dobles."),
        ('[{"universidad_siglas" 1}]', "Línea 1: No es JSON: faltan los dos puntos."),
        ('[{"universidad_siglas": }]', "Línea 1: No es JSON: falta un valor."),
        ('[{"universidad_siglas": 1} {}]', "Línea 1: No es JSON: falta una coma o un cierre."),
        ("[]x", "Línea 1: No es JSON: hay algo más detrás del final."),
        ('["a', "Línea 1: No es JSON: hay un texto cuyas comillas no se cierran."),
        ('["a\n"]', "Línea 1: No es JSON: hay un salto de línea o tabulador dentro de un texto."),
        ('["\\q"]', "Línea 1: No es JSON: hay una barra invertida «\\» mal puesta."),
    ],
)
def test_what_the_json_reader_says_is_said_in_spanish(text, fault):
    assert faults_of(text, "c.json") == [fault]


def test_a_file_that_cannot_be_opened_is_named_in_spanish(tmp_path):
    missing = tmp_path / "no.csv"
    with pytest.raises(CommandError, match=rf"^No se ha importado nada\.\nNo existe: {missing}$"):
        call_command("import_catalogue", missing)
    folder = tmp_path / "carpeta.csv"
    folder.mkdir()
    with pytest.raises(CommandError, match=f"^Es una carpeta: {folder}$"):
        call_command("export_catalogue", folder)


def test_a_sheet_that_unpacks_to_too_much_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(reading, "MOST_UNPACKED_BYTES", 1000)

    assert faults_of(write_catalogue("c.xlsx"), "c.xlsx") == [
        "El archivo es demasiado grande una vez descomprimido."
    ]


def test_a_sheet_with_rows_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "MOST_LINES", 10)
    book = Workbook()
    book.active["A1"] = "universidad_siglas"
    book.active["A5000"] = "U"
    file = io.BytesIO()
    book.save(file)

    assert faults_of(file.getvalue(), "c.xlsx") == ["La hoja tiene más de 10 filas."]


def test_a_long_list_of_errors_is_cut():
    found = faults_of(HEAD + "".join(f"U{n};\n" for n in range(70)))

    assert len(found) == 51
    assert found[-1] == "… y 20 errores más."


def test_a_file_of_another_kind_is_refused():
    assert faults_of(b"", "c.xls") == ["El archivo debe ser .csv, .xlsx o .json."]


# ---------------------------------------------------------------- all or nothing


def test_nothing_is_changed_when_it_breaks_off_in_the_middle(small):
    before = everything()

    def break_off(count):
        if Subject.objects.filter(name="Microeconomía", degree__name="Economía").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_lines(lines(HEAD + MICRO), on_progress=break_off)

    assert everything() == before


def test_a_plan_that_is_no_longer_true_is_not_carried_out():
    looked_at = make_plan(lines(HEAD + MICRO)).fingerprint()
    take_in(HEAD + MICRO.replace("192,00", "100"))
    before = everything()

    with pytest.raises(PlanChanged):
        import_lines(lines(HEAD + MICRO), expected=looked_at)

    assert everything() == before


# ---------------------------------------------------------------- the commands


def test_the_commands_export_try_and_import(tmp_path, capsys, small):
    get_user_model().objects.create_user("carla")
    file = tmp_path / "c.csv"
    call_command("export_catalogue", file)
    assert capsys.readouterr().out == f"{file}: 2 asignaturas.\n"
    file.write_text(file.read_text("utf-8").replace("192,50", "200"), "utf-8")
    before = everything()

    call_command("import_catalogue", file, "--dry-run")
    tried = capsys.readouterr()
    assert everything() == before
    assert tried.err == ""  # no bar where there is no terminal
    assert "Microeconomía: precio: 192,50 → 200\nCambiaría:\n" in tried.out
    assert "Asignaturas: 0 por añadir, 1 con cambios, 1 sin cambios\n" in tried.out

    call_command("import_catalogue", file, "--user", "carla")
    assert Subject.objects.get(name="Microeconomía").final_price == 200
    assert PriceChange.objects.latest("pk").changed_by.username == "carla"


def test_the_command_names_every_error_and_changes_nothing(tmp_path):
    file = tmp_path / "c.csv"
    file.write_text(HEAD + MICRO.replace("192,00", "x"), "utf-8")

    with pytest.raises(CommandError, match=r"No se ha importado nada\.\nLínea 2, columna «precio»"):
        call_command("import_catalogue", file)
    with pytest.raises(CommandError, match="No hay ninguna cuenta «nadie»"):
        call_command("import_catalogue", file, "--user", "nadie")
    with pytest.raises(CommandError):
        call_command("import_catalogue", tmp_path / "fehlt.csv")

    assert not University.objects.exists()


def test_every_column_of_the_layout_is_written():
    make_subject(lessons=1)

    (item,) = json.loads(write_catalogue("c.json"))

    assert set(item) == {column.name for column in COLUMNS}
