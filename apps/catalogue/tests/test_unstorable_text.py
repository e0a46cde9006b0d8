"""Files for the catalogue with characters that PostgreSQL and UTF-8 can't hold."""

import json

import pytest

from apps.catalogue.exchange.file_errors import BadFile
from apps.catalogue.exchange.reading import read_lines

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
