"""The public addresses of universities, degrees, subjects and teachers.

A part of an address is words and an id, as in /asignaturas/uaf-1/microeconomia-58. The id decides
and the words follow the name, so an address with the words of an earlier name still finds its row
and is redirected (docs/decisions/0041-addresses-of-subjects-end-in-their-id.md).
"""

import re

from django.utils.text import slugify

ROOT = "/asignaturas"
MOST_LETTERS = 80
_ID_AT_END = re.compile(r"-([1-9]\d{0,17})$", re.ASCII)


def _part(words: str, pk: int, instead: str) -> str:
    """Return "microeconomia-58". `instead` replaces words that have no Latin letter or digit."""
    return f"{slugify(words)[:MOST_LETTERS].strip('-_') or instead}-{pk}"


def university_path(pk: int, acronym: str) -> str:
    return f"{ROOT}/{_part(acronym, pk, 'universidad')}"


def degree_path(pk: int, name: str, university: str) -> str:
    """`university` is the path of the degree's university."""
    return f"{university}/grados/{_part(name, pk, 'grado')}"


def subject_path(pk: int, name: str, university: str) -> str:
    """`university` is the path of the subject's university."""
    return f"{university}/{_part(name, pk, 'asignatura')}"


def teacher_path(pk: int, name: str) -> str:
    return f"/profesores/{_part(name, pk, 'profesor')}"


def id_in(text: str) -> int | None:
    """Return the id at the end of a part of an address, or None if there is none."""
    found = _ID_AT_END.search(text)
    return int(found[1]) if found else None
