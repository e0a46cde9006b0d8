"""REHEARSAL: nothing outside of the shop is changed, and every process and page says so."""

import json
import os

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.classroom.backends.moodle.client import MoodleError, call
from apps.classroom.tests.moodle_server import TOKEN, running_moodle
from apps.core.models import PROCESSES, Backup, Restore
from apps.core.rehearsal import NOTE, refuse_marked_database
from apps.core.workers.heartbeats import beat
from apps.invoices.verifactu import sending
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.refunds import make_clerk
from tests.test_start import DEPLOYMENT, ROOT, run

REAL = {
    **DEPLOYMENT,
    "ENV_FILE": os.devnull,
    "S3_BUCKET": "fotos",
    "CACHE_URL": "redis://127.0.0.1:9/0",
    "DATABASE_REPLICA_URL": "postgres://shop@127.0.0.1:9/replica",
}
SHARED = """
import json, django
django.setup()
from django.conf import settings
from django.core.files.storage import storages
print(json.dumps([
    settings.EMAIL_BACKEND.split(".")[-2], settings.S3_BUCKET, list(settings.DATABASES),
    type(storages["pictures"]).__name__, settings.CACHES["default"]["BACKEND"].split(".")[-1],
]))
"""


def test_rehearsal_keeps_away_from_all_that_the_shop_shares(tmp_path):
    env = {**REAL, "DJANGO_SETTINGS_MODULE": "academy.settings", "VAR_DIR": str(tmp_path)}
    real = run(ROOT, "-c", SHARED, **env)
    rehearsal = run(ROOT, "-c", SHARED, **env, REHEARSAL="true")

    assert json.loads(real.stdout)[:3] == ["smtp", "fotos", ["default", "replica"]]
    mail, bucket, databases, storage, cache = json.loads(rehearsal.stdout)
    assert (mail, bucket, databases, cache) == ("backends", "", ["default"], "LocMemCache")
    assert storage != json.loads(real.stdout)[3]
    assert "REHEARSAL" in rehearsal.stderr
    assert "REHEARSAL" not in real.stderr


@pytest.mark.django_db
def test_buyer_is_told_that_nothing_is_charged(settings, api, sandbox):
    settings.REHEARSAL = True

    status, answer = api.post(
        "process-checkout", checkout_body(whole(make_subject()), total="182.40")
    )

    assert (status, answer["code"]) == (503, "provider_busy")
    assert "copia de ensayo" in answer["error"]
    assert sandbox.process.control("GET", "state")["objects"] == {}


def test_moodle_is_only_read(settings):
    with running_moodle() as moodle:
        settings.MOODLE_URL, settings.MOODLE_TOKEN = moodle.url, TOKEN
        settings.REHEARSAL = True
        call("core_user_get_users_by_field", field="email", values=["ana@example.com"])
        with pytest.raises(MoodleError, match="Es un ensayo"):
            call("core_user_create_users", users=[])

        assert moodle.calls == ["core_user_get_users_by_field"]


def test_nothing_is_sent_to_the_tax_agency(settings):
    settings.VERIFACTU, settings.REHEARSAL = "pruebas", True

    with pytest.raises(sending.NotSent, match="Es un ensayo"):
        sending._post(b"")


@pytest.mark.django_db
def test_every_page_and_the_monitor_say_so(settings, client):
    settings.MONITOR_TOKEN = "a-token-of-the-monitor"
    Backup.objects.update(made_at=timezone.now())
    beat(PROCESSES)
    client.force_login(make_clerk())
    token = {"authorization": f"Bearer {settings.MONITOR_TOKEN}"}
    pages = ("/", "/compra", "/aula", "/nothing", "/admin/")
    assert not any(NOTE in client.get(page).text for page in pages)
    assert Client().get("/monitor", headers=token).json()["problems"] == []

    settings.REHEARSAL = True

    assert all(NOTE in client.get(page).text for page in pages)
    assert Client().get("/monitor", headers=token).json()["problems"] == ["rehearsal"]


@pytest.mark.django_db
def test_database_of_a_rehearsal_is_refused_without_the_setting(settings):
    def connect():
        refuse_marked_database(None, connection=connection)

    connect()
    Restore.objects.create(backup_made_at=timezone.now(), is_rehearsal=False)
    connect()
    Restore.objects.create(backup_made_at=timezone.now(), is_rehearsal=True)
    settings.REHEARSAL = True
    connect()
    settings.REHEARSAL = False
    connection.close = lambda: None
    try:
        with pytest.raises(ImproperlyConfigured, match="restore --rehearsal"):
            connect()
    finally:
        del connection.close
