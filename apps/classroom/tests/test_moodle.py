"""The Moodle classroom against a server that speaks Moodle's protocol."""

from datetime import date, datetime, timedelta
from threading import Event
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from academy.tests.factories import make_subject
from academy.tests.parallel import in_parallel
from apps.classroom import access, privacy, services
from apps.classroom.access import (
    Cause,
    pause_access,
    resume_access,
    tell_classroom,
    withdraw_access,
)
from apps.classroom.backends.moodle import MoodleClassroom
from apps.classroom.links import make_token
from apps.classroom.models import AccessChange, Account, Enrolment, MoodleCourse, Provisioning
from apps.classroom.services import account_status, grant_access, provision
from apps.classroom.tests.moodle_server import POLICY, TOKEN, FakeMoodle, running_moodle
from apps.core.mail.registry import render_mail
from apps.core.models import Mail
from apps.core.owed import PAUSES
from apps.core.privacy import erase_all
from apps.students.services import find_or_create_student

pytestmark = pytest.mark.django_db
ORDER = "pedido-7"


@pytest.fixture
def moodle(settings):
    with running_moodle() as moodle:
        settings.CLASSROOM = "moodle"
        settings.MOODLE_URL, settings.MOODLE_TOKEN = moodle.url, TOKEN
        settings.PORTAL_URL = f"{moodle.url}/my/"
        yield moodle


@pytest.fixture
def ana(db):
    return find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="Ana")


@pytest.fixture
def micro(db):
    return make_subject("Microeconomía")


def buy(student, *items, reference=ORDER):
    grant_access(student=student, items=items, reference=reference)
    provision.func(reference=reference)


def tell_all():
    for change in AccessChange.objects.order_by("pk"):
        tell_classroom.func(change_id=change.pk)


def only_user(moodle: FakeMoodle):
    (user,) = moodle.users.values()
    return user


def test_a_purchase_makes_the_user_and_enrols_until_the_end_of_the_semester(moodle, ana, micro):
    course = moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    grant_access(student=ana, items=[(micro.pk, None)], reference=ORDER)
    Provisioning.objects.update(ends_on=date(2027, 2, 28))
    provision.func(reference=ORDER)

    user = only_user(moodle)
    assert (user["username"], user["email"]) == ("ana@example.com", "ana@example.com")
    assert (user["firstname"], user["lastname"]) == ("Ana", "de la academia")
    assert user["idnumber"] == f"academia-{ana.pk}"
    midnight = datetime(2027, 3, 1, tzinfo=ZoneInfo("Europe/Madrid"))
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


def test_a_second_order_uses_the_same_user(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    other = make_subject("Estadística")
    moodle.add_course("EST", f"asignatura-{other.pk}")
    buy(ana, (micro.pk, None))
    buy(ana, (other.pk, None), reference="pedido-8")
    assert len(moodle.users) == 1
    assert len(moodle.enrolments) == 2
    assert moodle.calls.count("core_user_create_users") == 1


def test_a_user_that_moodle_had_before_is_taken_up_and_marked(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    there = moodle.add_user(username="ana.gil", email="ana@example.com", password="x")
    buy(ana, (micro.pk, None))
    assert only_user(moodle)["idnumber"] == f"academia-{ana.pk}"
    account = Account.objects.get()
    assert (account.external_id, account.username) == (str(there), "ana.gil")
    text = render_mail(
        "classroom_access", {"provisioning_id": Provisioning.objects.get().pk}, reveal=True
    ).text
    assert "Tu usuario es ana.gil." in text


def test_an_address_that_is_no_username_there_gets_one_that_is(moodle, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    odd = find_or_create_student(email="ana+uned@example.com", phone="+34600111111")
    buy(odd, (micro.pk, None))
    user = only_user(moodle)
    assert (user["username"], user["email"]) == (f"alumno-{odd.pk}", "ana+uned@example.com")


def test_a_lost_answer_makes_no_second_user(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    with time_machine.travel(timezone.now(), tick=False) as clock:
        moodle.drop_answers = 3
        buy(ana, (micro.pk, None))
        while account_status(ORDER) == "pending":
            clock.shift(PAUSES[0])
            clock.shift(PAUSES[1])
            provision.func(reference=ORDER)
    assert len(moodle.users) == 1
    assert len(moodle.enrolments) == 1


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda m, s: setattr(s, "MOODLE_TOKEN", "wrong"), "Invalid token - token not found"),
        (lambda m, s: setattr(m, "down", True), "core_user_get_users_by_field: HTTPError"),
        (lambda m, s: setattr(s, "MOODLE_URL", ""), "Faltan MOODLE_URL y MOODLE_TOKEN"),
        (lambda m, s: m.courses.clear(), "Falta el curso de Moodle de «Microeconomía»."),
    ],
)
def test_what_goes_wrong_is_kept_for_staff_and_tried_again(
    moodle, settings, ana, micro, break_it, said
):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    break_it(moodle, settings)
    buy(ana, (micro.pk, None))
    row = Provisioning.objects.get()
    assert (row.status, row.attempts) == ("pending", 1)
    assert said in row.last_error
    assert not Mail.objects.exists()


def test_a_course_that_moodle_has_lost_is_an_error_with_status_200(moodle, ana, micro):
    MoodleCourse.objects.create(subject=micro, shortname="MICRO", course_id=77, full_name="Micro")
    buy(ana, (micro.pk, None))
    assert "Course context not valid" in Provisioning.objects.get().last_error


def test_the_course_that_staff_named_comes_before_the_agreed_number(moodle, ana, micro):
    moodle.add_course("AGREED", f"asignatura-{micro.pk}")
    named = moodle.add_course("NAMED")
    MoodleCourse.objects.create(subject=micro, shortname="NAMED", course_id=named, full_name="N")
    buy(ana, (micro.pk, None))
    assert [course for _, course in moodle.enrolments] == [named]
    assert "core_course_get_courses_by_field" not in moodle.calls


def test_pause_end_of_pause_and_refund_arrive_in_moodle(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))

    def suspended():
        return [row["suspended"] for row in moodle.enrolments.values()]

    pause_access(reference=ORDER, cause=Cause.OVERDUE)
    tell_all()
    assert suspended() == [True]
    resume_access(reference=ORDER, cause=Cause.OVERDUE)
    tell_all()
    assert suspended() == [False]
    withdraw_access(reference=ORDER)
    tell_all()
    assert moodle.enrolments == {}
    assert {change.status for change in AccessChange.objects.all()} == {"done"}


def test_lessons_that_share_a_course_keep_it_while_one_is_open(moodle, ana, micro):
    course = moodle.add_course("MICRO")
    first, second = micro.lessons.all()
    for lesson in (first, second):
        MoodleCourse.objects.create(
            subject=micro, lesson=lesson, shortname="MICRO", course_id=course, full_name="M"
        )
    buy(ana, (micro.pk, first.pk), (micro.pk, second.pk))
    withdraw_access(reference=ORDER, items=[(micro.pk, first.pk)])
    tell_all()
    assert [course for _, course in moodle.enrolments] == [course]


def test_the_one_time_link_sets_names_and_password_in_moodle(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    account, client = Account.objects.get(), Client()
    link = f"/aula/acceso/{make_token(account)}"
    assert "ana@example.com" in client.get(link).content.decode()
    answer = client.post(link, password_form("Estudiar-de-noche-7"))
    assert (answer.status_code, answer["Location"]) == (302, f"{moodle.url}/my/")
    user = only_user(moodle)
    assert (user["password"], user["lastname"]) == ("Estudiar-de-noche-7", "Gil")
    account.refresh_from_db()
    # Here stands only that there is one: it fits no password.
    assert account.password.startswith("!")
    assert "Estudiar" not in account.password
    assert client.get(link).status_code == 410, "it works once"


@pytest.mark.parametrize(
    ("warns_instead", "said"),
    [
        (False, f"El aula no acepta esta contraseña: {POLICY}"),
        (True, "El aula no acepta esta contraseña. Prueba con otra más larga"),
    ],
)
def test_a_password_against_moodle_s_policy_says_so_and_keeps_the_link(
    moodle, ana, micro, warns_instead, said
):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    moodle.warns_instead = warns_instead
    buy(ana, (micro.pk, None))
    link = f"/aula/acceso/{make_token(Account.objects.get())}"
    answer = Client().post(link, password_form("EstudiarDeNoche7"))
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert Client().get(link).status_code == 200


def test_a_moodle_that_is_away_keeps_the_link(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    link = f"/aula/acceso/{make_token(Account.objects.get())}"
    moodle.down = True
    answer = Client().post(link, password_form("Estudiar-de-noche-7"))
    assert answer.status_code == 200
    assert "El aula no responde ahora mismo." in answer.content.decode()
    moodle.down = False
    assert Client().post(link, password_form("Estudiar-de-noche-7")).status_code == 302


def test_the_id_of_the_classroom_before_is_nobody_s_in_moodle(moodle, ana, settings, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    settings.CLASSROOM = "local"
    buy(ana, (micro.pk, None))
    account = Account.objects.get()
    stranger = {"username": "admin", "email": "direccion@example.com", "password": "De-antes-1"}
    moodle.users[int(account.external_id)] = {
        "id": int(account.external_id),
        "idnumber": "",
        **stranger,
    }
    settings.CLASSROOM = "moodle"

    link = f"/aula/acceso/{make_token(account)}"
    assert Client().post(link, password_form("Estudiar-de-noche-7")).status_code == 302
    assert moodle.users[int(account.external_id)]["password"] == "De-antes-1"
    account.refresh_from_db()
    assert moodle.users[int(account.external_id)]["email"] == "ana@example.com"


def test_who_is_forgotten_is_kept_out_of_the_account_there_was_and_of_no_other(moodle, micro):
    course = moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    # The university's number stands where ours would, so that the address is all that joins them.
    there = moodle.add_user(username="ana.gil", email="ana@example.com", idnumber="UNED-7")
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111")
    buy(ana, (micro.pk, None))
    assert set(moodle.enrolments) == {(there, course)}

    erase_all("ana@example.com")
    tell_all()
    assert moodle.enrolments == {}
    assert len(moodle.users) == 1
    account = Account.objects.get()
    assert (account.username, account.password) == ("", "")


def test_who_is_forgotten_while_moodle_is_asked_leaves_no_name_behind(moodle, micro, monkeypatch):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111")
    ensure = MoodleClassroom.ensure_account

    def forgotten_meanwhile(self, student, known_id):
        there = ensure(self, student, known_id)
        erase_all("ana@example.com")
        return there

    monkeypatch.setattr(MoodleClassroom, "ensure_account", forgotten_meanwhile)
    buy(ana, (micro.pk, None))
    tell_all()
    assert Account.objects.get().username == ""
    assert moodle.enrolments == {}
    assert not Mail.objects.filter(template="classroom_access").exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_forgetting_and_providing_at_once_take_their_locks_in_one_order(
    moodle, ana, micro, monkeypatch
):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    grant_access(student=ana, items=[(micro.pk, None)], reference="pedido-8")
    provides, has_student = Event(), Event()
    settle, withdraw = services.settle, privacy.withdraw_access

    def settle_late(student, **how):
        # It holds its own row; the other has taken the student's if it did not wait for this one.
        provides.set()
        has_student.wait(1)
        settle(student, **how)

    def withdraw_and_say(**how):
        withdraw(**how)
        has_student.set()

    monkeypatch.setattr(services, "settle", settle_late)
    monkeypatch.setattr(privacy, "withdraw_access", withdraw_and_say)

    def forget():
        assert provides.wait(20)
        erase_all("ana@example.com")

    work = [forget, lambda: provision.func(reference="pedido-8")]
    in_parallel(lambda: work.pop()(), 2)
    assert not Enrolment.objects.exists()
    assert account_status("pedido-8") == "created"
    assert Provisioning.objects.get(reference="pedido-8").attempts == 1


def test_an_access_that_was_still_owed_when_its_student_was_forgotten_is_nobody_s(moodle, micro):
    moodle.down = True
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111")
    with time_machine.travel(timezone.now(), tick=False) as clock:
        buy(ana, (micro.pk, None))
        erase_all("ana@example.com")
        moodle.down = False
        clock.shift(timedelta(hours=1))
        provision.func(reference=ORDER)
    assert account_status(ORDER) == "created", "nobody waits for it any more"
    assert moodle.users == {}
    assert not Mail.objects.filter(template="classroom_access").exists()


def test_a_username_that_moodle_does_not_tell_is_the_address(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    moodle.hides_usernames = True
    moodle.add_user(username="ana@example.com", email="ana@example.com", password="x")
    buy(ana, (micro.pk, None))
    assert Account.objects.get().username == "ana@example.com"


def test_who_comes_to_moodle_late_with_old_rights_puts_them_right(moodle, ana, micro, monkeypatch):
    course = moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    buy(ana, (micro.pk, None))
    pause_access(reference=ORDER, cause=Cause.OVERDUE)
    resume_access(reference=ORDER, cause=Cause.OVERDUE)
    slow = AccessChange.objects.earliest("pk")
    bring, overtaken = access.bring_to_classroom, []

    def overtaken_by_a_pause(student, rights):
        # It has read the rights; now they change, and another worker is there first with the news.
        if not overtaken:
            overtaken.append(True)
            pause_access(reference=ORDER, cause=Cause.DISPUTE)
            tell_classroom.func(change_id=AccessChange.objects.latest("pk").pk)
        bring(student, rights)

    monkeypatch.setattr(access, "bring_to_classroom", overtaken_by_a_pause)
    tell_classroom.func(change_id=slow.pk)
    assert moodle.enrolments[only_user(moodle)["id"], course]["suspended"]


def test_the_site_s_own_classroom_leads_to_moodle(moodle):
    assert Client().get("/aula")["Location"] == f"{moodle.url}/my/"


def test_staff_name_courses_that_moodle_has(moodle, admin_client, micro):
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


def test_the_token_is_in_no_log(moodle, settings, ana, micro, caplog):
    caplog.set_level("DEBUG")
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    moodle.down = True
    buy(ana, (micro.pk, None))
    assert "moodle" in caplog.text.lower() or "provisioning" in caplog.text
    assert TOKEN not in caplog.text
    assert TOKEN not in Provisioning.objects.get().last_error


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_orders_provided_at_once_make_one_user(moodle, ana, micro):
    moodle.add_course("MICRO", f"asignatura-{micro.pk}")
    references = [f"pedido-{number}" for number in range(6)]
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for reference in references:
            grant_access(student=ana, items=[(micro.pk, None)], reference=reference)
        waiting = list(references)
        in_parallel(lambda: provision.func(reference=waiting.pop()), 6)
        clock.shift(PAUSES[0] + timedelta(seconds=1))
        for reference in references:
            provision.func(reference=reference)
    assert {account_status(reference) for reference in references} == {"created"}
    assert len(moodle.users) == 1


def password_form(password):
    return {
        "first_name": "Ana",
        "last_name": "Gil",
        "password": password,
        "password_again": password,
    }
