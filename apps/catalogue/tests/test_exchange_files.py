"""Which files an import reads, and with which errors it refuses others."""

import io
import json
import re
import tracemalloc
import zipfile
from dataclasses import replace
from decimal import Decimal
from time import process_time

import pytest
from django.core.management import CommandError, call_command
from openpyxl import Workbook

from apps.catalogue.exchange import bounds, reading
from apps.catalogue.exchange.apply import import_lines
from apps.catalogue.exchange.bounds import UPLOAD, Reading
from apps.catalogue.exchange.columns import BY_NAME, COLUMNS, Column
from apps.catalogue.exchange.diff import diff_catalogue
from apps.catalogue.exchange.file_errors import BadFile
from apps.catalogue.exchange.near_names import NearNames
from apps.catalogue.exchange.reading import LONGEST_CELL, Line, read_lines
from apps.catalogue.exchange.writing import write_catalogue
from apps.catalogue.models import Degree, Subject, University
from apps.catalogue.tests.exchange_helpers import HEAD, MICRO, errors_of, import_text
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db


# ---------------------------------------------------------------- accepted files


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
def test_prices_are_read_with_decimal_comma_or_point(written, euros):
    import_text(HEAD + MICRO.replace("192,00", written))

    assert Subject.objects.get().final_price == Decimal(euros)


def test_csv_of_excel_is_read_with_its_titles_separators_and_byte_order_mark():
    text = '\ufeffUniversidad siglas,Universidad,Grado\r\nUAP,"Uno, y dos\nmás",Árabe\r\n'

    import_text(text)

    assert University.objects.get().name == "Uno, y dos más"
    assert Degree.objects.get().name == "Árabe"


def test_hand_typed_sheet_is_read():
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


# ---------------------------------------------------------------- refused files


def test_all_errors_are_reported_at_once_with_line_and_column():
    text = HEAD + (
        "UAP;Una;Abierta;Economía;Micro;doce;PEC 1;55,00;Activa\n"
        "UAP;Otra;cerrada;Economía;Micro;;PEC 1;1.234;Activa\n"
        "UAP;;;;Suelta;10;;;\n"
        "UAP;;;Economía;Macro;;PEC 1;5;\n"
    )

    assert errors_of(text) == [
        "Línea 2, columna «precio»: «doce» no es un precio. Escríbelo así: 192,50.",
        "Línea 3, columna «universidad_estado»: «cerrada» no vale aquí: "
        "escribe «Abierta» o «Próximamente».",
        "Línea 3, columna «leccion_precio»: «1.234» no es un precio. Escríbelo así: 192,50.",
        "Línea 3, columna «universidad»: No coincide con lo que dice antes de UAP: "
        "«Una» (línea 2).",
        "Línea 3, columna «leccion»: Repite la línea 2.",
        "Línea 4, columna «grado»: Falta.",
        "Línea 5, columna «precio»: Falta, y no existe todavía: asignatura «Macro».",
    ]
    assert not University.objects.exists()


def test_error_names_the_line_in_which_the_row_begins():
    text = HEAD + MICRO.replace("Microeconomía", '"Micro\neconomía"') + MICRO.replace("55,00", "x")

    assert errors_of(text) == [
        "Línea 4, columna «leccion_precio»: «x» no es un precio. Escríbelo así: 192,50."
    ]


@pytest.mark.parametrize(
    ("text", "error"),
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
def test_unreadable_csv_is_refused_with_a_sentence(text, error):
    assert errors_of(text) == [error]


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        ("descuento", "95", "Asegúrese de que este valor es menor o igual a 90."),
        ("grado_cursos", "0", "Asegúrese de que este valor es mayor o igual a 1."),
        ("leccion_orden", "1,5", "«1,5» no es un número entero."),
        ("a_la_venta", "quizá", "«quizá» no es ni «sí» ni «no»."),
        ("precio", "-1", "«-1» no es un precio. Escríbelo así: 192,50."),
        (
            "preguntas",
            "x" * 4001,
            "Asegúrese de que este valor tenga menos de 4000 caracteres (tiene 4001).",
        ),
        ("ejemplo", "a\0", "Tiene un carácter que no se puede guardar."),
        ("universidad", "a\0b", "Tiene un carácter que no se puede guardar."),
    ],
)
def test_values_are_validated_as_in_the_admin(column, value, error):
    item = {"universidad_siglas": "U", "universidad": "Una", "grado": "G", "asignatura": "A",
            "precio": "1", "leccion": "L", "leccion_precio": "1", column: value}  # fmt: skip

    (found,) = errors_of(json.dumps([item]), "c.json")

    assert found == f"Elemento 1, columna «{column}»: {error}"


@pytest.mark.parametrize("text", ["{}", "[1]", "[" * 5000, "x", '[{"universidad_siglas": []}]'])
def test_json_of_another_shape_is_refused(text):
    assert len(errors_of(text, "c.json")) == 1


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"universidad_siglas\n"])
def test_file_that_is_not_xlsx_is_refused(data):
    assert errors_of(data, "c.xlsx") == [
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
    """Return an .xlsx whose zip directory is intact, but one of whose parts is damaged."""
    whole = bytearray(write_catalogue("c.xlsx"))
    start = whole.index(b"xl/worksheets/sheet1.xml") + 40
    whole[start : start + 200] = b"\xff" * 200
    return bytes(whole)


def test_damaged_sheet_is_refused_in_spanish():
    make_subject(lessons=3)
    for data in (zipped(a="b"), cut_in_the_middle()):
        (error,) = errors_of(data, "c.xlsx")
        assert re.fullmatch(
            r"No se puede leer como hoja de Excel \.xlsx: "
            r"(le falta una parte o está dañada|el archivo está dañado o incompleto)\.",
            error,
        )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('universidad_siglas\n"U"x\n', "detrás de unas comillas que se cierran tiene que"),
        (f"universidad_siglas\n{'U' * 140_000}\n", "una celda es demasiado larga"),
    ],
)
def test_csv_reader_errors_are_translated(text, reason):
    (error,) = errors_of(text)
    assert error.startswith(f"Línea 2: No se puede leer como CSV: {reason}")


@pytest.mark.parametrize(
    ("text", "error"),
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
def test_json_reader_errors_are_translated(text, error):
    assert errors_of(text, "c.json") == [error]


def test_unopenable_file_is_reported_in_spanish(tmp_path):
    missing = tmp_path / "no.csv"
    with pytest.raises(CommandError, match=rf"^No se ha importado nada\.\nNo existe: {missing}$"):
        call_command("import_catalogue", missing)
    folder = tmp_path / "carpeta.csv"
    folder.mkdir()
    with pytest.raises(CommandError, match=f"^Es una carpeta: {folder}$"):
        call_command("export_catalogue", folder)


def refusal(data, name, **bounds):
    """The errors of a file that is read within these bounds."""
    with pytest.raises(BadFile) as caught:
        read_lines(data, name, Reading(replace(UPLOAD, **bounds)))
    return caught.value.lines


def test_zip_bomb_is_refused_before_reading():
    assert refusal(write_catalogue("c.xlsx"), "c.xlsx", unpacked=1000) == [
        "El archivo es demasiado grande una vez descomprimido."
    ]


def test_file_with_too_many_rows_is_refused():
    book = Workbook()
    book.active["A1"] = "universidad_siglas"
    book.active["A5000"] = "U"
    file = io.BytesIO()
    book.save(file)

    assert refusal(file.getvalue(), "c.xlsx", rows=10) == ["El archivo tiene más de 10 filas."]
    csv = b"universidad_siglas\n" + b"\n" * 50
    assert refusal(csv, "c.csv", rows=10) == ["El archivo tiene más de 10 líneas."]
    assert refusal(b"[" + b"{}," * 50, "c.json", rows=10) == [
        "El archivo tiene más de 10 elementos."
    ]
    assert refusal(b"[" * 50, "c.json", rows=10) == ["El archivo tiene más de 10 listas."]


def test_six_million_texts_are_refused_within_seconds():
    data = with_part("xl/sharedStrings.xml", b"<sst xmlns='%s'>", b"<si/>" * 6_000_000, b"</sst>")
    assert len(data) < 100_000
    began = process_time()

    assert refusal(data, "c.xlsx") == ["El archivo tiene demasiados textos."]
    # Parsing all of them takes minutes.
    assert process_time() - began < 10


MERGED = b"<mergeCells>" + b"<mergeCell/>" * 1_000_000 + b"</mergeCells>"


@pytest.mark.parametrize(
    "rows",
    [
        b"<row r='1'>" + b"<c/>" * 1_000_000 + b"</row>",
        b"<row r='1'><c t='inlineStr'><is>" + b"<r/>" * 1_000_000 + b"</is></c></row>",
        b"<row r='1'>" + (b"<c/>" * 1_000 + b"<row/><!-- <row -->") * 1_000 + b"</row>",
        b"</sheetData>" + MERGED + b"<sheetData>",
        b"</sheetData>" + (b"<x>" + b"<c/>" * 9_000 + b"</x>") * 60 + b"<sheetData>",
        (b"<row xmlns='u'>" + b"<c/>" * 9_000 + b"</row>") * 60,
    ],
    ids=["cells", "inline text", "rows within a row", "merged cells", "others", "other rows"],
)
def test_row_of_millions_of_elements_is_refused_before_they_fill_the_memory(rows):
    """The parser keeps the elements of a row until its end: 50 KB took 3.8 GB."""
    data = with_part("xl/worksheets/sheet1.xml", SHEET, rows, SHEET_END)
    tracemalloc.start()
    try:
        assert refusal(data, "c.xlsx") == ["Una fila o un texto tiene demasiadas partes."]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50_000_000


def test_text_of_millions_of_elements_is_refused_unread():
    text = b"<si>" + b"<r/>" * 1_000_000 + b"</si>"
    data = with_part("xl/sharedStrings.xml", b"<sst xmlns='%s'>", text, b"</sst>")
    assert refusal(data, "c.xlsx") == ["Una fila o un texto tiene demasiadas partes."]


def test_sheet_with_entities_is_refused():
    head = b"<!DOCTYPE worksheet [<!ENTITY a 'aaaa'>]><worksheet xmlns='%s'><sheetData>"
    data = with_part("xl/worksheets/sheet1.xml", head, b"<row r='1'/>" * 200_000, SHEET_END)
    assert "DTD" in refusal(data, "c.xlsx")[0]


def test_sheet_of_many_wide_rows_is_read():
    rows = b"".join(b"<row r='%d'>" % n + b"<c/>" * 16_384 + b"</row>" for n in range(1, 50))
    data = with_part("xl/worksheets/sheet1.xml", SHEET, rows, SHEET_END)
    assert refusal(data, "c.xlsx") == ["El archivo está vacío."]


def test_reading_stops_at_its_time_limit_in_every_phase():
    # Rows that are not given, because the first one has their number.
    rows = (b"<row r='1'>" + b"<c r='ZZ1'/>" * 10_000 + b"</row>") * 9
    sheet = with_part("xl/worksheets/sheet1.xml", SHEET, rows, SHEET_END)
    began = process_time()

    assert "tarda demasiado en leerse" in refusal(sheet, "c.xlsx", seconds=0.1)[0]
    assert process_time() - began < 30
    csv = b"universidad_siglas\n" + b"U\n" * 1000
    assert "tarda demasiado en leerse" in refusal(csv, "c.csv", seconds=-1)[0]


def test_time_limit_counts_rows_and_not_their_lines():
    rows = b'"U\nV"\n' * 300
    assert "tarda demasiado" in refusal(b"universidad_siglas\n" + rows, "c.csv", seconds=-1)[0]


class Clock:
    """A clock that goes on only while the slow function runs: a second for each call."""

    def __init__(self, monkeypatch, place, name):
        self.now, function = 0, getattr(place, name)

        def slow(*arguments):
            self.now += 1
            return function(*arguments)

        monkeypatch.setattr(bounds, "monotonic", lambda: self.now)
        monkeypatch.setattr(place, name, slow)


MANY = [Line(f"fila {n}", {"universidad_siglas": f"Ab{n}", "universidad": "x"}) for n in range(300)]


@pytest.mark.parametrize(("place", "name"), [(Column, "read"), (NearNames, "near_or_add")])
def test_comparison_stops_at_its_time_limit_in_every_phase(monkeypatch, place, name):
    Clock(monkeypatch, place, name)

    with pytest.raises(BadFile, match="tarda demasiado"):
        diff_catalogue(MANY, Reading(UPLOAD))


ACCENTS = "a" + "\u0301\u0316" * 16_000


def test_cells_of_heaps_of_accents_are_read_in_time():
    cells = {"universidad_siglas": "U", "grado": f"{ACCENTS}x", "asignatura": ACCENTS}

    with pytest.raises(BadFile, match="no existe todavía"):
        diff_catalogue([Line("fila 1", cells)] * 50, Reading(replace(UPLOAD, seconds=10)))


def test_titles_that_each_take_a_second_are_cut():
    began = process_time()

    assert refusal(f"{ACCENTS};".encode() * 60, "c.csv")
    assert process_time() - began < 10


@pytest.mark.parametrize(
    ("data", "name", "place"),
    [
        (b";".join([b"leccion_o"] * 200_000), "c.csv", "Línea 1"),
        (b"universidad_siglas\nU" + b";" * 99 + b"x", "c.csv", "Línea 2"),
        (
            json.dumps([dict.fromkeys(map(str, range(200_000)))]).encode(),
            "c.json",
            "Elemento 1",
        ),
    ],
    ids=["header", "row", "json"],
)
def test_file_with_more_columns_than_any_is_refused_before_they_are_compared(
    monkeypatch, data, name, place
):
    """Each unknown title is compared with all names: 2.5 MB held the worker for 70 s."""
    monkeypatch.setattr(reading, "get_close_matches", None)
    assert refusal(data, name) == [f"{place}: Hay más de 64 columnas."]


def test_line_of_millions_of_empty_cells_is_refused():
    assert refusal(b";" * 3_000_000, "c.csv") == ["Línea 1: La línea es demasiado larga."]


def test_check_of_the_cells_stops_at_the_time_limit(monkeypatch):
    Clock(monkeypatch, reading, "is_storable")

    assert "tarda demasiado" in refusal(b"universidad_siglas\n" + b"U\n" * 300, "c.csv")[0]


def test_comparison_has_its_own_time(monkeypatch):
    Clock(monkeypatch, reading, "is_storable")
    read = Reading(UPLOAD)
    lines = read_lines(b"universidad_siglas;universidad\n" + b"U;x\n" * 25, "c.csv", read)
    monkeypatch.setattr(bounds, "monotonic", lambda: UPLOAD.seconds + 1)

    assert diff_catalogue(lines * 10, read)


LONG = "x" * (LONGEST_CELL + 1)
TOO_LONG = "tiene más de 32.767 caracteres, y en una celda de Excel no caben más."


def named_in_each_row(text, rows):
    """An .xlsx file with one text, which each of its rows names in the second column."""
    texts = f"<si><t>{text}</t></si>".encode()
    data = with_part("xl/sharedStrings.xml", b"<sst xmlns='%s'>", texts, b"</sst>")
    head = b"<c t='inlineStr'><is><t>universidad_siglas</t></is></c>"
    head += b"<c t='inlineStr'><is><t>preguntas</t></is></c>"
    row = b"<row><c t='inlineStr'><is><t>U</t></is></c><c t='s'><v>0</v></c></row>"
    cells = b"<row>" + head + b"</row>" + row * rows
    return changed(data, "xl/worksheets/sheet1.xml", SHEET % MAIN + cells + SHEET_END)


def test_cell_that_no_spreadsheet_holds_is_refused_without_its_text():
    sheet = named_in_each_row(LONG, rows=2000)
    assert len(sheet) < 20_000
    began = process_time()
    assert refusal(sheet, "c.xlsx") == [f"Fila 2: La celda número 2 {TOO_LONG}"]
    assert process_time() - began < 10

    csv = f"universidad_siglas;preguntas\nU;{LONG}\n".encode()
    assert refusal(csv, "c.csv") == [f"Línea 2: La celda número 2 {TOO_LONG}"]
    assert refusal(f"{LONG};x\nU;x\n".encode(), "c.csv") == [
        f"Línea 1: La celda número 1 {TOO_LONG}"
    ]
    data = json.dumps([{"universidad_siglas": "U", "preguntas": LONG}]).encode()
    assert refusal(data, "c.json") == [f"Elemento 1, columna «preguntas»: Su texto {TOO_LONG}"]


def test_longest_cell_of_a_spreadsheet_is_read():
    (line,) = read_lines(named_in_each_row(LONG[1:], rows=1), "c.xlsx", Reading(UPLOAD))
    assert line.cells["preguntas"] == LONG[1:]


def test_text_that_many_rows_name_is_kept_once():
    make_subject()
    text = "¿Qué? " * 300
    lines = [Line(f"fila {n}", {**NEW, "asignatura": f"A{n}", "preguntas": text}) for n in "12"]
    first, second = (
        entry.values[BY_NAME["preguntas"]] for entry in diff_catalogue(lines).new(Subject)
    )
    assert first is second


NEW = {"universidad_siglas": "U", "universidad": "Una", "grado": "G", "asignatura": "A",
       "precio": "1", "leccion": "L", "leccion_precio": "1"}  # fmt: skip


@pytest.mark.parametrize("column", [c.name for c in COLUMNS if not c.read_only])
def test_no_error_repeats_a_long_cell(column):
    lines = [
        Line("fila 1", NEW),
        Line("fila 2", {**NEW, "leccion": "M", column: "x" * LONGEST_CELL}),
    ]

    with pytest.raises(BadFile) as refused:
        diff_catalogue(lines)

    assert all(len(line) < 300 for line in refused.value.lines)


def test_long_value_that_another_line_contradicts_is_cut():
    texts = {"1": "a" * 500, "2": "b"}
    lines = [
        Line(f"fila {n}", {**NEW, "leccion": f"PEC {n}", "preguntas": text})
        for n, text in texts.items()
    ]

    with pytest.raises(BadFile) as refused:
        diff_catalogue(lines)

    assert f"«{'a' * 80}…» (fila 1)" in str(refused.value)


def test_large_part_that_nobody_reads_is_not_counted():
    with zipfile.ZipFile(io.BytesIO(write_catalogue("c.xlsx"))) as whole_file:
        parts = {part: whole_file.read(part) for part in whole_file.namelist()}
    parts["xl/calcChain.xml"] = b"<calcChain>" + b"<c r='A1' i='1'/>" * 300_000 + b"</calcChain>"
    assert read_lines(deflated(parts), "c.xlsx", Reading(UPLOAD)) == []


def test_large_part_in_an_unknown_encoding_is_refused():
    rows = b"<row r='1'/>" * 200_000
    head = b"<?xml version='1.0' encoding='foo'?><worksheet xmlns='%s'><sheetData>"
    data = with_part("xl/worksheets/sheet1.xml", head, rows, SHEET_END)
    assert "No se puede leer" in refusal(data, "c.xlsx")[0]


def test_large_part_that_is_parsed_whole_is_refused():
    formats = b"<xf/>" * 1_000_000
    styles = with_part("xl/styles.xml", b"<styleSheet xmlns='%s'>", formats, b"</styleSheet>")

    assert refusal(styles, "c.xlsx") == ["Una fila o un texto tiene demasiadas partes."]


def test_progress_of_a_reading_ends_at_the_whole_file():
    shares = []
    make_subject()
    read_lines(write_catalogue("c.xlsx"), "c.xlsx", Reading(UPLOAD, shares.append))

    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.5 < shares[-1] <= 1


SHEET = b"<worksheet xmlns='%s'><sheetData>"
SHEET_END = b"</sheetData></worksheet>"
MAIN = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"


TEXTS = (
    b'<Override PartName="/xl/sharedStrings.xml" ContentType="application/'
    b'vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>'
)


def with_part(name, head, content, tail):
    """An .xlsx file of which one part has this content, and which has a part for its texts."""
    with zipfile.ZipFile(io.BytesIO(write_catalogue("c.xlsx"))) as whole:
        parts = {part: whole.read(part) for part in whole.namelist()}
    types = parts["[Content_Types].xml"].replace(b"</Types>", TEXTS)
    parts |= {"[Content_Types].xml": types, "xl/sharedStrings.xml": b"<sst xmlns='%s'/>" % MAIN}
    parts[name] = head % MAIN + content + tail
    return deflated(parts)


def changed(data, name, content):
    """The .xlsx file with another content of one part."""
    with zipfile.ZipFile(io.BytesIO(data)) as whole:
        parts = {part: whole.read(part) for part in whole.namelist()}
    return deflated({**parts, name: content})


def deflated(parts):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
    return file.getvalue()


def test_long_list_of_errors_is_cut():
    found = errors_of(HEAD + "".join(f"U{n};\n" for n in range(70)))

    assert len(found) == 51
    assert found[-1] == "… y más errores: 20."


def test_other_file_suffix_is_refused():
    assert errors_of(b"", "c.xls") == ["El archivo debe ser .csv, .xlsx o .json."]


ROW = {"universidad_siglas": "UNED", "universidad": "x"}


@pytest.mark.parametrize("text", ["\0", "a\ud800", "\udfffb"], ids=ascii)
def test_json_with_text_that_cannot_be_stored_is_refused(text):
    data = json.dumps([{**ROW, "universidad": text}]).encode()

    with pytest.raises(BadFile) as refusal:
        read_lines(data, "catalogo.json")

    assert refusal.value.lines == [
        "Elemento 1, columna «universidad»: Tiene un carácter que no se puede guardar."
    ]


def test_csv_with_nul_is_refused():
    with pytest.raises(BadFile):
        read_lines(b"universidad;grado\na\0;b\n", "catalogo.csv")


def test_unknown_column_with_a_surrogate_can_be_shown():
    with pytest.raises(BadFile) as refusal:
        read_lines(json.dumps([{"\ud800": "x"}]).encode(), "catalogo.json")

    assert "columna «?»" in str(refusal.value)
    str(refusal.value).encode()
