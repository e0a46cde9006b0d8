"""The pages of /aula: one-time links, sign-in and the list of subjects."""

import re
from datetime import timedelta
from html import unescape

import pytest
import time_machine
from django.contrib.auth.hashers import check_password, get_hasher, make_password
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.formats import date_format

from apps.classroom import accounts
from apps.classroom.access_links import account_for, make_token
from apps.classroom.accounts import LinkUsed, set_password
from apps.classroom.models import Account
from apps.classroom.provisioning import grant_access, provision
from apps.core.dates import today
from apps.core.models import Mail
from apps.students.services import find_or_create_student
from tests.helpers.commands import run_worker
from tests.helpers.factories import enrol, make_subject
from tests.helpers.parallel import in_parallel

PASSWORD = "marea-alta-42"
WRONG = "El email o la contraseña no son correctos."

pytestmark = pytest.mark.django_db


@pytest.fixture
def student(db):
    return find_or_create_student(
        email="ana@example.com", phone="+34600111111", first_name="Ana", last_name="Gil"
    )


@pytest.fixture
def account(student):
    """Ana's account, its password not yet set."""
    return Account.objects.create(student=student)


@pytest.fixture
def with_password(account):
    account.password = make_password(PASSWORD)
    account.save()
    return account


def new_password(**changes):
    return {
        "first_name": "Ana María",
        "last_name": "Gil Ruiz",
        "password": PASSWORD,
        "password_again": PASSWORD,
        **changes,
    }


def read(response) -> str:
    """The page's text with single spaces."""
    return unescape(re.sub(r"\s+", " ", response.content.decode()))


def sign_in(client, email="ana@example.com", password=PASSWORD):
    return client.post("/aula", {"email": email, "password": password})


# ---------------------------------------------------------------- the one-time link


def test_opening_the_link_shows_the_form_and_does_not_use_it_up(client, account):
    token = make_token(account)
    for _ in range(2):
        page = client.get(f"/aula/acceso?enlace={token}")
        assert page.status_code == 200
    text = read(page)
    assert 'name="first_name" value="Ana"' in text
    assert 'name="last_name" value="Gil"' in text
    assert "ana@example.com" in text
    account.refresh_from_db()
    assert account.password == ""
    assert "sessionid" not in client.cookies


def test_the_link_sets_names_and_password_and_signs_in(client, account):
    answer = client.post(f"/aula/acceso?enlace={make_token(account)}", new_password())

    assert (answer.status_code, answer["Location"]) == (302, "/aula")
    account.refresh_from_db()
    assert check_password(PASSWORD, account.password)
    assert account.last_sign_in_at is not None
    assert (account.student.first_name, account.student.last_name) == ("Ana María", "Gil Ruiz")
    assert "Hola, Ana María" in read(client.get("/aula"))


def test_the_link_works_once(client, account):
    token = make_token(account)
    client.post(f"/aula/acceso?enlace={token}", new_password())

    thief = Client()
    assert thief.get(f"/aula/acceso?enlace={token}").status_code == 410
    answer = thief.post(f"/aula/acceso?enlace={token}", new_password(password="otra-clave-9"))
    assert answer.status_code == 410
    assert "El enlace ya no sirve" in read(answer)
    assert 'action="/aula/enlace"' in read(answer)
    assert "sessionid" not in thief.cookies
    account.refresh_from_db()
    assert check_password(PASSWORD, account.password)


def test_the_link_is_valid_for_seven_days(client, account):
    with time_machine.travel("2026-11-21 10:00:00+00:00", tick=False) as clock:
        token = make_token(account)
        clock.shift(timedelta(days=7))
        assert client.get(f"/aula/acceso?enlace={token}").status_code == 200
        clock.shift(timedelta(seconds=2))
        assert client.get(f"/aula/acceso?enlace={token}").status_code == 410


@pytest.mark.parametrize("token", ["x", "a:b:c", "%FF", "ImEi:1abc:zzz"])
def test_an_invalid_token_shows_the_used_link_page(client, token):
    assert client.get(f"/aula/acceso?enlace={token}").status_code == 410


def test_a_link_opens_only_its_own_account_until_the_email_changes(account):
    other = Account.objects.create(
        student=find_or_create_student(email="bruno@example.com", phone="+34600222222")
    )
    token = make_token(account)
    assert account_for(token) == account
    assert account_for(make_token(other)) == other
    account.student.email = "ana.nueva@example.com"
    account.student.save()
    assert account_for(token) is None


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"first_name": " "}, "first_name", "Escribe tu nombre."),
        ({"last_name": ""}, "last_name", "Escribe tus apellidos."),
        ({"first_name": "x" * 81}, "first_name", "Escribe como mucho 80 caracteres."),
        ({"password": ""}, "password", "Escribe una contraseña."),
        ({"password_again": ""}, "password_again", "Repite la contraseña."),
        ({"password_again": "otra"}, "password_again", "Las dos contraseñas no son iguales."),
        (
            {"password": "corta1"},
            "password",
            "La contraseña es demasiado corta.",
        ),
        ({"password": "12345678901"}, "password", "completamente numérica"),
        ({"password": "password123"}, "password", "demasiado común"),
        ({"password": "anamaria"}, "password", "demasiado similar"),
        ({"password": "ana@example.com"}, "password", "demasiado similar"),
    ],
)
def test_each_error_is_shown_at_its_field(client, account, changes, field, message):
    if changes.get("password"):
        changes["password_again"] = changes["password"]
    answer = client.post(f"/aula/acceso?enlace={make_token(account)}", new_password(**changes))

    assert answer.status_code == 200
    error = re.search(rf'id="id_{field}_error">([^<]*)<', read(answer))
    assert error, read(answer)
    assert message in error[1]
    assert re.search(
        rf'aria-describedby="[^"]*id_{field}_error"[^>]* id="id_{field}"', read(answer)
    )
    account.refresh_from_db()
    assert account.password == ""
    assert account.student.first_name == "Ana"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_uses_of_a_link_succeed_once(account):
    token = make_token(account)
    use = {"first_name": "Ana", "last_name": "Gil", "password": PASSWORD}
    answers = in_parallel(lambda: set_password(token=token, **use), 8)
    assert sum(isinstance(answer, LinkUsed) for answer in answers) == 7, answers


# ---------------------------------------------------------------- a new link


def test_a_new_link_is_mailed_and_an_unknown_address_gets_the_same_page(client, account):
    known = client.post("/aula/enlace", {"email": "Ana@Example.com"})
    unknown = client.post("/aula/enlace", {"email": "zoe@example.com"})

    assert known.status_code == unknown.status_code == 200
    assert read(known).replace("ana@", "zoe@") == read(unknown)
    mail = Mail.objects.get()
    assert (mail.template, mail.to) == ("classroom_link", "ana@example.com")


def test_a_new_link_resets_a_forgotten_password(client, with_password, mailoutbox):
    client.post("/aula/enlace", {"email": "ana@example.com"})
    run_worker()

    (path,) = set(re.findall(r"/aula/acceso\?enlace=\S+", mailoutbox[0].body))
    client.post(path, new_password(password="otra-marea-77", password_again="otra-marea-77"))
    with_password.refresh_from_db()
    assert check_password("otra-marea-77", with_password.password)


def test_a_recipient_gets_at_most_three_links_an_hour(client, account):
    with time_machine.travel("2026-11-21 10:00:00+00:00", tick=False):
        statuses = [
            client.post("/aula/enlace", {"email": "ana@example.com"}).status_code for _ in range(4)
        ]
        refused = client.post("/aula/enlace", {"email": "ana@example.com"})
    assert statuses == [200, 200, 200, 429]
    assert int(refused["Retry-After"]) > 0
    assert "Demasiados intentos" in read(refused)
    assert Mail.objects.count() == 3


# ---------------------------------------------------------------- signing in


def test_sign_in_with_email_and_password(client, with_password):
    answer = sign_in(client, email=" ANA@example.com ")
    assert (answer.status_code, answer["Location"]) == (302, "/aula")
    assert "Hola, Ana" in read(client.get("/aula"))
    with_password.refresh_from_db()
    assert with_password.last_sign_in_at is not None


def test_every_failed_sign_in_gets_the_same_answer(client, with_password, caplog):
    no_password = Account.objects.create(
        student=find_or_create_student(email="bruno@example.com", phone="+34600222222")
    )
    attempts = [
        ("ana@example.com", "otra"),
        ("zoe@example.com", PASSWORD),
        (no_password.student.email, PASSWORD),
    ]
    for email, password in attempts:
        answer = sign_in(client, email, password)
        assert answer.status_code == 200
        assert WRONG in read(answer)
        assert password not in read(answer)
        assert "sessionid" not in client.cookies
    # Each is logged, with a pseudonym instead of the address.
    lines = [record.getMessage() for record in caplog.records if "refused" in record.message]
    assert len(set(lines)) == len(attempts)
    assert not any("example.com" in line or "127.0.0.1" in line for line in lines)


@pytest.mark.parametrize("email", ["ana@example.com", "bruno@example.com", "zoe@example.com"])
def test_every_failed_sign_in_hashes_a_password_once(client, with_password, email, monkeypatch):
    Account.objects.create(
        student=find_or_create_student(email="bruno@example.com", phone="+34600222222")
    )
    hashed = []
    hasher = type(get_hasher())
    encode = hasher.encode
    monkeypatch.setattr(
        hasher, "encode", lambda self, *args: hashed.append(1) or encode(self, *args)
    )
    with pytest.raises(accounts.WrongCredentials):
        accounts.check_credentials(email=email, password="otra")
    assert len(hashed) == 1


def test_a_missing_field_is_reported_at_the_field(client):
    text = read(sign_in(client, email="ana", password=""))
    assert "Escribe un email válido." in text
    assert "Escribe tu contraseña." in text


def test_password_guesses_for_one_account_are_rate_limited(client, with_password):
    with time_machine.travel("2026-11-21 10:00:00+00:00", tick=False):
        for number in range(10):
            client.post("/aula", {"email": "ana@example.com", "password": str(number)})
        answer = sign_in(client)
        assert answer.status_code == 429
        assert int(answer["Retry-After"]) > 0
        assert "Demasiados intentos" in read(answer)
        assert "sessionid" not in client.cookies


def test_password_guesses_from_one_ip_address_are_rate_limited(client):
    with time_machine.travel("2026-11-21 10:00:00+00:00", tick=False):
        statuses = [
            sign_in(client, email=f"a{number}@example.com").status_code for number in range(21)
        ]
    assert statuses == [200] * 20 + [429]


def test_sign_in_changes_the_session_key(client, with_password):
    session = client.session
    session["before"] = 1
    session.save()
    old_key = session.session_key
    sign_in(client)
    assert client.session.session_key != old_key


def test_sign_out_ends_the_session(client, with_password):
    sign_in(client)
    assert client.get("/aula/salir").status_code == 405
    assert client.post("/aula/salir")["Location"] == "/aula"
    assert "Entrar en el aula" in read(client.get("/aula"))
    assert client.get("/aula/perfil")["Location"] == "/aula"


def test_forms_from_another_site_are_refused(with_password):
    strict = Client(enforce_csrf_checks=True)
    for path in (
        "/aula",
        "/aula/enlace",
        "/aula/salir",
        f"/aula/acceso?enlace={make_token(with_password)}",
    ):
        assert strict.post(path, {"email": "ana@example.com"}).status_code == 403
    assert not Mail.objects.exists()


# ---------------------------------------------------------------- the list of subjects


def test_the_classroom_lists_whole_subjects_and_single_lessons(client, student, with_password):
    micro = make_subject("Microeconomía", lessons=2)
    stats = make_subject("Estadística", lessons=3)
    make_subject("Derecho Civil")
    grant_access(
        student=student,
        items=[(micro.pk, None), (stats.pk, stats.lessons.all()[1].pk)],
        order_id=1,
    )
    provision.func(order_id=1)
    sign_in(client)

    text = read(client.get("/aula"))
    first, second = re.findall(r'<li class="card aula__subject">(.*?)</ul>', text)
    assert "Estadística" in first
    assert "Lecciones sueltas" in first
    assert re.findall(r"<li>([^<]*)</li>", first) == ["PEC 2"]
    assert "Microeconomía" in second
    assert "Asignatura Completa" in second
    assert re.findall(r"<li>([^<]*)</li>", second) == ["PEC 1", "PEC 2"]
    # The ring of the plan preview, and what opens the rest.
    assert "1 de 3 lecciones abiertas" in first
    assert "2 de 2 lecciones abiertas" in second
    assert text.count(f'href="/compra?asignatura={stats.pk}">Asignatura Completa') == 1
    assert f"/compra?asignatura={micro.pk}" not in text
    assert "Derecho Civil" not in text


def test_the_classroom_says_the_exams_that_are_not_over(client, student, with_password):
    micro = make_subject("Microeconomía", lessons=2)
    micro.exam_on, micro.resit_on = today() - timedelta(days=1), today()
    micro.save()
    grant_access(student=student, items=[(micro.pk, None)], order_id=1)
    provision.func(order_id=1)
    sign_in(client)

    text = read(client.get("/aula"))
    day = date_format(today(), r"j \d\e F \d\e Y")
    assert f">Recuperación: {day}<" in text
    assert ">Examen:" not in text


def test_a_student_does_not_see_another_student_s_subjects(client, with_password):
    bruno = find_or_create_student(email="bruno@example.com", phone="+34600222222")
    subject = make_subject("Microeconomía")
    enrol(bruno, subject)
    sign_in(client)
    text = read(client.get("/aula"))
    assert "Microeconomía" not in text
    assert "Todavía no tienes asignaturas." in text


def test_the_page_says_when_all_access_has_ended(client, student, with_password):
    enrol(student, make_subject(), ends_on="2020-01-31")
    sign_in(client)
    text = read(client.get("/aula"))
    assert "Tu acceso ha terminado con el semestre." in text
    assert "Microeconomía" not in text


def test_a_paused_subject_is_listed_without_its_lessons(client, student, with_password):
    enrol(student, make_subject(), state="paused")
    sign_in(client)
    text = read(client.get("/aula"))
    assert "El acceso está en pausa" in text
    assert "PEC 1" not in text


def test_the_list_makes_a_constant_number_of_queries(client, student, with_password):
    sign_in(client)
    client.get("/aula")

    def queries_with_one_more(number):
        enrol(student, make_subject(f"Asignatura {number}"))
        with CaptureQueriesContext(connection) as queries:
            client.get("/aula")
        return len(queries)

    assert len({queries_with_one_more(number) for number in range(4)}) == 1


def test_the_profile_shows_name_and_e_mail(client, with_password):
    sign_in(client)
    text = read(client.get("/aula/perfil"))
    assert "Ana Gil" in text
    assert "ana@example.com" in text
    assert "Cerrar sesión" in text


def test_every_page_is_private(client, with_password):
    used = "/aula/acceso?enlace=x"
    paths = ["/aula", "/aula/enlace", used, f"/aula/acceso?enlace={make_token(with_password)}"]
    responses = [client.get(path) for path in paths]
    sign_in(client)
    responses += [client.get("/aula"), client.get("/aula/perfil")]
    for response in responses:
        assert response["Cache-Control"] == "no-store, private"
        assert response["Referrer-Policy"] == "strict-origin"
        assert response["X-Robots-Tag"] == "noindex"
