"""Spanish messages for the English errors of Python's file readers."""

import csv
import json
import zipfile
from zlib import error as ZlibError

_CSV = {
    "unexpected end of data": "hay unas comillas que no se cierran",
    "expected after": "detrás de unas comillas que se cierran tiene que empezar otra celda",
    "field larger than field limit": "una celda es demasiado larga, o hay unas comillas de más",
    "new-line character seen": "hay un salto de línea suelto en una celda sin comillas",
    "line contains NUL": "contiene un carácter nulo",
}
_JSON = {
    "Expecting value": "falta un valor",
    "Expecting property name": "falta el nombre de una columna entre comillas dobles",
    "Illegal trailing comma": "sobra una coma",
    "Expecting ':'": "faltan los dos puntos",
    "Expecting ','": "falta una coma o un cierre",
    "Extra data": "hay algo más detrás del final",
    "Unterminated string": "hay un texto cuyas comillas no se cierran",
    "Invalid control character": "hay un salto de línea o tabulador dentro de un texto",
    "Invalid \\": "hay una barra invertida «\\» mal puesta",
}


def _translate(message: str, translations: dict[str, str]) -> str:
    for english, spanish in translations.items():
        if english in message:
            return spanish
    return "el formato no es correcto"


def csv_reason(error: csv.Error) -> str:
    return _translate(str(error), _CSV)


def json_reason(error: json.JSONDecodeError) -> str:
    return _translate(error.msg, _JSON)


def xlsx_reason(error: Exception) -> str:
    match error:
        case zipfile.BadZipFile():
            return "está protegido con contraseña o es de otro tipo, como .xls; guárdalo como .xlsx"
        case RuntimeError():
            return "está protegido con contraseña"
        case ZlibError() | EOFError():
            return "el archivo está dañado o incompleto"
        case IndexError():
            return "no tiene ninguna hoja"
    return "le falta una parte o está dañada"


def file_reason(error: OSError) -> str:
    """Return why a command can't open or write the file."""
    match error:
        case FileNotFoundError():
            return f"No existe: {error.filename}"
        case IsADirectoryError():
            return f"Es una carpeta: {error.filename}"
        case PermissionError():
            return f"Sin permiso: {error.filename}"
    return f"No se puede abrir {error.filename} (error {error.errno} del sistema)"
