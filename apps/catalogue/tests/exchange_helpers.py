"""Helpers of the import and export tests."""

import pytest

from apps.catalogue.exchange.apply import import_lines
from apps.catalogue.exchange.diff import diff_catalogue
from apps.catalogue.exchange.file_errors import BadFile
from apps.catalogue.exchange.reading import read_lines
from apps.catalogue.models import Degree, Lesson, PriceChange, Subject, University


def snapshot():
    """Return all values of the catalogue except ids, to compare before and after."""
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


def lines_of(text, name="catalogo.csv"):
    return read_lines(text.encode(), name)


def import_text(text):
    return import_lines(lines_of(text), is_confirmed=True)


def errors_of(text, name="catalogo.csv"):
    with pytest.raises(BadFile) as refused:
        diff_catalogue(read_lines(text if isinstance(text, bytes) else text.encode(), name))
    return refused.value.lines


HEAD = (
    "universidad_siglas;universidad;universidad_estado;grado;asignatura;precio;leccion;"
    "leccion_precio;leccion_estado\n"
)
MICRO = "UAP;Universidad de Prueba;Abierta;Economía;Microeconomía;192,00;PEC 1;55,00;Activa\n"
