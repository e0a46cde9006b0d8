"""Events of a mail provider. Brevo stands for all: django-anymail reads the others alike."""

import base64
import json
import re
import traceback
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.core.mail.outbox import deliver_mail, queue_mail, retry_mail
from apps.core.models import Mail

pytestmark = pytest.mark.django_db
ADDRESS = "/avisos-de-correo"


@pytest.fixture(autouse=True)
def brevo(settings):
    settings.EMAIL_BACKEND = "anymail.backends.brevo.EmailBackend"
    settings.ANYMAIL = {"BREVO_API_KEY": "x", "WEBHOOK_SECRET": "faro:secreto"}


@pytest.fixture
def mail():
    return Mail.objects.create(
        key="k", template="job_failed", to="ana@example.com", message_id="<1@example.com>",
        provider_id="<7@brevo>", status=Mail.Status.SENT, sent_at=timezone.now(),
    )  # fmt: skip


def post(client, body, password="faro:secreto"):
    header = {"authorization": f"Basic {base64.b64encode(password.encode()).decode()}"}
    body = body if isinstance(body, str) else json.dumps(body)
    return client.post(ADDRESS, body, "application/json", headers=header).status_code


def event(name="hard_bounce", **changes):
    found = {"event": name, "email": "ana@example.com", "message-id": "<7@brevo>"}
    return {**found, "ts_epoch": 1_700_000_000_000, **changes}


@pytest.mark.parametrize(
    ("name", "reason"),
    [("hard_bounce", "lo ha devuelto"), ("invalid_email", "no existe"), ("blocked", "bloqueado")],
)
def test_undelivered_mail_fails_with_its_reason_and_can_be_sent_again(client, mail, name, reason):
    for _ in range(2):
        assert post(client, event(name)) == 200
    mail.refresh_from_db()
    assert mail.status == Mail.Status.FAILED
    assert reason in mail.last_error
    assert mail in Mail.objects.stuck()
    assert retry_mail(mail)
    # The event of the first attempt arrives once more.
    post(client, event(name))
    mail.refresh_from_db()
    assert mail.status == Mail.Status.QUEUED


@pytest.mark.parametrize("changes", [
    {"event": "delivered"}, {"event": "deferred"}, {"event": "opened"}, {"event": "x"},
    {"message-id": "<8@brevo>"}, {"message-id": ""}, {"message-id": None},
    {"email": "otra@example.com"},
])  # fmt: skip
def test_other_events_change_nothing(client, mail, changes):
    assert post(client, event(**changes)) == 200
    mail.refresh_from_db()
    assert mail.status == Mail.Status.SENT


def test_event_that_is_faster_than_the_answer_to_sending_is_asked_for_again(client, mail):
    mail.status, mail.provider_id = Mail.Status.QUEUED, ""
    mail.leased_until = timezone.now() + timedelta(minutes=1)
    mail.save()
    assert post(client, event()) == 503
    assert post(client, event(email="otra@example.com")) == 200
    Mail.objects.update(status=Mail.Status.SENT, provider_id="<7@brevo>", leased_until=None)

    assert post(client, event()) == 200

    mail.refresh_from_db()
    assert mail.status == Mail.Status.FAILED
    # The event of a first attempt, while the mail is sent again.
    Mail.objects.update(
        status=Mail.Status.QUEUED, leased_until=timezone.now() + timedelta(minutes=1)
    )
    assert post(client, event()) == 200


@pytest.mark.parametrize("body", ["", "x", "[]", "null", "7", '"x"', '{"items": []}', "[{}]"])
def test_body_that_is_no_event_is_refused(client, mail, body):
    assert post(client, body) == 400


def test_stranger_without_the_password_changes_nothing(client, mail, caplog):
    assert post(client, event(), password="faro:otro") == 400
    # Without the reason nobody would notice a wrong secret in the settings.
    assert "wrong secret or signature" in caplog.text
    assert client.post(ADDRESS, event(), "application/json").status_code == 400
    mail.refresh_from_db()
    assert mail.status == Mail.Status.SENT


def test_without_the_password_in_the_settings_there_is_no_such_address(client, mail, settings):
    settings.ANYMAIL = {"BREVO_API_KEY": "x", "WEBHOOK_SECRET": ""}
    assert post(client, event(), password="") == 404
    assert client.head(ADDRESS).status_code == 404


def test_without_a_provider_there_is_no_such_address(client, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert post(client, event()) == 404


def test_provider_finds_the_address_and_reads_nothing_of_it(client):
    assert client.head(ADDRESS).status_code == 200
    assert client.get(ADDRESS).status_code == 405


def test_sent_mail_keeps_the_id_that_the_provider_gave_it(settings):
    settings.EMAIL_BACKEND = "anymail.backends.test.EmailBackend"
    with transaction.atomic():
        mail = queue_mail(
            key="k", template="job_failed", to="ana@example.com",
            context={"title": "Copias"},
        )  # fmt: skip
    deliver_mail.call(mail_id=mail.pk)
    mail.refresh_from_db()
    assert (mail.status, mail.last_error) == (Mail.Status.SENT, "")
    assert mail.provider_id


@pytest.mark.parametrize("provider", ["amazon_ses", "unisender_go"])
@pytest.mark.parametrize("body", ["[]", "[" * 100_000, "\0" * 100_000, "x"])
def test_body_of_a_stranger_is_refused_and_not_logged(client, settings, caplog, provider, body):
    """Their signature is in the body. The error quoted all of it: 100 ms and 16 KB of log."""
    settings.EMAIL_BACKEND = f"anymail.backends.{provider}.EmailBackend"
    settings.ANYMAIL = {"WEBHOOK_SECRET": "faro:secreto", "UNISENDER_GO_API_KEY": "x"}
    answer = client.post(ADDRESS, body, content_type="text/plain")
    assert answer.status_code == 400
    logged = "".join(
        "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
        for record in caplog.records
    )
    assert re.search(r"Not an event of the mail provider|wrong secret or signature", logged)
    assert len(logged) < 4_000
