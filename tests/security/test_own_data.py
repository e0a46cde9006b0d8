"""Strangers type a student's address in carts and forms: the student's own pages stay small."""

import json
from uuid import uuid4

import pytest
import time_machine
from django.contrib.messages import SUCCESS
from django.contrib.messages.storage.base import Message
from django.contrib.messages.storage.cookie import CookieStorage
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.classroom.views import VISITS as CLASSROOM_VISITS
from apps.core.models import LegalText
from apps.core.privacy import MOST_ROWS, erase_all, preview_erasure
from apps.core.staff.admin_base import MOST_ROWS as MOST_OF_PAGE
from apps.core.web.few_messages import MOST as MOST_MESSAGES
from apps.core.web.throttle import Limit
from apps.leads.models import Lead
from apps.leads.withdrawal.models import Withdrawal
from apps.orders.api import CREDITS
from apps.orders.by_staff.merge_students import merge_students
from apps.orders.models import Gift, Order
from apps.pages import account
from apps.pages.account import DOWNLOADS, MOST_SHOWN, VISITS
from apps.students.models import Consent, SignInLink, Student
from apps.students.services import change_email
from apps.students.sign_in_links import link_url, send_sign_in_link
from tests.helpers.admin import admin_url
from tests.helpers.factories import set_terms

pytestmark = pytest.mark.django_db
MANY = MOST_ROWS + 20
DOWNLOAD = "/mi-cuenta/mis-datos.json"


@pytest.fixture
def ana(settings):
    settings.STUDENT_LOGIN = True
    return Student.objects.create(email="ana@example.com", phone="+34600111111")


@pytest.fixture
def signed_in(ana, client: Client):
    send_sign_in_link(ana.email)
    client.post("/login/entrar?" + link_url(SignInLink.objects.get()).partition("?")[2])
    return client


@pytest.fixture
def bought(ana):
    """What Ana has bought, before strangers typed her address."""
    return Order.objects.create(
        student=ana, email=ana.email, status="paid", paid_at=timezone.now(), total_amount=192
    )


@pytest.fixture
def flood(ana, bought):
    """The rows of carts, gifts and forms that strangers have made with Ana's address."""
    text = LegalText.objects.all()[0]
    orders = Order.objects.bulk_create(
        Order(
            student=ana, email=ana.email, total_amount=1,
            customer_reference=f"cus_{n}", idempotency_id=f"{n:032x}",
        )
        for n in range(MANY)
    )  # fmt: skip
    Consent.objects.bulk_create(
        Consent(student=ana, kind="terms", legal_text=text, wording="Acepto", order_id=order.pk)
        for order in orders
    )
    Gift.objects.bulk_create(
        Gift(order=order, recipient_email=ana.email, sender="x", deliver_on="2026-01-01")
        for order in orders
    )
    Lead.objects.bulk_create(Lead(kind="contact", email=ana.email) for _ in range(MANY))
    Withdrawal.objects.bulk_create(
        Withdrawal(
            email=ana.email, email_identity=ana.email, contract_key=str(n), name="x", details="x"
        )
        for n in range(MANY)
    )


def longest_list(data):
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    own = len(data) if isinstance(data, list) else 0
    return max([own, *map(longest_list, inner)])


@pytest.mark.usefixtures("flood")
def test_download_is_bounded_and_has_the_students_own_purchases(signed_in, bought):
    with CaptureQueriesContext(connection) as queries:
        data = json.loads(signed_in.get(DOWNLOAD).content)

    assert longest_list(data) == MOST_ROWS
    assert data["pedidos"][0]["pedido"] == bought.pk
    assert f"{MOST_ROWS} más recientes" in data["límite"]
    events = [query["sql"] for query in queries if "payments_providerevent" in query["sql"]]
    assert events == [], "each search of all events takes seconds"


@pytest.mark.usefixtures("flood")
def test_account_page_is_bounded(signed_in):
    with CaptureQueriesContext(connection) as queries:
        page = signed_in.get("/mi-cuenta").content.decode()

    assert page.count("<li>Acepto") == MOST_SHOWN
    texts = [query["sql"] for query in queries if '"core_legaltext"."title"' in query["sql"]]
    assert texts
    assert not any('"core_legaltext"."body"' in text for text in texts), "a hundred times"


@time_machine.travel("2026-03-02T10:01:00+01:00", tick=False)
def test_account_pages_of_a_student_are_counted(signed_in, settings):
    settings.RATE_LIMIT_SCALE = 0.02
    most = int(VISITS.times * settings.RATE_LIMIT_SCALE)
    answers = [signed_in.get("/mi-cuenta") for _ in range(most)]
    forms = ("datos", {"phone": "wrong"}), ("datos", {"phone": "600 222 222"}), ("borrado", {})
    refused = [signed_in.post(f"/mi-cuenta/{path}", data) for path, data in forms]

    assert [answer.status_code for answer in answers] == [200] * most
    assert [answer.status_code for answer in refused] == [429] * 3
    assert int(refused[0]["Retry-After"]) > 0


@time_machine.travel("2026-03-02T10:01:00+01:00", tick=False)
def test_account_pages_of_a_network_are_counted(signed_in, monkeypatch):
    monkeypatch.setattr(account, "VISITORS", Limit("mi-cuenta-red", times=2, seconds=600))
    here = [signed_in.get("/mi-cuenta").status_code for _ in range(3)]
    elsewhere = signed_in.get("/mi-cuenta", REMOTE_ADDR="192.0.2.9")

    assert (here, elsewhere.status_code) == ([200, 200, 429], 200)


def test_messages_that_a_browser_collects_are_few(signed_in, rf):
    """Anybody may send the cookie, also without a session, to pages that show messages."""
    for _ in range(MOST_MESSAGES + 20):
        assert signed_in.post("/mi-cuenta/datos", {"phone": "600 222 222"}).status_code == 302
    collected = signed_in.cookies["messages"].value
    storage = CookieStorage(rf.get("/"))
    assert len(storage._decode(collected)) <= MOST_MESSAGES

    # One that was signed when there was no bound.
    stranger = Client()
    stranger.cookies["messages"] = storage._encode([Message(SUCCESS, "Guardado.")] * 1_000)
    assert stranger.get("/admin/login/").text.count("Guardado.") == MOST_MESSAGES


@time_machine.travel("2026-03-02T10:01:00+01:00", tick=False)
def test_classroom_pages_of_a_student_are_counted(signed_in, settings):
    settings.CLASSROOM = "local"
    settings.RATE_LIMIT_SCALE = 0.02
    most = int(CLASSROOM_VISITS.times * settings.RATE_LIMIT_SCALE)
    answers = [signed_in.get("/aula") for _ in range(most + 1)]

    assert [answer.status_code for answer in answers] == [200] * most + [429]
    assert int(answers[-1]["Retry-After"]) > 0


@time_machine.travel("2026-03-02T10:01:00+01:00", tick=False)
def test_questions_about_the_credit_for_lessons_are_counted(signed_in, settings):
    set_terms(lesson_credit=True)
    settings.RATE_LIMIT_SCALE = 0.02
    most = int(CREDITS.times * settings.RATE_LIMIT_SCALE)
    answers = [signed_in.get("/api/lesson-credit") for _ in range(most + 1)]

    assert [answer.status_code for answer in answers] == [200] * most + [429]


@time_machine.travel("2026-03-02T10:01:00+01:00", tick=False)
def test_downloads_of_a_student_are_counted(signed_in):
    answers = [signed_in.get(DOWNLOAD) for _ in range(DOWNLOADS.times + 1)]

    assert [answer.status_code for answer in answers] == [200] * DOWNLOADS.times + [429]
    assert int(answers[-1]["Retry-After"]) > 0


@pytest.mark.usefixtures("flood")
def test_erasure_reads_each_event_once_however_many_carts_there_are(ana):
    """A comparison for each customer and payment of a cart took 20 seconds of the database."""
    with CaptureQueriesContext(connection) as queries:
        preview_erasure(ana.email)

    (search,) = (query["sql"] for query in queries if "payments_providerevent" in query["sql"])
    assert search.upper().count("LIKE") + search.upper().count(" OR ") == 0


@pytest.mark.usefixtures("flood")
def test_page_of_staff_about_a_student_is_bounded(ana, admin_client):
    with CaptureQueriesContext(connection) as queries:
        page = admin_client.get(admin_url(Student, "change", ana.pk)).text

    assert page.count('class="field-accepted_at"') == MOST_OF_PAGE
    assert len(queries) < 80


def statements_of(act, ana, carts):
    """How many statements an act about Ana takes after strangers have made carts in her name."""
    Order.objects.bulk_create(
        Order(student=ana, email=ana.email, total_amount=1, idempotency_id=uuid4())
        for _ in range(carts)
    )
    with CaptureQueriesContext(connection) as queries:
        act(ana)
    return len(queries)


def merge(ana):
    other = Student.objects.create(email="ana.ruiz@example.com", phone="+34600111111")
    merge_students(merged_id=ana.pk, into_id=other.pk, actor="carla")


@pytest.mark.parametrize(
    "act",
    [
        lambda ana: change_email(student_id=ana.pk, email=f"{uuid4().hex}@example.com"),
        merge,
        lambda ana: erase_all(ana.email),
    ],
    ids=["change of address", "merge", "erasure"],
)
def test_carts_of_strangers_cost_staff_no_statement_each(bought, act):
    few, many = (
        Student.objects.create(email=f"{name}@example.com", phone="") for name in ("few", "many")
    )
    used = [statements_of(act, few, 5)]
    Student.objects.filter(email="ana.ruiz@example.com").update(email="otra@example.com")
    used.append(statements_of(act, many, 200))

    assert used[1] <= used[0] + 3
    carts = Order.objects.filter(student=many)
    assert not carts.filter(status="cart").exists()
