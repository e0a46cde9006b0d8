"""What strangers can make grow: each table that they fill is in docs/security.md with its bound."""

import re
from datetime import timedelta
from itertools import product

import pytest
import time_machine
from django.apps import apps
from django.test import Client
from django.utils import timezone

from apps.core.models import SiteSettings
from apps.core.monitoring import disk_space
from apps.core.privacy import purge_all
from apps.core.web.throttle import Limit
from apps.leads import api as forms
from apps.leads.models import Attachment, Lead, RequestedSubject
from apps.leads.tests import payloads
from apps.orders.models import Order
from apps.pricing.models import PromoCode
from tests.contract.test_api import PATHS
from tests.helpers.factories import checkout_body, make_promo, make_subject, make_university, whole
from tests.helpers.parallel import in_parallel
from tools.dev.processes import ROOT

pytestmark = pytest.mark.django_db
PREVIEW = "/api/send-preview-contact"
# They change what an order or a payment has already, and ask for its token or reference.
ASK_FOR_A_TOKEN = {
    "/api/orders/correct-email", "/api/complete-payment", "/api/create-auth-user",
    "/api/invoice-details", "/api/instalments/pay",
    "/api/instalments/card", "/api/instalments/card-saved",
}  # fmt: skip
WITHDRAWAL = {"name": "Bruno", "email": "bruno@example.com", "details": "Todo", "confirm": "1"}


@pytest.fixture(autouse=True)
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return tmp_path


def rows():
    return {
        model._meta.label: model._base_manager.count()
        for model in apps.get_models()
        if model._meta.managed and not model._meta.proxy
    }


def documented():
    """The tables of the section, and its lines without a bound or an end."""
    guide = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    section = guide.partition("\n## What strangers can make grow\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:2] == "| "]
    return {label for line in lines[2:] for label in re.findall(r"`(\w+\.\w+)`", line[0])}, [
        line for line in lines if len(line) != 4 or not all(line)
    ]


def test_every_table_that_strangers_fill_is_documented_with_its_bound(settings, sandbox, work):
    settings.STUDENT_LOGIN = True
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"
    SiteSettings.current()  # Its one row is created by the first request.
    SiteSettings.objects.update(transfer=True)
    make_promo("GRATIS", kind="PORCENTAJE", value="100")
    subject = make_subject()
    later = make_university(status="coming_soon")
    stranger = Client()
    bodies = {
        "/api/send-budget-email": payloads.budget(subject, fullPayment=True),
        "/api/send-contact-email": payloads.CONTACT,
        "/api/send-discount-email": payloads.DISCOUNT,
        "/api/request-free-subject": payloads.FREE_SUBJECT,
        "/api/send-subject-request-email": payloads.SUBJECT_REQUEST,
        "/api/validate-promo-code": {"code": "NADA"},
        "/api/process-checkout": checkout_body(whole(subject), total="182.40"),
    }
    gift = {"email": "lea@example.com", "sender": "Bruno"}
    further = (
        {"by_transfer": True, "total": "182.40"},
        {"gift": gift, "total": "182.40"},
        {"promo_code": "GRATIS", "total": "0.00"},
    )
    orders = [
        checkout_body(whole(subject), email=f"bruno{n}@example.com", **wish)
        for n, wish in enumerate(further)
    ]
    before = rows()
    for path, body in (*bodies.items(), *(("/api/process-checkout", body) for body in orders)):
        answer = stranger.post(path, body, content_type="application/json")
        assert answer.status_code == 200, (path, answer.content)
    forged = stranger.post("/api/stripe/webhook", {"id": "evt_1"}, content_type="application/json")
    assert forged.status_code == 400
    work()
    assert stranger.post(PREVIEW, payloads.preview()).status_code == 200
    for path, body in {
        "/desistimiento": WITHDRAWAL,
        "/login": {"email": "bruno@example.com"},
        "/aula": {"email": "bruno@example.com", "password": "x"},
        "/aula/enlace": {"email": "bruno@example.com"},
        "/admin/login/": {"username": "carla", "password": "x"},
        "/admin/clave-olvidada": {"email": "bruno@example.com"},
        "/avisos/baja": {"token": "x"},
        f"/avisame?universidad={later.pk}": {"email": "bruno@example.com"},
        "/opinion": {"token": "x"},
    }.items():
        assert stranger.post(path, body).status_code < 500, path
    stranger.post("/csp-report", {"csp-report": {}}, content_type="application/json")
    grown = {label for label, count in rows().items() if count > before[label]}
    posts = {path for path, methods in PATHS.items() if "post" in methods}

    labels, incomplete = documented()
    assert (grown - labels, labels - grown) == (set(), set())
    assert incomplete == []
    assert posts == {*bodies, PREVIEW, "/api/stripe/webhook", *ASK_FOR_A_TOKEN}


def send_file(content=payloads.PDF):
    answer = Client().post(PREVIEW, payloads.preview(content=content))
    return answer.status_code, answer.json().get("code")


def test_files_that_nobody_has_answered_have_a_quota_together(settings, var_dir):
    settings.RATE_LIMIT_SCALE = 0
    settings.ATTACHMENTS_MAX_MB = 1
    half = payloads.PDF + b"x" * 600_000
    assert send_file(half) == (200, None)
    assert send_file(half) == (503, "storage_full")
    assert (Attachment.objects.count(), Lead.objects.count()) == (1, 1)
    assert len([file for file in var_dir.rglob("private/**/*") if file.is_file()]) == 1

    Lead.objects.update(status=Lead.Status.ANSWERED)

    assert send_file(half) == (200, None)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_files_that_arrive_together_keep_to_the_quota(settings, var_dir):
    settings.RATE_LIMIT_SCALE = 0
    settings.ATTACHMENTS_MAX_MB = 1
    answers = in_parallel(lambda: send_file(payloads.PDF + b"x" * 600_000), 6)

    assert sorted(map(str, answers)) == sorted(["(200, None)"] + ["(503, 'storage_full')"] * 5)
    assert (Attachment.objects.count(), Lead.objects.count()) == (1, 1)
    assert len([file for file in var_dir.rglob("private/**/*") if file.is_file()]) == 1


@pytest.mark.parametrize("folder", ["private", "temporary"])
def test_file_is_refused_while_the_disk_is_short(settings, monkeypatch, folder):
    settings.RATE_LIMIT_SCALE = 0
    free = dict.fromkeys(disk_space.written_folders(), 9000) | {folder: 499}
    monkeypatch.setattr(disk_space, "free_megabytes", lambda: free)
    assert send_file() == (503, "storage_full")
    free[folder] = 500
    assert send_file() == (200, None)
    # The database needs the room of its own disk, not that of the backups.
    free["backups"] = 0
    assert send_file() == (200, None)


def test_visitor_sends_ten_files_a_day_and_all_visitors_1500_forms_an_hour(settings, monkeypatch):
    settings.RATE_LIMIT_SCALE = 1
    with time_machine.travel("2026-03-02T10:01:00+01:00", tick=False) as clock:
        # Otherwise the day of the limit would begin at the hour at which the test was started.
        monkeypatch.setattr(Limit, "begins_at", int(timezone.now().timestamp()))
        for _ in range(10):
            assert send_file() == (200, None)
            clock.shift(601)
        assert send_file() == (429, "too_many_requests")

        forms.ALL_FORMS.add("all", by=1500)
        other = Client(REMOTE_ADDR="192.0.2.7")
        answer = other.post("/api/send-contact-email", payloads.CONTACT, "application/json")
    assert answer.status_code == 429


def test_old_files_are_deleted_sooner_if_nobody_answered():
    now = timezone.now()
    statuses = (Lead.Status.NEW, Lead.Status.ANSWERED)
    for age, status in product((29, 31, 91), statuses):
        lead = Lead.objects.create(kind=Lead.Kind.PREVIEW, email="b@example.com", status=status)
        file = Attachment.objects.create(lead=lead, stored_name=f"{age}{status}", size=1)
        Attachment.objects.filter(pk=file.pk).update(created_at=now - timedelta(days=age))
    purge_all()

    kept = set(Attachment.objects.values_list("stored_name", flat=True))
    assert kept == {"29new", "29answered", "31answered"}


def test_code_and_missing_subject_go_with_their_form():
    client = Client()
    assert (
        client.post("/api/send-discount-email", payloads.DISCOUNT, "application/json").status_code
        == 200
    )
    assert (
        client.post(
            "/api/send-subject-request-email", payloads.SUBJECT_REQUEST, "application/json"
        ).status_code
        == 200
    )
    assert (PromoCode.objects.count(), RequestedSubject.objects.count()) == (1, 1)
    with time_machine.travel(timezone.now() + timedelta(days=366)):
        purge_all()

    assert (PromoCode.objects.count(), RequestedSubject.objects.count()) == (0, 0)


def test_nothing_is_left_of_a_cart_that_was_never_paid(sandbox):
    """Two purges: one deletes cart and person, a year later one deletes the consents."""
    before = rows()
    body = checkout_body(whole(make_subject()), total="182.40")
    assert Client().post("/api/process-checkout", body, "application/json").status_code == 200
    Order.objects.update(status=Order.Status.EXPIRED)
    for days in (130, 500):
        with time_machine.travel(timezone.now() + timedelta(days=days)):
            purge_all()

    left = {label for label, count in rows().items() if count > before[label]}
    assert (
        left & {"orders.Order", "orders.Payment", "students.Student", "students.Consent"} == set()
    )


def test_staff_and_monitor_see_how_much_space_attachments_take(settings, admin_client):
    settings.MONITOR_TOKEN = "a-token-of-the-monitor"
    settings.ATTACHMENTS_MAX_MB = 10
    lead = Lead.objects.create(kind=Lead.Kind.PREVIEW, email="b@example.com")
    Attachment.objects.create(lead=lead, stored_name="x", size=7 * 1024**2)
    token = {"authorization": "Bearer a-token-of-the-monitor"}

    def check():
        return Client().get("/monitor", headers=token).json()["checks"]["attachments"]

    assert "Archivos: 7 de 10 MB" in admin_client.get("/admin/").content.decode()
    assert check() == {"ok": True, "waiting_mb": 7, "most_mb": 10}
    Attachment.objects.update(size=8 * 1024**2)
    assert check()["ok"] is False
