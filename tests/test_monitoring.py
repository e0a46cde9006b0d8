"""`/healthz`, `/readyz`, `/monitor` and `/metrics`: what turns them red, and for whom."""

import hashlib
import hmac
import json
import logging
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
import time_machine
from django.conf import settings
from django.db import OperationalError, transaction
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.backoffice.today.page import today_for
from apps.core.jobs import alert_silent_processes
from apps.core.mail.outbox import deliver_mail
from apps.core.models import PROCESSES, Backup, Heartbeat, Incident, Restore
from apps.core.monitoring import disk_space
from apps.core.monitoring.incidents import incident_counts, is_current, note_incident
from apps.core.web import health
from apps.core.web.proxies import UNKNOWN_PROXY
from apps.core.workers.heartbeats import beat
from apps.orders.ledger.history import REFUSAL, note
from apps.orders.models.statuses import EventKind
from apps.payments.events.unheard import REFUSED, events_are_missing
from apps.payments.jobs import watch_webhooks
from apps.payments.models import AuditDifference
from tests.helpers.completion import deliver, event_body
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.refunds import buy, make_clerk

TOKEN = "a-token-of-the-monitor"


@pytest.fixture
def monitor(settings):
    """Read an address as the monitor does."""
    settings.MONITOR_TOKEN = TOKEN
    beat(PROCESSES)
    Backup.objects.update(made_at=timezone.now())
    return lambda path: Client().get(path, headers={"authorization": f"Bearer {TOKEN}"})


@pytest.mark.django_db
def test_a_silent_worker_or_clock_turns_both_red_within_two_minutes(monitor):
    assert (monitor("/readyz").status_code, monitor("/monitor").status_code) == (200, 200)

    for name in PROCESSES:
        beat(PROCESSES)
        Heartbeat.objects.filter(name=name).update(seen_at=timezone.now() - timedelta(seconds=121))
        ready, found = monitor("/readyz"), monitor("/monitor")
        assert (ready.status_code, ready.json()["checks"]["processes"]) == (503, False)
        assert (found.status_code, found.json()["problems"]) == (503, ["processes"])
        assert found.json()["checks"]["processes"]["silent"] == [name]


@pytest.mark.django_db
def test_a_second_of_readiness_is_one_look_at_the_database(monitor, monkeypatch):
    looks = []
    look = health.readiness
    monkeypatch.setattr(health, "readiness", lambda: looks.append(1) or look())
    client, now = Client(), time.monotonic()
    monkeypatch.setattr(health, "monotonic", lambda: now)

    asked = ("/readyz", "/readyz?again", "/readyz")
    assert {client.get(path).status_code for path in asked} == {200}
    assert client.head("/readyz").status_code == client.post("/readyz").status_code == 200
    assert len(looks) == 1
    # A load balancer learns within two seconds that something fails.
    Heartbeat.objects.update(seen_at=None)
    now += 1
    assert client.get("/readyz").status_code == 503
    beat(PROCESSES)
    assert client.get("/readyz").status_code == 503
    now += 1
    assert client.get("/readyz").status_code == 200
    assert len(looks) == 3


@pytest.mark.django_db
def test_a_disk_that_is_almost_full_turns_the_monitor_red_and_is_named(
    monitor, settings, tmp_path, monkeypatch
):
    settings.BACKUP_DIR = tmp_path / "never" / "made"
    space = {tmp_path: 499 * 1024**2}
    monkeypatch.setattr(
        disk_space.shutil,
        "disk_usage",
        lambda folder: SimpleNamespace(total=1, free=space.get(folder, 9000 * 1024**2)),
    )

    found = monitor("/monitor")

    assert (found.status_code, found.json()["problems"]) == (503, ["disk"])
    assert found.json()["checks"]["disk"]["full"] == ["backups"]
    figures = monitor("/metrics").text
    assert f'academy_disk_free_bytes{{folder="backups"}} {499 * 1024**2:.8e}' in figures
    assert monitor("/readyz").status_code == 200
    settings.DISK_MIN_FREE_MB = 0
    assert monitor("/monitor").status_code == 200


@pytest.mark.django_db
def test_the_clock_itself_mails_staff_about_a_silent_worker_once_a_day(monitor, mailoutbox):
    """The worker that sends mails is the silent one, so nothing takes tasks."""
    Heartbeat.objects.filter(name="mail").update(seen_at=timezone.now() - timedelta(minutes=6))
    Heartbeat.objects.filter(name="access").update(seen_at=None)

    assert alert_silent_processes() == "Avisos: 1"
    assert alert_silent_processes() == ""

    assert [mail.subject for mail in mailoutbox] == ["Un proceso no responde: Envío de correos"]


@pytest.mark.django_db
def test_a_sign_of_life_from_the_future_counts_as_none(monitor):
    """The machine's clock was wrong for a while, and the process may be dead since."""
    Heartbeat.objects.filter(name="mail").update(seen_at=timezone.now() + timedelta(hours=20))

    assert monitor("/monitor").json()["problems"] == ["processes"]


@pytest.mark.django_db
def test_a_front_end_that_is_not_built_is_not_ready(monitor, settings, tmp_path):
    settings.FRONT_END = tmp_path

    ready = monitor("/readyz")

    assert ready.status_code == 503
    assert [name for name, ok in ready.json()["checks"].items() if not ok] == ["front_end"]


@pytest.mark.django_db
def test_monitor_names_old_tasks_differences_and_failed_work(monitor):
    deliver_mail.enqueue(mail_id=7)
    DBTaskResult.objects.update(enqueued_at=timezone.now() - timedelta(minutes=6))
    AuditDifference.objects.create(text="Pedido 12: sobran 5 €")

    found = monitor("/monitor").json()

    assert found["problems"] == ["queues", "audit"]
    assert found["checks"]["queues"]["mail"]["waiting"] == 1
    assert found["checks"]["queues"]["mail"]["oldest_seconds"] >= 360
    assert found["checks"]["audit"] == {"ok": False, "age_seconds": None, "differences": 1}
    assert "Pedido" not in str(found)


@pytest.mark.django_db
def test_wrong_webhook_secret_turns_the_monitor_red_and_hoy_says_so(monitor, api, sandbox, caplog):
    """Refused requests alone do not: anybody can send them. A payment without an event does."""
    clerk, now = make_clerk(), timezone.now()
    body = event_body("payment_intent.succeeded", "pi_1")

    def at(minutes):
        return time_machine.travel(now + timedelta(minutes=minutes), tick=False)

    def reports(minutes):
        """Whether the monitor and "Hoy" say that events are missing."""
        with at(minutes):
            watch_webhooks()
            tiles = [tile.label for tile in today_for(clerk).waiting]
            checks = monitor("/monitor").json()["checks"]
            return not checks["webhooks"]["ok"], "Incidencias del servidor" in tiles

    with at(-30):
        api.post("stripe/webhook", {})
        deliver(api, body, secret="whsec_of_another_endpoint")
    assert reports(70) == (False, False)
    buy(api, sandbox)
    assert reports(6) == (False, False)
    assert reports(61) == (True, True)

    # Once events with another secret arrive after a payment, five minutes are enough.
    with at(2):
        deliver(api, body, secret="whsec_of_another_endpoint")
    assert reports(6) == (True, True)
    assert "was refused: wrong-secret" in caplog.text
    assert "was refused: no-signature" in caplog.text
    figures = monitor("/metrics").text
    assert 'academy_webhook_refusals_total{reason="wrong-secret"} 2.0' in figures
    assert 'academy_webhook_refusals_total{reason="no-signature"} 1.0' in figures

    with at(7):
        assert deliver(api, body).status_code == 200
    assert reports(90) == (False, False)


@pytest.mark.django_db
def test_reason_of_a_refused_event_is_counted(api):
    deliver(api, "[")
    with time_machine.travel(timezone.now() - timedelta(minutes=6), tick=False):
        old = event_body("charge.refunded", "ch_1")
        moment = int(timezone.now().timestamp())
    key = settings.STRIPE_WEBHOOK_SECRET.encode()
    signature = hmac.new(key, f"{moment}.{old}".encode(), hashlib.sha256).hexdigest()
    api.post("stripe/webhook", json.loads(old), headers={"stripe-signature": "nothing"})
    api.client.post(
        "/api/stripe/webhook",
        old,
        content_type="application/json",
        headers={"stripe-signature": f"t={moment},v1={signature}"},
    )

    assert incident_counts(REFUSED) == {
        "no-signature": 0,
        "wrong-secret": 1,
        "too-old": 1,
        "no-json": 1,
    }


@pytest.mark.django_db
def test_payments_before_a_restore_have_lost_their_events_with_it(api, sandbox):
    now = timezone.now()
    buy(api, sandbox)
    with time_machine.travel(now + timedelta(hours=2), tick=False):
        assert events_are_missing()
        Restore.objects.create(backup_made_at=now, is_rehearsal=False)
        assert not events_are_missing()


@pytest.mark.django_db
def test_proxy_that_the_settings_do_not_name_is_reported(monitor, settings):
    clerk = make_clerk()

    def problems():
        tiles = {tile.label: tile.url for tile in today_for(clerk).waiting}
        url = tiles.get("Incidencias del servidor")
        browser = Client()
        browser.force_login(clerk)
        return monitor("/monitor").json()["problems"], browser.get(url).text if url else ""

    def visit(address):
        # A new handler: the middleware of each notes a proxy once in ten minutes.
        client = Client(REMOTE_ADDR=address, headers={"x-forwarded-for": "203.0.113.7"})
        assert client.get("/precios").status_code == 200

    Client(REMOTE_ADDR="127.0.0.1").get("/precios")
    visit("5.9.0.1")  # A visitor who writes the header.
    assert problems() == ([], "")

    visit("10.0.0.2")

    found, page = problems()
    assert found == ["proxy"]
    assert "TRUSTED_PROXIES" in page
    with time_machine.travel(timezone.now() + timedelta(minutes=61)):
        assert not is_current(UNKNOWN_PROXY)
    Incident.objects.all().delete()
    settings.TRUSTED_PROXIES = 1
    visit("10.0.0.2")
    assert problems() == ([], "")


@pytest.mark.django_db
def test_metrics_count_in_the_database_and_name_nobody(monitor, django_assert_max_num_queries):
    order = make_one_of_everything()
    with transaction.atomic():
        note(order, kind=EventKind.CARD_REFUSED, actor="Stripe", reason="Tarjeta rechazada")
    note_incident(f"{REFUSAL}{EventKind.CARD_REFUSED}")
    deliver_mail.enqueue(mail_id=7)

    with django_assert_max_num_queries(20):
        text = monitor("/metrics").text

    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert figures['academy_refused_payments_total{kind="card_refused"}'] == "1.0"
    assert figures['academy_queue_tasks{queue="mail"}'] == "1.0"
    assert figures['academy_queue_tasks{queue="access"}'] == "0.0"
    seen = float(figures['academy_heartbeat_timestamp_seconds{process="clock"}'])
    assert 0 <= timezone.now().timestamp() - seen < 60
    assert float(figures["academy_database_size_bytes"]) > 100_000
    assert sum(float(n) for name, n in figures.items() if name.startswith("academy_orders{")) >= 1
    assert "@" not in text


@pytest.mark.django_db
def test_monitor_and_metrics_exist_only_for_those_with_the_token(settings):
    for path in ("/monitor", "/metrics"):
        settings.MONITOR_TOKEN = ""
        assert Client().get(path, headers={"authorization": "Bearer "}).status_code == 404
        settings.MONITOR_TOKEN = TOKEN
        for sent in ({}, {"authorization": "Bearer x"}, {"authorization": TOKEN}):
            answer = Client().get(path, headers=sent)
            assert (answer.status_code, answer.content) == (401, b"")


@pytest.mark.django_db
def test_probes_answer_under_any_host_without_an_error_in_the_log(monitor, settings, caplog):
    settings.ALLOWED_HOSTS = ["shop.test"]
    settings.SECURE_SSL_REDIRECT = True
    with caplog.at_level(logging.WARNING):
        for host in ("10.0.0.7", "10.0.0.7:8000", "[::1]", "a_b", "..", ""):
            for path in (*health.PROBES, "/readyz"):
                assert Client().get(path, headers={"host": host}).status_code == 200, host
    assert caplog.records == []


@pytest.mark.django_db
def test_a_database_that_does_not_answer_is_503_and_not_an_error_of_ours(monkeypatch):
    def fail(*args, **kwargs):
        raise OperationalError("canceling statement due to lock timeout")

    monkeypatch.setattr("django.db.models.query.QuerySet._fetch_all", fail)
    client = Client(raise_request_exception=False)

    answer, page = client.get("/api/universities"), client.get("/compra")

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert (answer.json()["code"], answer.json()["success"]) == ("busy", False)
    assert (page.status_code, page["Retry-After"]) == (503, "5")
    assert "Vuelve a intentarlo" in page.text
