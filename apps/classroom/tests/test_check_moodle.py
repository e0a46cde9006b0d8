"""`manage.py check_moodle`, its admin page and the list of courses.

`ReadyMoodle` answers what a real Moodle 4.5.6 answered when its rights were taken away one by one.
"""

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from apps.catalogue.models import Lesson, Subject
from apps.classroom.backends.moodle import check
from apps.classroom.backends.moodle.check import CAPABILITIES, SITE_INFO, check_moodle
from apps.classroom.backends.moodle.client import FUNCTIONS, GROUP_FUNCTIONS
from apps.classroom.backends.moodle.setup_script import setup_script
from apps.classroom.models import MoodleCourse
from apps.classroom.moodle_pages import ask_moodle
from apps.classroom.tests.moodle_server import STUDENT, MoodleException
from apps.core.models import StaffAction
from tests.helpers.admin import confirm_password, forget_password, make_staff
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db

SHOP_USER = 6


def refusal(code: str) -> MoodleException:
    return MoodleException("core\\exception\\moodle_exception", code, "")


class ReadyMoodle:
    """A Moodle in which the setup script has run; tests take something away."""

    def __init__(self, moodle: Any) -> None:
        self.functions = [SITE_INFO, *FUNCTIONS]
        self.capabilities = set(CAPABILITIES)
        self.site = {"siteurl": moodle.url, "userid": SHOP_USER, "release": "4.5.6 (Build: 1)"}
        self.guest = {"id": 1, "email": "root@localhost"}
        self.courses = {"asignatura-0": 0}
        self.refused: dict[int, str] = {}
        self.hidden: set[int] = set()
        self.is_assignable = True
        self.calls: list[str] = []
        for name in (
            SITE_INFO,
            "core_course_get_courses_by_field",
            "core_enrol_get_enrolled_users_with_capability",
            "core_user_get_users_by_field",
            "enrol_manual_enrol_users",
            "enrol_manual_unenrol_users",
        ):
            setattr(moodle, name, self._function(name))

    def _function(self, name: str) -> Any:
        def call(**params: Any) -> Any:
            self.calls.append(name)
            if name not in self.functions or "webservice/rest:use" not in self.capabilities:
                raise refusal("accessexception")
            return getattr(self, name)(**params)

        return call

    def add_course(self, shortname: str, idnumber: str = "") -> int:
        number = 100 + len(self.courses)
        self.courses[idnumber or shortname] = number
        self.courses[shortname] = number
        return number

    def core_webservice_get_site_info(self) -> dict[str, Any]:
        functions = [{"name": name, "version": "1"} for name in self.functions]
        return {**self.site, "functions": functions}

    def core_user_get_users_by_field(self, field: str, values: list[str]) -> list[dict[str, Any]]:
        assert (field, values) == ("id", ["1"])
        return [self.guest]

    def core_enrol_get_enrolled_users_with_capability(
        self, coursecapabilities: list[dict[str, Any]], options: list[dict[str, str]]
    ) -> list[dict[str, Any]]:
        if not {"moodle/course:enrolreview", "moodle/role:review"} <= self.capabilities:
            raise refusal("nopermissions")
        [asked] = coursecapabilities
        assert asked["courseid"] == "1"
        return [
            {
                "courseid": 1,
                "capability": name,
                "users": [{"id": 3}, *([{"id": SHOP_USER}] if name in self.capabilities else [])],
            }
            for name in asked["capabilities"]
        ]

    def core_course_get_courses_by_field(self, field: str, value: str) -> dict[str, Any]:
        if field == "ids":
            numbers = list(map(int, value.split(",")))
            # Moodle 4.5.6 answers so if one of the courses is deleted.
            if any(self.refused.get(pk) == "invalidparameter" for pk in numbers):
                raise MoodleException("Error", "error", 'Attempt to assign property "context')
            rows = [{"id": pk, "visible": int(pk not in self.hidden)} for pk in numbers]
            return {"courses": rows, "warnings": []}
        if value not in self.courses:
            return {"courses": [], "warnings": []}
        course = {"id": self.courses[value], "shortname": value, "fullname": f"Curso {value}"}
        return {"courses": [course], "warnings": []}

    def enrol_manual_enrol_users(self, enrolments: list[dict[str, str]]) -> None:
        self._refuse(enrolments, "enrol/manual:enrol")

    def enrol_manual_unenrol_users(self, enrolments: list[dict[str, str]]) -> None:
        self._refuse(enrolments, "enrol/manual:unenrol")

    def _refuse(self, enrolments: list[dict[str, str]], right: str) -> None:
        *others, last = enrolments
        assert last["userid"] == "0", "without a last entry that fails, Moodle would enrol"
        for entry in others:
            assert entry["userid"] == str(SHOP_USER)
            if code := self.refused.get(int(entry["courseid"])):
                raise refusal(code)
            if right not in self.capabilities:
                raise refusal("nopermissions")
            if right.endswith(":enrol") and not (
                self.is_assignable and entry["roleid"] == str(STUDENT)
            ):
                raise refusal("wsusercannotassign")
        raise refusal("invaliduser")


@pytest.fixture
def ready(moodle):
    return ReadyMoodle(moodle)


@pytest.fixture
def subject(db):
    """On sale, with its lessons."""
    return make_subject("Microeconomía")


@pytest.fixture
def mapped(ready, subject):
    """The courses of the subject and of its lesson."""
    ids = [ready.add_course("MICRO", f"asignatura-{subject.pk}")]
    ids += [ready.add_course(f"L{pk}", f"leccion-{pk}") for pk in _lessons(subject)]
    return ids


def _lessons(subject: Subject) -> list[int]:
    return list(Lesson.objects.on_sale().filter(subject=subject).values_list("pk", flat=True))


def kinds() -> list[tuple[str, str]]:
    return [(missing.what, missing.name) for missing in check_moodle().missing]


def test_moodle_with_everything_is_ready(mapped):
    report = check_moodle()

    assert report.missing == []
    assert report.summary() == f"Moodle 4.5.6 está listo. Cursos comprobados: {len(mapped)}."


def test_each_missing_right_is_named(ready, mapped):
    for right in CAPABILITIES:
        ready.capabilities = set(CAPABILITIES) - {right}
        [missing] = check_moodle().missing

        assert right in missing.sentence
        assert "Definir roles" in missing.sentence


def test_each_missing_function_is_named(ready, mapped):
    for function in FUNCTIONS:
        ready.functions = [SITE_INFO, *(name for name in FUNCTIONS if name != function)]
        assert ("function", function) in kinds()


def test_groups_need_a_right_and_functions_only_if_the_setting_names_them(ready, mapped, settings):
    assert "managegroups" not in setup_script()
    settings.MOODLE_GROUP = "{semester}"
    needed = {("function", name) for name in GROUP_FUNCTIONS}
    assert set(kinds()) == needed | {("right", "moodle/course:managegroups")}
    assert "Definir roles" in check_moodle().missing[-1].sentence
    ready.functions += GROUP_FUNCTIONS
    ready.capabilities.add("moodle/course:managegroups")
    assert kinds() == []
    assert all(name in setup_script() for _, name in needed)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("wsnoinstance", "Sin matriculación manual"),
        ("wsusercannotassign", "Permitir asignar roles"),
        ("requireloginerror", "no puede entrar"),
        ("invalidparameter", "ya no existe en Moodle"),
        ("somethingnew", "somethingnew"),
    ],
)
def test_refused_course_is_found_among_the_others_and_named(
    ready, subject, mapped, code, words, monkeypatch
):
    monkeypatch.setattr(check, "COURSES_A_CALL", 4)
    for number in range(5):
        other = make_subject(f"Otra {number}")
        ready.add_course(f"S{other.pk}", f"asignatura-{other.pk}")
        for pk in _lessons(other):
            ready.add_course(f"L{pk}", f"leccion-{pk}")
    ready.refused = {mapped[0]: code}

    [missing] = check_moodle().missing

    assert (missing.what, missing.name) == ("course", code)
    assert f"{subject.name} (id {mapped[0]})" in missing.sentence
    assert missing.sentence.count("(id ") == 1
    if code != "somethingnew":
        assert words in missing.sentence


def test_forbidden_student_role_is_one_sentence_for_all_courses(ready, mapped):
    ready.is_assignable = False

    [missing] = check_moodle().missing

    assert (missing.what, missing.name) == ("course", "wsusercannotassign")


def test_items_without_course_are_named_with_the_id_number_that_moodle_wants(ready, subject):
    [missing] = check_moodle().missing

    assert (missing.what, missing.name) == ("item", f"asignatura-{subject.pk}")
    assert f"{subject.name} (asignatura-{subject.pk})" in missing.sentence


def test_other_address_is_named(ready, mapped):
    ready.site["siteurl"] = "https://aula.example"

    [missing] = check_moodle().missing

    assert missing.what == "address"
    assert "https://aula.example: escribe esa dirección en MOODLE_URL" in missing.sentence


def test_hidden_addresses_are_named(ready, mapped):
    del ready.guest["email"]

    assert kinds() == [("field", "email")]


def test_welcome_mails_are_noted_from_the_release_that_sends_them(ready, mapped):
    ready.site["version"] = "2023100900"
    assert check_moodle().notes == []

    ready.site["version"] = "2024100706"
    [note] = check_moodle().notes
    assert "mensaje de bienvenida" in note


def test_hidden_courses_are_noted(ready, mapped):
    assert "oculto" not in "".join(check_moodle().notes)
    ready.hidden.add(mapped[0])
    report = check_moodle()
    assert report.is_ready
    [note] = [note for note in report.notes if "ocultos" in note]
    assert f"Microeconomía (id {mapped[0]}). En cada uno: ponlo en «Mostrar»" in note


def test_wrong_token_is_one_sentence(moodle, settings):
    settings.MOODLE_TOKEN = "f" * 32

    assert kinds() == [("token", "invalidtoken")]


def test_unreachable_moodle_and_missing_settings_are_one_sentence(moodle, settings):
    moodle.down = True
    assert len(check_moodle().missing) == 1

    settings.MOODLE_TOKEN = ""
    assert kinds() == [("settings", "")]


def test_a_user_who_has_to_change_the_password_is_named(ready, mapped):
    """The answer of a real Moodle, for a user with «Forzar cambio de contraseña»."""
    answer = "You cannot execute functions in the course context (course id:). The context error "
    ready.core_enrol_get_enrolled_users_with_capability = _raising(
        MoodleException(
            "moodle_exception",
            "errorcoursecontextnotvalid",
            f"{answer}message was: error/forcepasswordchangenotice",
        )
    )
    [missing] = check_moodle().missing
    assert "como cambiar su contraseña" in missing.sentence


def _raising(error: Exception) -> Any:
    def call(**_: Any) -> None:
        raise error

    return call


def test_command_fails_and_writes_each_sentence(ready, mapped, capsys):
    call_command("check_moodle")
    assert "está listo" in capsys.readouterr().out

    ready.capabilities.discard("moodle/user:create")
    with pytest.raises(SystemExit) as ended:
        call_command("check_moodle")
    assert ended.value.code == 1
    assert "moodle/user:create" in capsys.readouterr().out


def test_script_has_every_function_right_and_mapped_course(capsys):
    call_command("check_moodle", "--create-role")
    script = capsys.readouterr().out

    found = re.search(r"<<<'JSON'\n(.*?)\nJSON", script, re.DOTALL)
    assert found is not None
    plan = json.loads(found[1])
    assert set(plan["functions"]) == {SITE_INFO, *FUNCTIONS}
    assert set(plan["capabilities"]) == set(CAPABILITIES)
    assert "{{" not in script
    assert script == setup_script()


def _client(*codenames: str) -> Client:
    staff = make_staff("carla", *codenames)
    client = Client()
    client.force_login(staff)
    return client


CHECK_PAGE = "/admin/classroom/moodlecourse/comprobar/"
LIST_PAGE = "/admin/classroom/moodlecourse/lista/"


def test_page_shows_what_a_worker_asked_after_staff_pressed_the_button(ready, mapped, work):
    client = _client("check_moodle")
    assert "<button" in client.get(CHECK_PAGE).content.decode().partition("<main")[2]

    # Two clicks are one question, and no request waits for Moodle.
    for _ in range(2):
        assert client.post(CHECK_PAGE, follow=True).status_code == 200
    page = client.get(CHECK_PAGE).content.decode()
    assert "Preguntando a Moodle" in page
    assert 'http-equiv="refresh"' in page
    assert ready.calls == []
    work()
    assert ready.calls.count(SITE_INFO) == 1
    page = client.get(CHECK_PAGE).content.decode()
    assert "está listo" in page
    assert 'http-equiv="refresh"' not in page

    ready.capabilities.discard("moodle/user:create")
    client.post(CHECK_PAGE)
    work()
    page = client.get(CHECK_PAGE).content.decode()
    assert "está listo" not in page
    assert "Al rol le falta el permiso moodle/user:create" in page


def test_page_checks_a_limited_number_of_items_and_says_so(ready, mapped, monkeypatch):
    monkeypatch.setattr("apps.classroom.moodle_pages.MOST_ITEMS", 1)

    assert "sin comprobar aquí: 2" in ask_moodle.func()["summary"]


def test_page_says_that_a_question_was_interrupted(ready, monkeypatch, work):
    monkeypatch.setattr("apps.classroom.moodle_pages.check_moodle", lambda **_: 1 / 0)
    client = _client("check_moodle")
    client.post(CHECK_PAGE)
    work()
    page = client.get(CHECK_PAGE).content.decode()
    assert "se ha interrumpido" in page
    assert "Comprobar otra vez" in page


def _upload(client: Client, text: str) -> Any:
    confirm_password(client)
    file = SimpleUploadedFile("cursos.csv", text.encode())
    return client.post(LIST_PAGE, {"file": file})


def _confirm(client: Client, preview: Any) -> Any:
    """Press the button of a preview."""
    changes = preview.context["changes"]
    sent = {
        "code": [change.code for change in changes],
        "shortname": [change.after for change in changes],
        "file_name": preview.context["file_name"],
        "confirmed": "yes",
    }
    return client.post(LIST_PAGE, sent)


def test_downloaded_list_is_filled_in_and_uploaded(ready, subject):
    client = _client("view_moodlecourse", "add_moodlecourse", "change_moodlecourse")
    ready.add_course("MICRO")
    downloaded = client.get("/admin/classroom/moodlecourse/lista.csv").content.decode("utf-8-sig")
    header, first, *others = downloaded.splitlines()
    assert first.startswith(f"asignatura-{subject.pk};")
    assert len(others) == len(_lessons(subject))

    filled = "\r\n".join([header, first.removesuffix(";;") + ";MICRO;", *others])
    preview = _upload(client, filled)
    assert "Cambia <strong>1 curso</strong>" in preview.text
    assert not MoodleCourse.objects.exists()
    answer = _confirm(client, preview)

    assert answer.status_code == 302
    row = MoodleCourse.objects.get()
    assert (row.subject, row.lesson, row.shortname) == (subject, None, "MICRO")
    assert row.course_id == ready.courses["MICRO"]
    again = client.get("/admin/classroom/moodlecourse/lista.csv").content.decode("utf-8-sig")
    assert ";MICRO;Curso MICRO" in again
    assert _upload(client, filled).status_code == 302, "nothing is left to change"


@pytest.fixture
def many(ready: Any) -> list[Subject]:
    """Six subjects with former courses in Moodle; the last two share one."""
    rows = [make_subject(f"S{n}", lessons=0) for n in range(6)]
    for row in rows:
        shared = min(row.pk, rows[4].pk)
        MoodleCourse.objects.create(
            subject=row, shortname=f"OLD{shared}", full_name="x", course_id=9000 + shared
        )
    return rows


def test_list_asks_once_for_each_course_and_logs_old_and_new_names(ready, many):
    client = _client("add_moodlecourse", "change_moodlecourse", "view_moodlecourse")
    lines = [f"asignatura-{row.pk};NEW{row.pk}" for row in many]
    for row in many:
        ready.add_course(f"NEW{row.pk}")
    preview = _upload(client, "\n".join(["codigo;nombre_corto", *lines]))
    ready.calls.clear()
    assert _confirm(client, preview).status_code == 302

    # Six new names and five former courses.
    assert ready.calls.count("core_course_get_courses_by_field") == 11
    text = StaffAction.objects.get(about="classroom.moodlecourse").text.splitlines()
    assert text[0] == "Lista de cursos de Moodle: 6 cambiados."
    first = many[0].pk
    assert f"asignatura-{first}: OLD{first} → NEW{first}" in text


def test_list_that_asks_moodle_too_much_is_refused(ready, many, monkeypatch):
    monkeypatch.setattr("apps.classroom.course_list.MOST_ASKED", 10)
    lines = [f"asignatura-{row.pk};NEW{row.pk}" for row in many]
    client = _client("add_moodlecourse", "change_moodlecourse")
    answer = _upload(client, "\n".join(["codigo;nombre_corto", *lines]))

    assert "preguntar a Moodle por 11 cursos" in answer.text
    assert ready.calls == []


def test_list_gives_several_lines_one_course_only_if_they_share_it_already(ready, many):
    ready.add_course("UNO")
    client = _client("add_moodlecourse", "change_moodlecourse")
    filled_down = [f"asignatura-{row.pk};UNO" for row in many]
    answer = _upload(client, "\n".join(["codigo;nombre_corto", *filled_down]))
    assert answer.text.count("está en varias líneas") == 6
    sent = {"code": [f"asignatura-{row.pk}" for row in many], "shortname": ["UNO"] * 6}
    client.post(LIST_PAGE, {**sent, "confirmed": "yes"})
    assert not MoodleCourse.objects.filter(shortname="UNO").exists()

    shared = f"OLD{many[4].pk}"
    lines = [f"asignatura-{row.pk};{shared}" for row in many[4:]]
    lines.append(f"asignatura-{many[0].pk};UNO")
    preview = _upload(client, "\n".join(["codigo;nombre_corto", *lines]))
    assert _confirm(client, preview).status_code == 302
    assert MoodleCourse.objects.get(shortname="UNO").subject == many[0]


def test_list_needs_a_fresh_password(ready, many):
    client = _client("add_moodlecourse", "change_moodlecourse")
    forget_password(client)
    assert client.get(LIST_PAGE).status_code == 302
    sent = {"code": f"asignatura-{many[0].pk}", "shortname": "UNO", "confirmed": "yes"}
    assert client.post(LIST_PAGE, sent).status_code == 307
    assert not MoodleCourse.objects.filter(shortname="UNO").exists()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("asignatura-999999;MICRO", "No hay asignatura ni lección «asignatura-999999»"),
        ("{code};NADA", "Moodle no tiene ningún curso con el nombre corto «NADA»"),
        ("{code};MICRO\n{code};MICRO", "está dos veces"),
        ("{code};" + "x" * 256, "como mucho 255"),
        ("x" * 500 + ";MICRO", f"No hay asignatura ni lección «{'x' * 80}…»"),
        ("x" * 40_000 + ";MICRO", "La celda número 1 tiene más de 32.767 caracteres"),
    ],
)
def test_list_with_an_error_changes_nothing(ready, subject, lines, message):
    client = _client("add_moodlecourse", "change_moodlecourse")
    ready.add_course("MICRO")
    ready.add_course("OTRO")
    good = [f"leccion-{_lessons(subject)[0]};OTRO"]
    text = "\n".join(["codigo;nombre_corto", *good, lines.format(code=f"asignatura-{subject.pk}")])

    answer = _upload(client, text)

    assert message in answer.content.decode()
    assert not MoodleCourse.objects.exists()


@pytest.mark.parametrize("text", ["", "a;b\n1;2", 'codigo;nombre_corto\n"', "\0\0"])
def test_file_that_is_no_list_gets_an_error(ready, text):
    answer = _upload(_client("add_moodlecourse", "change_moodlecourse"), text)

    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()


def test_list_for_a_moodle_that_does_not_answer_changes_nothing(ready, moodle, subject):
    moodle.down = True

    text = f"codigo;nombre_corto\nasignatura-{subject.pk};MICRO"
    answer = _upload(_client("add_moodlecourse", "change_moodlecourse"), text)

    assert "El aula no contesta" in answer.content.decode()
    assert not MoodleCourse.objects.exists()
