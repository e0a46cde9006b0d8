"""Kills in the middle of an import of the catalogue: all of its rows are there, or none."""

import re
from functools import partial

from tools.dev.processes import SetupError
from tools.drill.buyer import wait
from tools.drill.count import Outcome
from tools.drill.shop import Shop
from tools.drill.staff import Staff
from tools.drill.steps import Step, command_killed_at, killed_at

ROWS = 300
HEAD = (
    "universidad_siglas;universidad;universidad_estado;grado;asignatura;precio;leccion;"
    "leccion_precio\n"
)
FORM = "/admin/catalogue/subject/importar/"
LESSONS = "catalogue_lesson"
UPLOADED = Step(
    "importación: antes de guardar el archivo", "web", table="catalogue_catalogueupload"
)
INSERTED = Step("importación: asignaturas escritas, lecciones no", "worker-mail", table=LESSONS)
COMMAND = Step("orden de importar: asignaturas escritas", "", table=LESSONS)
DONE = Step("importación: hecha, sin anotar quién", "worker-mail", table="django_admin_log")


def imports_killed(shop: Shop) -> Outcome:
    """Kill web process, worker and command in the middle of an import; then import again."""
    staff, lost = Staff(shop), []
    lost += killed_at(shop, UPLOADED, partial(_upload, staff))
    page = _upload(staff)
    confirm = partial(staff.post, page, fingerprint=_fingerprint(staff, page))
    for step in (INSERTED, DONE):
        lost += killed_at(shop, step, confirm)
        lost += _partial(shop, step.name, 0)
    confirm()
    importing = "SELECT 1 FROM catalogue_catalogueupload WHERE state = 'importing'"
    wait(lambda: not shop.database.rows(importing), 60)
    lost += _partial(shop, "segundo intento", ROWS)
    lost += _noted(shop)
    lost += _command_killed(shop)
    return Outcome(
        f"kill -9 en 4 pasos de importar {ROWS} asignaturas, en la administración y con la orden",
        f"al repetir, {_imported(shop)} de {2 * ROWS} asignaturas con su lección",
        lost,
    )


def _command_killed(shop: Shop) -> list[str]:
    file = shop.folder / "importar.csv"
    file.write_text(_csv("Orden"), encoding="utf-8")
    lost = command_killed_at(shop, COMMAND, "import_catalogue", str(file))
    lost += _partial(shop, COMMAND.name, ROWS)
    shop.host.manage_or_fail("import_catalogue", str(file))
    return lost + _partial(shop, "orden repetida", 2 * ROWS)


def _csv(name: str) -> str:
    row = "UDS;Universidad del Simulacro;Abierta;Economía;{name} {number};100,00;PEC 1;20,00\n"
    return HEAD + "".join(row.format(name=name, number=number) for number in range(ROWS))


def _upload(staff: Staff) -> str:
    """Upload the file; the path of its preview."""
    answer = staff.post(FORM, {"file": ("catalogo.csv", _csv("Importada").encode())})
    found = re.search(rf"{FORM}\d+/$", answer.url)
    if not found:
        raise SetupError(f"El archivo no se puede subir: {answer.status_code} {answer.url}")
    return found[0]


def _fingerprint(staff: Staff, page: str) -> str:
    """The fingerprint of the preview, once the worker has read the file."""
    found = ""

    def is_read() -> bool:
        nonlocal found
        found = staff.hidden(staff.get(page), "fingerprint")
        return bool(found)

    wait(is_read, 60)
    return found


def _imported(shop: Shop) -> int:
    """The imported subjects that have their lesson."""
    rows = shop.database.rows("""
        SELECT count(DISTINCT subject.id) FROM catalogue_subject subject
        JOIN catalogue_lesson lesson ON lesson.subject_id = subject.id
        WHERE subject.name LIKE 'Importada %' OR subject.name LIKE 'Orden %'
    """)
    return int(str(rows[0][0]))


def _partial(shop: Shop, step: str, wanted: int) -> list[str]:
    """A sentence, unless exactly this many imported subjects exist, each with its lesson."""
    rows = shop.database.rows("""
        SELECT count(*) FROM catalogue_subject
        WHERE name LIKE 'Importada %' OR name LIKE 'Orden %'
    """)
    found = (int(str(rows[0][0])), _imported(shop))
    return [] if found == (wanted, wanted) else [f"{step}: {found} asignaturas en vez de {wanted}"]


def _noted(shop: Shop) -> list[str]:
    rows = shop.database.rows(
        "SELECT 1 FROM django_admin_log WHERE change_message LIKE 'Importación.%'"
    )
    return [] if len(rows) == 1 else [f"la importación consta {len(rows)} veces en el registro"]
