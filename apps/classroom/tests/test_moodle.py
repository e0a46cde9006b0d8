"""The Moodle backend, against a fake Moodle server."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from threading import BoundedSemaphore, Event
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.classroom import privacy, provisioning, sync
from apps.classroom.access import Cause, pause_access, resume_access, withdraw_access
from apps.classroom.access_links import make_token
from apps.classroom.backends.moodle import client
from apps.classroom.backends.moodle.classroom import MoodleClassroom
from apps.classroom.backends.moodle.client import MoodleError
from apps.classroom.backends.moodle.groups import group_name
from apps.classroom.models import AccessChange, Account, Enrolment, MoodleCourse, Provisioning
from apps.classroom.provisioning import account_status, grant_access, provision
from apps.classroom.sync import sync_classroom
from apps.classroom.tests.moodle_server import POLICY, TOKEN, FakeMoodle
from apps.classroom.views import BY_LINK
from apps.core.models import Mail
from apps.core.privacy import erase_all
from apps.core.retries import RETRY_DELAYS
from apps.students.services import find_or_create_student
from tests.helpers.admin import make_staff
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db
ORDER = 7


@pytest.fixture
def micro(db):
    return make_subject("Microeconomía")


def buy(student, *items, order_id=ORDER):
    grant_access(student=student, items=items, order_id=order_id)
    provision.func(order_id=order_id)


def sync_all():
    for change in AccessChange.objects.order_by("pk"):
        sync_classroom.func(change_id=change.pk)


def only_user(moodle: FakeMoodle):
    (user,) = moodle.users.values()
    return user


def test_a_purchase_creates_the_user_and_enrols_until_the_end_of_the_semester(moodle, ana, micro):
    course = moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    grant_access(student=ana, items=[(micro.pk, None)], order_id=ORDER)
    last_day = timezone.localdate() + timedelta(days=60)
    Provisioning.objects.update(ends_on=last_day)
    provision.func(order_id=ORDER)

    user = only_user(moodle)
    assert (user["username"], user["email"]) == ("ana@example.com", "ana@example.com")
    assert (user["firstname"], user["lastname"]) == ("Ana", "de la academia")
    ana.refresh_from_db()
    assert user["idnumber"] == ana.classroom_key
    after = last_day + timedelta(days=1)
    midnight = datetime(after.year, after.month, after.day, tzinfo=ZoneInfo("Europe/Madrid"))
    assert moodle.enrolments == {
        (user["id"], course): {
            "role": 5,
            "timeend": int(midnight.timestamp()),
            "suspended": False,
        }
    }
    assert account_status(ORDER) == "created"
    account = Account.objects.get()
    assert (account.external_id, account.username) == (str(user["id"]), "ana@example.com")


def test_a_lost_answer_creates_no_second_user(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    with time_machine.travel(timezone.now(), tick=False) as clock:
        moodle.drop_answers = 3
        buy(ana, (micro.pk, None))
        while account_status(ORDER) == "pending":
            clock.shift(RETRY_DELAYS[0])
            clock.shift(RETRY_DELAYS[1])
            provision.func(order_id=ORDER)
    assert len(moodle.users) == 1
    assert len(moodle.enrolments) == 1


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (
            lambda m, s: setattr(s, "MOODLE_TOKEN", "wrong"),
            "Moodle no conoce la clave de MOODLE_TOKEN",
        ),
        (
            lambda m, s: setattr(m, "down", True),
            "El aula no contesta (core_user_get_users_by_field: HTTPError).",
        ),
        (
            lambda m, s: setattr(m, "services_are_off", True),
            "Los servicios web de Moodle o su protocolo REST están apagados: marca",
        ),
        (
            lambda m, s: setattr(m, "moved_to", "https://aula.example"),
            "MOODLE_URL lleva a otra dirección, https://aula.example:",
        ),
        (lambda m, s: setattr(s, "MOODLE_URL", ""), "Faltan MOODLE_URL y MOODLE_TOKEN"),
        (lambda m, s: m.courses.clear(), "Falta el curso de Moodle de «Microeconomía»."),
    ],
)
def test_an_error_is_stored_for_staff_and_retried(moodle, settings, ana, micro, break_it, message):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    break_it(moodle, settings)
    buy(ana, (micro.pk, None))
    row = Provisioning.objects.get()
    assert (row.status, row.attempts) == ("pending", 1)
    assert message in row.last_error
    assert "MoodleError" not in row.last_error
    assert not Mail.objects.exists()


def test_the_course_entered_by_staff_wins_over_the_idnumber(moodle, ana, micro):
    moodle.add_course("AGREED", f"asignatura-{micro.pk}")
    named = moodle.add_course("NAMED")
    MoodleCourse.objects.create(subject=micro, shortname="NAMED", course_id=named, full_name="N")
    buy(ana, (micro.pk, None))
    assert [course for _, course in moodle.enrolments] == [named]


def test_a_course_shared_by_lessons_stays_open_while_one_lesson_is_open(moodle, ana, micro):
    course = moodle.add_course("MICRO")
    first, second = micro.lessons.all()
    for lesson in (first, second):
        MoodleCourse.objects.create(
            subject=micro, lesson=lesson, shortname="MICRO", course_id=course, full_name="M"
        )
    buy(ana, (micro.pk, first.pk), (micro.pk, second.pk))
    withdraw_access(order_id=ORDER, items=[(micro.pk, first.pk)])
    sync_all()
    assert [course for _, course in moodle.enrolments] == [course]


def test_the_one_time_link_sets_names_and_password_in_moodle(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    account, client = Account.objects.get(), Client()
    link = f"/aula/acceso?enlace={make_token(account)}"
    assert "ana@example.com" in client.get(link).content.decode()
    answer = client.post(link, password_form("Estudiar-de-noche-7"))
    assert (answer.status_code, answer["Location"]) == (302, f"{moodle.url}/my/")
    user = only_user(moodle)
    assert (user["password"], user["lastname"]) == ("Estudiar-de-noche-7", "Gil")
    account.refresh_from_db()
    # The stored value is unusable: it matches no password.
    assert account.password.startswith("!")
    assert "Estudiar" not in account.password
    assert client.get(link).status_code == 410, "it works once"


@pytest.mark.parametrize(
    ("warns_instead", "message"),
    [
        (False, f"El aula no acepta esta contraseña: {POLICY}"),
        (True, "El aula no acepta esta contraseña. Prueba con otra más larga"),
    ],
)
def test_a_password_that_violates_moodle_s_policy_keeps_the_link_usable(
    moodle, ana, micro, warns_instead, message
):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    moodle.warns_instead = warns_instead
    buy(ana, (micro.pk, None))
    link = f"/aula/acceso?enlace={make_token(Account.objects.get())}"
    answer = Client().post(link, password_form("EstudiarDeNoche7"))
    assert answer.status_code == 200
    assert message in answer.content.decode()
    assert Client().get(link).status_code == 200


def test_the_link_stays_usable_if_moodle_is_down(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    link = f"/aula/acceso?enlace={make_token(Account.objects.get())}"
    moodle.down = True
    answer = Client().post(link, password_form("Estudiar-de-noche-7"))
    assert answer.status_code == 200
    assert "El aula no responde ahora mismo." in answer.content.decode()
    moodle.down = False
    assert Client().post(link, password_form("Estudiar-de-noche-7")).status_code == 302


def test_an_account_id_of_the_previous_classroom_is_not_used_in_moodle(
    moodle, ana, settings, micro
):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    settings.CLASSROOM = "local"
    buy(ana, (micro.pk, None))
    account = Account.objects.get()
    stranger = {"username": "admin", "email": "direccion@example.com", "password": "De-antes-1"}
    there = moodle.add_user(**stranger)
    moodle.users[int(account.external_id)] = {
        **moodle.users.pop(there),
        "id": int(account.external_id),
    }
    settings.CLASSROOM = "moodle"

    link = f"/aula/acceso?enlace={make_token(account)}"
    assert Client().post(link, password_form("Estudiar-de-noche-7")).status_code == 302
    assert moodle.users[int(account.external_id)]["password"] == "De-antes-1"
    account.refresh_from_db()
    assert moodle.users[int(account.external_id)]["email"] == "ana@example.com"


def test_erasure_unenrols_the_student_s_moodle_user_and_creates_none(moodle, micro):
    course = moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    # The user has another idnumber, so only the e-mail matches.
    there = moodle.add_user(username="ana.gil", email="ana@example.com", idnumber="UNED-7")
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111")
    buy(ana, (micro.pk, None))
    assert set(moodle.enrolments) == {(there, course)}

    erase_all("ana@example.com")
    sync_all()
    assert moodle.enrolments == {}
    assert len(moodle.users) == 1
    account = Account.objects.get()
    assert (account.username, account.password) == ("", "")


def test_erasure_during_a_moodle_call_leaves_no_username_behind(moodle, micro, monkeypatch):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111")
    ensure = MoodleClassroom.ensure_account

    def erase_meanwhile(self, student, known):
        account = ensure(self, student, known)
        erase_all("ana@example.com")
        return account

    monkeypatch.setattr(MoodleClassroom, "ensure_account", erase_meanwhile)
    buy(ana, (micro.pk, None))
    sync_all()
    assert Account.objects.get().username == ""
    assert moodle.enrolments == {}
    assert not Mail.objects.filter(template="classroom_access").exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_erasure_and_provisioning_do_not_deadlock(moodle, ana, micro, monkeypatch):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    grant_access(student=ana, items=[(micro.pk, None)], order_id=8)
    provisioning_started, student_locked = Event(), Event()
    update, withdraw = provisioning.update_enrolments, privacy.withdraw_access

    def update_late(student, **options):
        # The worker holds its provisioning. With a wrong lock order the erasure now holds the
        # student, and the two deadlock.
        provisioning_started.set()
        student_locked.wait(1)
        return update(student, **options)

    def withdraw_and_signal(**options):
        withdraw(**options)
        student_locked.set()

    monkeypatch.setattr(provisioning, "update_enrolments", update_late)
    monkeypatch.setattr(privacy, "withdraw_access", withdraw_and_signal)

    def erase():
        assert provisioning_started.wait(20)
        erase_all("ana@example.com")

    calls = [erase, lambda: provision.func(order_id=8)]
    in_parallel(lambda: calls.pop()(), 2)
    assert not Enrolment.objects.exists()
    assert account_status(8) == "created"
    assert Provisioning.objects.get(order_id=8).attempts == 1


def test_pending_access_is_dropped_when_its_student_is_erased(moodle, micro):
    moodle.down = True
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111")
    with time_machine.travel(timezone.now(), tick=False) as clock:
        buy(ana, (micro.pk, None))
        erase_all("ana@example.com")
        moodle.down = False
        clock.shift(timedelta(hours=1))
        provision.func(order_id=ORDER)
    assert account_status(ORDER) == "created"
    assert moodle.users == {}
    assert not Mail.objects.filter(template="classroom_access").exists()


def test_the_email_is_the_username_if_moodle_hides_usernames(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    moodle.hides_usernames = True
    moodle.add_user(username="ana@example.com", email="ana@example.com", password="x")
    buy(ana, (micro.pk, None))
    assert Account.objects.get().username == "ana@example.com"


def test_a_worker_that_sends_outdated_rights_corrects_them(moodle, ana, micro, monkeypatch):
    course = moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    pause_access(order_id=ORDER, cause=Cause.OVERDUE)
    resume_access(order_id=ORDER, cause=Cause.OVERDUE)
    slow = AccessChange.objects.earliest("pk")
    send, overtaken = sync.send_rights, []

    def overtaken_by_a_pause(student, rights):
        # The rights change after this worker has read them, and another worker sends them first.
        if not overtaken:
            overtaken.append(True)
            pause_access(order_id=ORDER, cause=Cause.DISPUTE)
            sync_classroom.func(change_id=AccessChange.objects.latest("pk").pk)
        return send(student, rights)

    monkeypatch.setattr(sync, "send_rights", overtaken_by_a_pause)
    sync_classroom.func(change_id=slow.pk)
    assert moodle.enrolments[only_user(moodle)["id"], course]["suspended"]


def test_aula_redirects_to_moodle(moodle):
    assert Client().get("/aula")["Location"] == f"{moodle.url}/my/"


def test_staff_can_only_enter_courses_that_exist_in_moodle(moodle, admin_client, micro):
    other = make_subject("Estadística")
    course = moodle.add_course("MICRO")
    url = "/admin/classroom/moodlecourse/add/"

    def save(**fields):
        return admin_client.post(url, {"subject": micro.pk, "lesson": "", **fields})

    page = save(shortname="MACRO").content.decode()
    assert "Moodle no tiene ningún curso con este nombre corto." in page
    page = save(shortname="MICRO", lesson=other.lessons.first().pk).content.decode()
    assert "Esta lección es de otra asignatura." in page
    moodle.down = True
    assert "Moodle no responde como debe" in save(shortname="MICRO").content.decode()
    moodle.down = False
    assert save(shortname="MICRO").status_code == 302
    row = MoodleCourse.objects.get()
    assert (row.course_id, row.full_name) == (course, "Curso MICRO")
    page = admin_client.get("/admin/classroom/moodlecourse/").content.decode()
    assert "Asignaturas a la venta sin curso: 1." in page


def test_who_writes_contents_gives_new_things_only_courses_of_their_own(moodle, client, micro):
    """Else a cheap lesson could open the course of a dear subject."""
    make_staff("celia", group="Contenido", client=client)
    cheap = make_subject("Barata", "1.00")
    opened = moodle.add_course("MICRO")
    MoodleCourse.objects.create(
        subject=micro, course_id=opened, shortname="MICRO", full_name="Curso MICRO"
    )
    moodle.add_course("LECCION", f"leccion-{micro.lessons.first().pk}")
    # Many of Moodle's databases find these whatever their capitals, accents and forms of digits.
    moodle.add_course("MAYUSCULA", f"Asignatura-{micro.pk}")
    moodle.add_course("ACENTO", f"LECCIÓN-{micro.lessons.first().pk} ")
    moodle.add_course("ANCHA", "asignatura-\uff15\uff18")
    moodle.add_course("BARATA", f"asignatura-{cheap.pk}")
    url = "/admin/classroom/moodlecourse/add/"

    for shortname in ("MICRO", "LECCION", "MAYUSCULA", "ACENTO", "ANCHA"):
        page = client.post(url, {"subject": cheap.pk, "lesson": "", "shortname": shortname})
        assert "Este curso ya lo abre otra asignatura o lección." in page.text
    row = MoodleCourse.objects.get()
    change = f"/admin/classroom/moodlecourse/{row.pk}/change/"
    assert client.post(change, {"subject": cheap.pk, "shortname": "MICRO"}).status_code == 403
    assert client.post(f"/admin/classroom/moodlecourse/{row.pk}/delete/").status_code == 403
    assert client.post("/admin/classroom/moodlecourse/lista/").status_code == 403
    answer = client.post(url, {"subject": cheap.pk, "lesson": "", "shortname": "BARATA"})
    assert answer.status_code == 302


def test_the_token_is_not_logged(moodle, settings, ana, micro, caplog):
    caplog.set_level("DEBUG")
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    moodle.down = True
    buy(ana, (micro.pk, None))
    assert "moodle" in caplog.text.lower() or "provisioning" in caplog.text
    assert TOKEN not in caplog.text
    assert TOKEN not in Provisioning.objects.get().last_error


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_provisioning_of_several_orders_creates_one_user(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    order_ids = [*range(6)]
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for order_id in order_ids:
            grant_access(student=ana, items=[(micro.pk, None)], order_id=order_id)
        waiting = list(order_ids)
        in_parallel(lambda: provision.func(order_id=waiting.pop()), 6)
        clock.shift(RETRY_DELAYS[0] + timedelta(seconds=1))
        for order_id in order_ids:
            provision.func(order_id=order_id)
    assert {account_status(order_id) for order_id in order_ids} == {"created"}
    assert len(moodle.users) == 1


def password_form(password):
    return {
        "first_name": "Ana",
        "last_name": "Gil",
        "password": password,
        "password_again": password,
    }


def test_a_group_that_is_refused_keeps_no_access_closed_and_is_told_to_staff(
    moodle, ana, micro, settings
):
    settings.MOODLE_GROUP = "Grupo de {year}"
    course = moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    moodle.manages_groups = False
    buy(ana, (micro.pk, None))
    assert account_status(ORDER) == "created"
    assert (only_user(moodle)["id"], course) in moodle.enrolments
    assert Mail.objects.get().template == "classroom_access"
    # A second purchase waits for the same change.
    buy(ana, (micro.pk, None), order_id=8)
    change = AccessChange.objects.get()
    sync_all()
    change.refresh_from_db()
    assert change.last_error.startswith(f"Grupo en el curso {course}: Al rol")

    moodle.manages_groups = True
    change.bring_forward(lambda: None)
    sync_all()
    change.refresh_from_db()
    assert change.status == "done"
    [(_, members)] = moodle.groups.values()
    assert members == {only_user(moodle)["id"]}


def test_a_group_without_a_semester_has_the_day_as_its_name(settings, db):
    settings.MOODLE_GROUP = "<{semester}> {year}"
    assert group_name(date(2027, 9, 30)) == "Segundo semestre y septiembre 2027"
    assert group_name(date(2028, 2, 29)) == "Primer semestre 2028"
    assert group_name(date(2027, 5, 4)) == "04/05 2027"
    assert group_name(None) == ""


def test_a_site_administrator_who_has_no_role_is_not_linked(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    administrator = moodle.add_user(username="admin", email=ana.email)
    moodle.administrators.add(administrator)
    buy(ana, (micro.pk, None))
    assert Provisioning.objects.get().problem == "account"
    assert Account.objects.get().held_id == str(administrator)
    assert moodle.enrolments == {}


def test_another_role_in_a_course_keeps_an_account_from_being_linked(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    tutor = moodle.add_user(username="tutora", email=ana.email)
    # A role of the academy's own, with none of the rights that the shop asks for.
    moodle.enrol(tutor, moodle.add_course("TUTORIAS"), role=99)
    buy(ana, (micro.pk, None))
    assert Account.objects.get().held_id == str(tutor)


@time_machine.travel("2026-03-02T10:01:00+01:00", tick=False)
def test_link_asks_moodle_ten_times_in_a_quarter_of_an_hour(moodle, ana, micro):
    """A password that Moodle refuses leaves the link as it is, and each takes several calls."""
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    link = f"/aula/acceso?enlace={make_token(Account.objects.get())}"
    form = password_form("EstudiarDeNoche7")
    answers = [
        Client(REMOTE_ADDR=f"192.0.2.{number}").post(link, form) for number in range(BY_LINK.times)
    ]
    asked = len(moodle.calls)
    answers.append(Client().post(link, form))

    assert [answer.status_code for answer in answers] == [200] * BY_LINK.times + [429]
    assert "Demasiad" in answers[-1].text
    assert len(moodle.calls) == asked


def test_calls_that_wait_for_moodle_are_bounded(moodle, monkeypatch):
    """A slow Moodle would otherwise hold every thread of the web processes."""
    monkeypatch.setattr(client, "_places", BoundedSemaphore(1))
    inside, go_on = Event(), Event()

    def wait():
        inside.set()
        go_on.wait(30)

    moodle.before["core_user_get_users"] = wait
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.call, "core_user_get_users", criteria=[])
        assert inside.wait(30)
        with pytest.raises(MoodleError, match="ya se la espera"):
            client.call("core_user_get_users", criteria=[])
        go_on.set()
        first.exception()
    moodle.before.clear()
    client.call("core_course_get_courses_by_field", field="idnumber", value="x")
