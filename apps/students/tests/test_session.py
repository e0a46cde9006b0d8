"""A student has at most two open sessions: a third sign-in ends the oldest one."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.classroom import views
from apps.classroom.access_links import make_token
from apps.classroom.accounts import set_password
from apps.classroom.models import Account
from apps.students.models import SignIn
from apps.students.services import find_or_create_student
from apps.students.session import end_sessions
from tests.helpers.parallel import in_parallel

PASSWORD = "estudiar-de-noche-7"


@pytest.fixture
def account(db):
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111")
    account = Account.objects.create(student=ana, external_id=str(ana.pk))
    return set_password(
        token=make_token(account), first_name="Ana", last_name="Gil", password=PASSWORD
    )


def sign_in():
    client = Client()
    answer = client.post("/aula", {"email": "ana@example.com", "password": PASSWORD})
    return client, answer.status_code


def device():
    client, status = sign_in()
    assert status == 302
    return client


def is_signed_in(client):
    return "Hola, Ana" in client.get("/aula").content.decode()


@pytest.mark.usefixtures("account")
def test_the_third_device_ends_the_oldest_session():
    with time_machine.travel(timezone.now(), tick=False) as clock:
        first = device()
        clock.shift(timedelta(minutes=1))
        second = device()
        clock.shift(timedelta(minutes=1))
        third = device()
    assert [is_signed_in(client) for client in (first, second, third)] == [False, True, True]
    assert SignIn.objects.filter(ended_at=None).count() == 2


@pytest.mark.usefixtures("account")
def test_signing_out_frees_a_place_for_another_device():
    first, second = device(), device()
    second.post("/aula/salir")
    third = device()
    assert [is_signed_in(client) for client in (first, second, third)] == [True, False, True]


@pytest.mark.usefixtures("account")
def test_signing_in_again_on_a_device_counts_it_once():
    first, second = device(), device()
    for _ in range(3):
        second.post("/aula", {"email": "ana@example.com", "password": PASSWORD})
    assert is_signed_in(first)
    assert is_signed_in(second)
    assert SignIn.objects.filter(ended_at=None).count() == 2


def test_a_new_password_ends_every_session(account):
    first, second = device(), device()
    set_password(
        token=make_token(account), first_name="Ana", last_name="Gil", password="otra-clave-9"
    )
    assert not is_signed_in(first)
    assert not is_signed_in(second)


@pytest.mark.usefixtures("account")
def test_an_ended_sign_in_stores_no_session_key():
    device().post("/aula/salir")
    assert SignIn.objects.get().session_key == ""


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_sign_ins_leave_two_open_sessions(account, settings):
    settings.RATE_LIMIT_SCALE = 0
    sign_ins = in_parallel(sign_in, 5)
    assert [status for _, status in sign_ins] == [302] * 5
    assert sum(is_signed_in(client) for client, _ in sign_ins) == 2


@pytest.mark.usefixtures("account")
def test_sign_in_whose_session_is_ended_meanwhile_leads_back_to_the_sign_in_page(monkeypatch):
    # As if sign-ins on two other devices came between the view and the saving of the session.
    monkeypatch.setattr(views, "record_sign_in", lambda account: end_sessions(account.student))
    client = Client()

    answer = client.post("/aula", {"email": "ana@example.com", "password": PASSWORD})

    assert (answer.status_code, answer["Location"]) == (302, "/aula?sesion=terminada")
    assert answer["Cache-Control"] == "no-store, private"
    page = client.get(answer["Location"]).content.decode()
    assert "Tu sesión se ha cerrado. Vuelve a entrar" in page
    assert "Tu sesión se ha cerrado" not in client.get("/aula").content.decode()
