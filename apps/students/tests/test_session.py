"""Two devices at most: the third sign-in ends the oldest session (terms, section 2)."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from academy.tests.parallel import in_parallel
from apps.classroom.accounts import set_password
from apps.classroom.links import make_token
from apps.classroom.models import Account
from apps.students.models import SignIn
from apps.students.services import find_or_create_student

PASSWORD = "estudiar-de-noche-7"


@pytest.fixture
def account(db):
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111")
    account = Account.objects.create(student=ana, external_id=str(ana.pk))
    return set_password(
        token=make_token(account), first_name="Ana", last_name="Gil", password=PASSWORD
    )


def device():
    client = Client()
    answer = client.post("/aula", {"email": "ana@example.com", "password": PASSWORD})
    assert answer.status_code == 302
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
def test_who_signs_out_makes_room():
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
def test_an_ended_sign_in_keeps_no_key():
    device().post("/aula/salir")
    assert SignIn.objects.get().session_key == ""


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_five_devices_at_once_leave_two(account, settings):
    settings.RATE_LIMIT_SCALE = 0
    clients = in_parallel(device, 5)
    assert sum(is_signed_in(client) for client in clients) == 2
