"""The outbox with an SMTP server that is down, drops connections or refuses addresses."""

import re
from datetime import timedelta
from email.utils import parsedate_to_datetime

import pytest
import time_machine
from django.db import transaction
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.core.jobs import send_due_mails
from apps.core.mail import delivery
from apps.core.mail.delivery import ServerUnreachable, is_permanent_refusal
from apps.core.mail.outbox import deliver_mail, queue_mail
from apps.core.models import Mail
from apps.core.retries import LEASE, RETRY_DELAYS
from tests.helpers.commands import run_worker
from tools.dev.mail_server import running_mail_server
from tools.dev.processes import free_port

NOON = "2026-11-21 12:00:00+00:00"


@pytest.fixture(autouse=True)
def smtp(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_PORT = free_port()
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    return settings


def queue(number, to=None) -> Mail:
    with transaction.atomic():
        mail = queue_mail(
            key=f"job:{number}",
            template="job_failed",
            to=to or f"alumna{number}@example.com",
            context={"title": f"Tarea {number}: contraseña & señal"},
        )
    assert mail is not None
    return mail


def state(mail):
    mail.refresh_from_db()
    return mail.status, mail.attempts


@pytest.mark.django_db
def test_headers_and_parts_of_a_sent_mail(smtp):
    with (
        time_machine.travel(NOON, tick=False) as clock,
        running_mail_server(smtp.EMAIL_PORT) as server,
    ):
        mail = queue(1)
        clock.shift(timedelta(minutes=90))
        deliver_mail.func(mail_id=mail.pk)

    (message,) = server.messages()
    assert message["Subject"].strip() == "Ha fallado una tarea: Tarea 1: contraseña & señal"
    assert message["To"] == "alumna1@example.com"
    assert message["Message-ID"] == mail.message_id
    assert parsedate_to_datetime(message["Date"]).isoformat() == "2026-11-21T13:00:00+01:00"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["List-Unsubscribe"] is None
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert "contraseña & señal" in message.get_body(("plain",)).get_content()
    headers = server.taken[0][1].split(b"\r\n\r\n")[0]
    assert headers.isascii()
    assert re.search(rb"^Subject:\s+=\?utf-8\?", headers, re.MULTILINE)
    assert max(len(line) for line in server.taken[0][1].splitlines()) <= 998


@pytest.mark.django_db
def test_a_mail_whose_acceptance_was_lost_is_resent_with_the_same_message_id(smtp):
    with (
        time_machine.travel(NOON, tick=False) as clock,
        running_mail_server(smtp.EMAIL_PORT) as server,
    ):
        server.drops = 1
        mail = queue(1)
        deliver_mail.func(mail_id=mail.pk)
        assert state(mail) == ("queued", 1)
        assert mail.last_error.startswith("SMTPServerDisconnected")
        clock.shift(RETRY_DELAYS[0])
        deliver_mail.func(mail_id=mail.pk)

    assert state(mail) == ("sent", 2)
    first, second = server.messages()
    assert first["Message-ID"] == second["Message-ID"] == mail.message_id
    assert first["Date"] == second["Date"]
    assert first["Subject"] == second["Subject"]


@pytest.mark.django_db(transaction=True)
def test_mails_of_an_hour_without_a_server_are_sent_in_order(smtp):
    mails = []
    with time_machine.travel(NOON, tick=False) as clock:
        # A mail every 90 seconds for an hour, while the worker and the clock's job run.
        for number in range(40):
            mails.append(queue(number))
            clock.shift(timedelta(seconds=90))
            if number % 8 == 0:
                run_worker()
                send_due_mails()
        run_worker()
        assert {mail.status for mail in Mail.objects.all()} == {"queued"}
        assert Mail.objects.filter(last_error__startswith="ServerUnreachable: ").count() == 40

        with running_mail_server(smtp.EMAIL_PORT) as server:
            queue("later")
            run_worker()

    assert list(Mail.objects.values_list("status", flat=True)) == ["sent"] * 41
    assert server.recipients() == [
        *(f"alumna{number}@example.com" for number in range(40)),
        "alumnalater@example.com",
    ]
    assert [message["Message-ID"] for message in server.messages()][:40] == [
        mail.message_id for mail in mails
    ]


@pytest.mark.django_db(transaction=True)
def test_the_backlog_is_sent_when_its_first_mail_is_due_again(smtp):
    with time_machine.travel(NOON, tick=False) as clock:
        for number in range(5):
            queue(number)
            clock.shift(timedelta(minutes=7))
            run_worker()
        with running_mail_server(smtp.EMAIL_PORT) as server:
            clock.move_to(min(Mail.objects.values_list("due_at", flat=True)))
            run_worker()
    assert server.recipients() == [f"alumna{number}@example.com" for number in range(5)]


@pytest.mark.django_db
def test_early_probes_do_not_count_as_attempts_of_the_oldest_mail(smtp):
    with time_machine.travel(NOON, tick=False):
        first = queue(0)
        deliver_mail.func(mail_id=first.pk)
        assert state(first) == ("queued", 1)
        due_at = first.due_at
        for number in range(1, 40):
            deliver_mail.func(mail_id=queue(number).pk)
        assert state(first) == ("queued", 1)
        assert (first.due_at, first.leased_until, first.waits_for_server) == (due_at, None, True)
        assert set(Mail.objects.values_list("attempts", flat=True)) == {1}


@pytest.mark.django_db
def test_a_mail_leased_to_another_worker_is_skipped(smtp):
    with time_machine.travel(NOON, tick=False):
        first = queue(0)
        deliver_mail.func(mail_id=first.pk)
        Mail.objects.filter(pk=first.pk).update(leased_until=timezone.now() + LEASE)
        with running_mail_server(smtp.EMAIL_PORT) as server:
            deliver_mail.func(mail_id=queue(1).pk)
        assert server.recipients() == ["alumna1@example.com"]
        assert state(first) == ("queued", 1)


@pytest.mark.django_db(transaction=True)
def test_an_unknown_address_fails_at_once_and_delays_no_other_mail(smtp, client):
    with running_mail_server(smtp.EMAIL_PORT) as server:
        server.answers["nadie@example.com"] = (550, "5.1.1 no such user here")
        before, refused, after = queue(1), queue(2, "nadie@example.com"), queue(3)
        run_worker()
    assert server.recipients() == ["alumna1@example.com", "alumna3@example.com"]
    assert [state(mail) for mail in (before, refused, after)] == [
        ("sent", 1),
        ("failed", 1),
        ("sent", 1),
    ]
    assert "no such user here" in refused.last_error
    assert not DBTaskResult.objects.filter(status="READY").exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "answer",
    [
        (450, "4.2.1 mailbox busy"),
        (452, "4.2.2 mailbox full"),
        (550, "5.7.1 sender is blocked"),
        (550, "relaying denied"),
        (552, "mailbox full"),
        (554, "something about us"),
    ],
)
def test_a_temporary_refusal_is_retried(smtp, answer):
    with running_mail_server(smtp.EMAIL_PORT) as server:
        server.answers["nadie@example.com"] = answer
        refused = queue(1, "nadie@example.com")
        deliver_mail.func(mail_id=refused.pk)
        assert state(refused) == ("queued", 1)
        # The refusal concerns this mail only: the next mail doesn't wait for it.
        assert not refused.waits_for_server
        other = queue(2)
        deliver_mail.func(mail_id=other.pk)
        assert state(other) == ("sent", 1)
        assert state(refused) == ("queued", 1)


@pytest.mark.django_db
def test_an_error_on_closing_the_connection_does_not_resend_the_mail(smtp, monkeypatch):
    def hang_up(self):
        raise OSError("reset")

    monkeypatch.setattr("django.core.mail.backends.smtp.EmailBackend.close", hang_up)
    with running_mail_server(smtp.EMAIL_PORT) as server:
        mail = queue(1)
        deliver_mail.func(mail_id=mail.pk)
    assert state(mail) == ("sent", 1)
    assert len(server.taken) == 1


def test_a_failed_sign_in_at_the_server_counts_as_unreachable(smtp):
    smtp.EMAIL_HOST_USER, smtp.EMAIL_HOST_PASSWORD = "academia", "otra"
    with (
        running_mail_server(smtp.EMAIL_PORT),
        pytest.raises(ServerUnreachable, match="SMTPNotSupportedError"),
        delivery.open_connection(),
    ):
        pass
    assert not is_permanent_refusal(ServerUnreachable("x"))


@pytest.mark.django_db(transaction=True)
def test_mails_that_are_due_in_a_row_share_a_connection(smtp):
    with running_mail_server(smtp.EMAIL_PORT) as server:
        mails = [queue(number) for number in range(3)]
        run_worker()
        assert (len(server.taken), server.connections) == (3, 1)
        # The worker has nothing to do and holds no connection.
        queue(3)
        run_worker()
        assert (len(server.taken), server.connections) == (4, 2)
    assert [state(mail) for mail in mails] == [("sent", 1)] * 3


@pytest.mark.django_db(transaction=True)
def test_a_connection_takes_a_limited_number_of_mails(smtp, monkeypatch):
    monkeypatch.setattr(delivery, "MAILS_PER_CONNECTION", 2)
    with running_mail_server(smtp.EMAIL_PORT) as server:
        for number in range(3):
            queue(number)
        run_worker()
        assert (len(server.taken), server.connections) == (3, 2)


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_the_server_has_ended_is_opened_again(smtp):
    with running_mail_server(smtp.EMAIL_PORT) as server:
        server.ends_after_a_mail = True
        mails = [queue(number) for number in range(3)]
        run_worker()
        assert server.connections == 3
    assert [state(mail) for mail in mails] == [("sent", 1)] * 3


@pytest.mark.django_db(transaction=True)
def test_a_connection_is_not_kept_after_a_refusal(smtp):
    with running_mail_server(smtp.EMAIL_PORT) as server:
        server.answers = {"nadie@example.com": (550, "no such mailbox")}
        refused, sent = queue(1, to="nadie@example.com"), queue(2)
        run_worker()
        assert server.connections == 2
    assert (state(refused), state(sent)) == (("failed", 1), ("sent", 1))
