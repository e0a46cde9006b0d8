"""A copy of the database grants no access: it has digests of keys, not the keys."""

import json
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core import serializers
from django.test import Client

from apps.backoffice.models import Authenticator, BackupCodes
from apps.classroom.access_links import account_for, make_token
from apps.classroom.models import Account
from apps.core.models import Mail
from apps.orders.models import Order
from apps.orders.plan.plan_link import open_plan, plan_token
from apps.payments.stripe.events import SignedEvent
from apps.payments.webhooks import store
from apps.students.devices import known_device
from apps.students.models import SignIn, SignInLink
from apps.students.session import SESSION_KEY, current_student, end_sessions, sign_in
from apps.students.sign_in_links import link_url, student_for_link
from tests.helpers.factories import checkout_body, know_device, make_subject, whole
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db


def copy_of_the_database():
    rows = (row for model in apps.get_models() for row in model._base_manager.all())
    return serializers.serialize("json", rows)


def with_cookie(value):
    client = Client()
    client.cookies["sessionid"] = value
    return client


def test_a_copy_has_no_session_key_and_its_names_open_no_session(client):
    client.force_login(User.objects.create_superuser("carla"))
    key = client.cookies["sessionid"].value
    copied = copy_of_the_database()
    names = [row["pk"] for row in json.loads(copied) if row["model"] == "sessions.session"]

    assert key not in copied
    assert with_cookie(key).get("/admin/").status_code == 200
    for name in names:
        assert with_cookie(name).get("/admin/").status_code == 302


def test_a_sign_in_of_a_student_names_its_session_by_the_digest(rf):
    from apps.core.web.session_store import SessionStore

    order = make_one_of_everything()
    SignIn.objects.all().delete()
    request = rf.get("/")
    request.session = SessionStore()
    request.session.create()
    sign_in(request, order.student)
    request.session.save()
    row, key = SignIn.objects.get(), request.session.session_key

    assert row.session_key
    assert row.session_key != key
    assert SessionStore(row.session_key).get(SESSION_KEY) is None
    assert current_student(request) == order.student
    end_sessions(order.student)
    assert SessionStore(key).get(SESSION_KEY) is None
    assert SignIn.objects.get().ended_at is not None


def test_a_session_of_before_a_change_of_the_key_goes_on_and_can_be_ended(client, settings):
    client.force_login(User.objects.create_superuser("carla"))
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key"

    assert client.get("/admin/").status_code == 200
    session = client.session
    session["more"] = "kept"
    session.save()
    assert client.session["more"] == "kept"
    client.post("/admin/logout/")
    assert client.get("/admin/").status_code == 302
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get("/admin/").status_code == 302


def test_a_copy_has_neither_the_token_nor_the_key_of_an_order(api, sandbox):
    key = str(uuid4())
    body = checkout_body(whole(make_subject()), total="182.40", order_key=key)
    placed = api.checkout(body)
    copied = copy_of_the_database()

    assert placed["token"] not in copied
    assert key not in copied
    assert key.replace("-", "") not in copied
    assert api.checkout(body)["order_id"] == placed["order_id"]


def test_the_links_of_an_order_outlast_a_change_of_the_key_and_then_end(settings):
    order = make_one_of_everything()
    token, plan = order.auth_token, plan_token(order)
    assert order.opens_with(token)
    assert not order.opens_with(token[:-1] + "ñ")
    assert not Order(pk=order.pk).opens_with(token)

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key"
    assert order.opens_with(token)
    assert open_plan(order_id=order.pk, token=plan) == order
    assert order.auth_token != token
    settings.SECRET_KEY_FALLBACKS = []
    assert not order.opens_with(token)


def test_links_and_devices_of_a_student_outlast_a_change_of_the_key_and_then_end(rf, settings):
    settings.STUDENT_LOGIN = True
    student = make_one_of_everything().student
    account = Account.objects.get(student=student)
    link = SignInLink.objects.create(student=student)
    sign_in_token = parse_qs(urlsplit(link_url(link)).query)["enlace"][0]
    access_token = make_token(account)
    device = Client()
    know_device(device, student.email)
    request = rf.get("/")
    request.COOKIES = {name: cookie.value for name, cookie in device.cookies.items()}

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key"
    assert account_for(access_token) == account
    assert student_for_link(sign_in_token) == student
    assert known_device(request, student.email)
    settings.SECRET_KEY_FALLBACKS = []
    assert account_for(access_token) is None
    assert student_for_link(sign_in_token) is None
    assert not known_device(request, student.email)


def test_mails_and_events_are_stored_without_their_secrets():
    order = make_one_of_everything()
    Mail.objects.create(
        key="x", template="cart_saved", to=order.email, context={"order_id": order.pk},
        message_id="<1@academia.example>",
    )  # fmt: skip
    store(
        SignedEvent(
            event_id="evt_secret",
            kind="setup_intent.succeeded",
            livemode=False,
            payload={"data": {"object": {"id": "seti_1", "client_secret": "seti_1_secret_abc"}}},
        )
    )
    copied = copy_of_the_database()

    assert "seti_1_secret_abc" not in copied
    assert order.auth_token not in copied
    assert plan_token(order) not in copied


def test_a_copy_has_no_authenticator_key_and_no_backup_code():
    user = User.objects.create_superuser("carla")
    authenticator = Authenticator.objects.create(user=user, confirmed=True)
    codes = BackupCodes.objects.create(user=user).renew()
    copied = copy_of_the_database()

    assert authenticator.bin_key.hex() not in copied
    assert authenticator.key in copied
    for code in codes:
        assert code.replace("-", "") not in copied
