"""Whether a Moodle is ready for the shop: address, token, functions, rights and courses.

Nothing is changed in Moodle. It has no web service that lists the rights of the token's user, so
they are found out in two ways. As a member of the front page, the user is among those whom Moodle
names for each right. In a course the two enrolment functions are called for the token's own user
and then for a user who does not exist: a call with an error is rolled back as a whole.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests
from django.conf import settings

from apps.catalogue.models import Lesson, Subject
from apps.classroom.backends.base import Item
from apps.classroom.backends.moodle.client import MoodleError, call, needed_functions
from apps.classroom.backends.moodle.courses import course_id_for, course_idnumber, item_name
from apps.classroom.backends.moodle.menus import (
    MAINTENANCE,
    ROLES,
    SERVICES,
    SHOW_COURSE,
    SYSTEM_ROLES,
    TOKENS,
    USER_POLICIES,
    USERS,
)
from apps.classroom.backends.moodle.reasons import SERVICES_ARE_OFF
from apps.classroom.models import MoodleCourse
from apps.core.models import SiteSettings

FRONT_PAGE = 1
GUEST = 1
NOBODY = 0
# Three fields each, below PHP's default of 1,000 fields (max_input_vars).
COURSES_A_CALL = 100
# More users than that with one right are not asked for: then Moodle may not have named the token's.
MOST_USERS = 500
# The first release whose manual enrolments send a welcome mail.
WELCOME_SINCE = 2024042200

# The function that the check itself needs.
SITE_INFO = "core_webservice_get_site_info"

# The rights of the role, and what they are for.
CAPABILITIES = {
    "webservice/rest:use": "usar el servicio web",
    "moodle/user:create": "crear a los alumnos",
    "moodle/user:update": "cambiar su contraseña, su correo y su nombre",
    "moodle/user:viewdetails": "encontrar a los alumnos",
    "moodle/user:viewalldetails": "ver su nombre de usuario y su número de ID",
    "moodle/site:viewuseridentity": "encontrar a los alumnos por su correo",
    "moodle/course:view": "entrar en los cursos sin estar matriculada",
    "moodle/course:viewhiddencourses": "matricular en cursos ocultos",
    "moodle/course:enrolreview": "ver quién está matriculado",
    "moodle/role:review": "ver los permisos de los usuarios",
    "moodle/role:assign": "dar el rol de estudiante",
    "enrol/manual:enrol": "matricular",
    "enrol/manual:unenrol": "dar de baja",
}
# Only if `MOODLE_GROUP` names a group.
GROUP_CAPABILITIES = {
    "moodle/course:managegroups": "poner a los alumnos en el grupo de su semestre"
}
# Only if the site's settings say that progress is fetched.
PROGRESS_CAPABILITIES = {"report/progress:view": "saber qué actividades ha hecho cada alumno"}
# Without them Moodle does not say who has the others.
RIGHTS_TO_ASK = ("moodle/course:enrolreview", "moodle/role:review")
# Without one of these Moodle refuses every course.
RIGHTS_IN_COURSES = {
    "moodle/course:view",
    "moodle/role:assign",
    "enrol/manual:enrol",
    "enrol/manual:unenrol",
}
MOST_NAMED = 5


def needed_capabilities() -> dict[str, str]:
    """The rights that the present settings make the role need, and what they are for."""
    return {
        **CAPABILITIES,
        **(GROUP_CAPABILITIES if settings.MOODLE_GROUP else {}),
        **(PROGRESS_CAPABILITIES if SiteSettings.current().classroom_progress else {}),
    }


@dataclass(frozen=True)
class Missing:
    """Something that is missing. `what` is a kind, `name` the function, right or course id."""

    what: str
    name: str
    sentence: str


@dataclass
class Report:
    release: str = ""
    missing: list[Missing] = field(default_factory=list)
    # Notes for staff on facts that Moodle does not let the shop ask.
    notes: list[str] = field(default_factory=list)
    courses: int = 0
    # Subjects and lessons that were left out, because asking for all takes minutes.
    unchecked_items: int = 0

    def add(self, what: str, name: str, sentence: str) -> None:
        self.missing.append(Missing(what, name, sentence))

    @property
    def is_ready(self) -> bool:
        return not self.missing

    def as_json(self) -> dict[str, Any]:
        """The report for a page of the admin, as JSON: a task can return nothing else."""
        return {
            "is_ready": self.is_ready,
            "summary": self.summary(),
            "missing": [missing.sentence for missing in self.missing],
            "notes": self.notes,
        }

    def summary(self) -> str:
        if not self.is_ready:
            return f"Cosas que faltan: {len(self.missing)}."
        checked = f"Moodle {self.release} está listo. Cursos comprobados: {self.courses}."
        if self.unchecked_items:
            checked += (
                f" Asignaturas y lecciones sin comprobar aquí: {self.unchecked_items}; todas se "
                "comprueban con «manage.py check_moodle»."
            )
        return checked if settings.CLASSROOM == "moodle" else f"{checked} Falta CLASSROOM=moodle."


class _Stop(Exception):
    """Nothing else can be asked."""


def check_moodle(*, most_items: int | None = None) -> Report:
    """Ask the Moodle of the settings. `most_items` limits the subjects and lessons asked for."""
    report = Report()
    try:
        user_id, functions = _check_site(report)
        _check_functions(report, functions)
        _check_rights(report, user_id, functions)
        _check_courses(report, user_id, functions, most_items)
    except _Stop:
        pass
    except MoodleError as error:
        report.add("answer", error.code, str(error))
    return report


def _check_site(report: Report) -> tuple[int, set[str]]:
    """The number of the token's user and the functions of its service."""
    if not settings.MOODLE_URL or not settings.MOODLE_TOKEN:
        report.add("settings", "", "Escribe MOODLE_URL y MOODLE_TOKEN en el entorno de la tienda.")
        raise _Stop
    try:
        site = call(SITE_INFO)
    except MoodleError as error:
        report.add(*_why_no_answer(error))
        raise _Stop from error
    if not isinstance(site, dict) or "siteurl" not in site:
        report.add("address", "", _no_moodle())
        raise _Stop
    if site["siteurl"].rstrip("/") != settings.MOODLE_URL:
        report.add(
            "address",
            site["siteurl"],
            f"Este Moodle se llama a sí mismo {site['siteurl']}: escribe esa dirección en "
            "MOODLE_URL.",
        )
    # "4.5.6 (Build: 20250811)"
    report.release = str(site.get("release", "")).partition(" (")[0]
    if site.get("userissiteadmin"):
        report.notes.append(
            "La clave de MOODLE_TOKEN es de un administrador de Moodle, que lo puede todo: usa la "
            "de un usuario propio de la tienda (manage.py check_moodle --create-role)."
        )
    if float(site.get("version") or 0) >= WELCOME_SINCE:
        report.notes.append(
            "Moodle no dice si manda un correo de bienvenida al matricular. El guion de «manage.py "
            "check_moodle --create-role» lo apaga en los cursos de la tienda; a mano, en el curso: "
            "Participantes > Métodos de matriculación > Matriculación manual > Enviar mensaje de "
            "bienvenida al curso: No."
        )
    return int(site["userid"]), {function["name"] for function in site.get("functions", [])}


def _why_no_answer(error: MoodleError) -> tuple[str, str, str]:
    response = getattr(error.__cause__, "response", None)
    match response.status_code if response is not None else error.code:
        case 403:
            return (
                "service",
                "rest",
                SERVICES_ARE_OFF,
            )
        case 404:
            return "address", "", _no_moodle()
        case "invalidtoken":
            return (
                "token",
                error.code,
                f"Moodle no conoce la clave de MOODLE_TOKEN: cópiala, o crea otra, en {TOKENS}.",
            )
        case "accessexception":
            return (
                "service",
                error.code,
                f"Moodle no deja usar el servicio de la clave: en {SERVICES} > Servicios externos "
                f"comprueba que está habilitado, que tiene la función {SITE_INFO} y que su usuario "
                "está entre los autorizados; que la clave no ha caducado ni pide otra dirección "
                f"IP; que el rol tiene webservice/rest:use ({ROLES}), y el usuario, ese rol "
                f"({SYSTEM_ROLES}).",
            )
        case "wsaccessusersuspended" | "wsaccessuserdeleted" | "wsaccessusernologin":
            return (
                "token",
                error.code,
                "El usuario de la clave está suspendido, borrado o sin entrada en Moodle: actívalo "
                f"en {USERS}, o crea otra clave.",
            )
        case "sitemaintenance":
            return (
                "service",
                error.code,
                f"Moodle está en mantenimiento: quítalo en {MAINTENANCE}.",
            )
    if isinstance(error.__cause__, requests.JSONDecodeError):
        return "address", "", _no_moodle()
    return "address", error.code, str(error)


def _no_moodle() -> str:
    return (
        f"En {settings.MOODLE_URL} no hay un Moodle: escribe en MOODLE_URL la dirección de su "
        "portada, con la carpeta si la tiene y sin lo que la sigue."
    )


def _check_functions(report: Report, functions: set[str]) -> None:
    for name in needed_functions():
        if name not in functions:
            report.add(
                "function",
                name,
                f"Al servicio le falta la función {name}: agrégala en {SERVICES} > Servicios "
                "externos > Funciones.",
            )


def _check_rights(report: Report, user_id: int, functions: set[str]) -> None:
    function = "core_enrol_get_enrolled_users_with_capability"
    if function in functions:
        try:
            held = _held_capabilities(user_id)
        except MoodleError as error:
            # Moodle asks for these two first, and says which one only in the site's language.
            if error.code != "nopermissions":
                raise
            names = " o ".join(RIGHTS_TO_ASK)
            report.add(
                "right",
                RIGHTS_TO_ASK[0],
                f"Al rol le falta el permiso {names}: permite los dos en {ROLES}. Sin ellos no se "
                "ven los demás permisos.",
            )
        else:
            for name, purpose in needed_capabilities().items():
                if name not in held:
                    report.add(
                        "right",
                        name,
                        f"Al rol le falta el permiso {name}, para {purpose}: permítelo en {ROLES}.",
                    )
            if held >= {"moodle/user:viewdetails", "moodle/site:viewuseridentity"}:
                _check_shown_fields(report, functions)


def _held_capabilities(user_id: int) -> set[str]:
    answer = call(
        "core_enrol_get_enrolled_users_with_capability",
        coursecapabilities=[{"courseid": FRONT_PAGE, "capabilities": list(needed_capabilities())}],
        options=[
            {"name": "userfields", "value": "id"},
            {"name": "limitnumber", "value": MOST_USERS},
        ],
    )
    held = set()
    for group in answer:
        users = [int(user["id"]) for user in group["users"]]
        if user_id in users or len(users) == MOST_USERS:
            held.add(group["capability"])
    return held


def _check_shown_fields(report: Report, functions: set[str]) -> None:
    """Look whether Moodle shows addresses: of the guest, who is in every Moodle."""
    if "core_user_get_users_by_field" not in functions:
        return
    users = call("core_user_get_users_by_field", field="id", values=[GUEST])
    if users and "email" not in users[0]:
        report.add(
            "field",
            "email",
            "Moodle no enseña el correo de sus usuarios: marca «Dirección de correo» en "
            f"{USER_POLICIES} > Mostrar identidad de usuario, y quítala de «Ocultar campos de "
            "usuario».",
        )


def _check_courses(
    report: Report, user_id: int, functions: set[str], most_items: int | None
) -> None:
    if "core_course_get_courses_by_field" not in functions:
        return
    on_sale = _items_on_sale()
    report.unchecked_items = len(on_sale[most_items:]) if most_items is not None else 0
    items = _find_courses(report, on_sale[:most_items])
    report.courses = len(items)
    if RIGHTS_IN_COURSES & {missing.name for missing in report.missing}:
        return
    refused: dict[int, MoodleError] = {}
    for function, fields in (
        ("enrol_manual_enrol_users", {"roleid": settings.MOODLE_STUDENT_ROLE}),
        ("enrol_manual_unenrol_users", {}),
    ):
        if function in functions:
            still_good = [course_id for course_id in items if course_id not in refused]
            refused.update(_refused(_Probe(function, user_id, fields), still_good))
    # Moodle 4.5 breaks off with a PHP error if one of the ids is that of a deleted course.
    _note_hidden_courses(report, {pk: items[pk] for pk in items if pk not in refused})
    by_code: dict[str, list[int]] = defaultdict(list)
    for course_id, error in sorted(refused.items()):
        by_code[error.code].append(course_id)
    for code, course_ids in by_code.items():
        named = [f"{item_name(items[pk][0])} (id {pk})" for pk in course_ids[:MOST_NAMED]]
        more = f" y {len(course_ids) - MOST_NAMED} más" if course_ids[MOST_NAMED:] else ""
        report.add(
            "course",
            code,
            f"{_course_sentence(refused[course_ids[0]])} Cursos: {', '.join(named)}{more}.",
        )


def _note_hidden_courses(report: Report, items: dict[int, list[Item]]) -> None:
    """Name the courses that are hidden: their students are enrolled and cannot enter."""
    ids = sorted(items)
    hidden: list[int] = []
    for first in range(0, len(ids), COURSES_A_CALL):
        some = ",".join(map(str, ids[first : first + COURSES_A_CALL]))
        answer = call("core_course_get_courses_by_field", field="ids", value=some)
        hidden += [row["id"] for row in answer["courses"] if row.get("visible") == 0]
    if hidden:
        named = [f"{item_name(items[pk][0])} (id {pk})" for pk in hidden[:MOST_NAMED]]
        more = f" y {len(hidden) - MOST_NAMED} más" if hidden[MOST_NAMED:] else ""
        report.notes.append(
            f"Cursos ocultos en Moodle, en los que sus alumnos no pueden entrar: "
            f"{', '.join(named)}{more}. En cada uno: {SHOW_COURSE}."
        )


def _find_courses(report: Report, items: Iterable[Item]) -> dict[int, list[Item]]:
    """The items by the id of their course. Items without a course are reported together."""
    stored = _stored_courses()
    found: dict[int, list[Item]] = defaultdict(list)
    without: list[Item] = []
    for item in items:
        course_id = stored.get(item) or course_id_for(item)
        if course_id is None:
            without.append(item)
        else:
            found[course_id].append(item)
    if without:
        named = [f"{item_name(item)} ({course_idnumber(item)})" for item in without[:MOST_NAMED]]
        more = f" y {len(without) - MOST_NAMED} más" if without[MOST_NAMED:] else ""
        report.add(
            "item",
            course_idnumber(without[0]),
            f"A la venta y sin curso: {', '.join(named)}{more}. Dales uno en «Cursos de Moodle» "
            "de esta administración, o pon el código entre paréntesis en «Número ID del curso», en "
            "los ajustes del curso en Moodle.",
        )
    return found


def _stored_courses() -> dict[Item, int]:
    rows = MoodleCourse.objects.values_list("subject_id", "lesson_id", "course_id")
    return {Item(subject, lesson): course for subject, lesson, course in rows}


def _items_on_sale() -> list[Item]:
    lessons = Lesson.objects.on_sale().order_by("subject_id", "pk").values_list("subject_id", "pk")
    subjects = Subject.objects.on_sale().order_by("pk").values_list("pk", flat=True)
    return [*(Item(pk, None) for pk in subjects), *(Item(*pair) for pair in lessons)]


@dataclass(frozen=True)
class _Probe:
    """A call whose last entry Moodle must refuse, so that it rolls back the others."""

    function: str
    user_id: int
    fields: dict[str, int]

    def __call__(self, course_ids: Sequence[int]) -> MoodleError | None:
        """The error of one of the courses; None if Moodle accepts them all."""
        entries = [
            {"userid": user_id, "courseid": course_id, **self.fields}
            for user_id, course_id in (
                *((self.user_id, course_id) for course_id in course_ids),
                (NOBODY, course_ids[-1]),
            )
        ]
        try:
            call(self.function, enrolments=entries)
        except MoodleError as error:
            if error.code == "invaliduser":
                return None
            if error.code == "unavailable":
                raise
            return error
        raise MoodleError("Moodle ha admitido a un usuario que no existe.", "probe")


def _refused(probe: _Probe, course_ids: Sequence[int]) -> dict[int, MoodleError]:
    """The courses that Moodle refuses, found by halves: one call if it refuses none."""
    refused: dict[int, MoodleError] = {}
    waiting = [
        course_ids[first : first + COURSES_A_CALL]
        for first in range(0, len(course_ids), COURSES_A_CALL)
    ]
    while waiting:
        ids = waiting.pop()
        error = probe(ids)
        if error is None:
            continue
        if len(ids) == 1:
            refused[ids[0]] = error
        else:
            middle = len(ids) // 2
            waiting += [ids[:middle], ids[middle:]]
    return refused


def _course_sentence(error: MoodleError) -> str:
    match error.code:
        case "wsusercannotassign":
            return (
                f"El rol de la tienda no puede dar el rol {settings.MOODLE_STUDENT_ROLE} "
                "(MOODLE_STUDENT_ROLE): marca el de estudiante en la fila de la tienda de "
                f"{ROLES} > Permitir asignar roles."
            )
        case "wsnoinstance":
            return (
                "Sin matriculación manual: agrégala, o actívala con el ojo, en Participantes "
                "> Métodos de matriculación."
            )
        case "nopermissions":
            return (
                "El rol de la tienda no puede matricular o dar de baja: permite "
                f"enrol/manual:enrol y enrol/manual:unenrol en {ROLES}, y mira que el curso o su "
                "categoría no se lo quiten en Participantes > Permisos."
            )
        case "requireloginerror" | "coursehidden":
            return (
                "El rol de la tienda no puede entrar: permite moodle/course:view y, si el "
                f"curso está oculto, moodle/course:viewhiddencourses en {ROLES}."
            )
        # Moodle 4.5 answers "invalidparameter" for the number of a deleted course.
        case "errorcoursecontextnotvalid" | "invalidcontext" | "invalidparameter" | "invalidrecord":
            return (
                "El curso ya no existe en Moodle: corrige el nombre corto en «Cursos de Moodle» de "
                "esta administración."
            )
    return str(error)
