"""The outbox at a real mail server: down, forgetful, choosy."""

import re
from datetime import timedelta
from email.utils import parsedate_to_datetime

import pytest
import time_machine
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from academy.dev.environment import free_port
from academy.tests.smtp import running_mail_server
from apps.core.jobs import send_due_mails
from apps.core.mail import delivery
from apps.core.mail.delivery import ServerUnreachable, is_refused_for_good
from apps.core.mail.outbox import deliver_mail, queue_mail
from apps.core.models import Mail
from apps.core.owed import LEASE, PAUSES

NOON = "2026-11-21 12:00:00+00:00"


@pytest.fixture(autouse=True)
def smtp(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_PORT = free_port()
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    return settings


def owe(number, to=None) -> Mail:
    with transaction.atomic():
        mail = queue_mail(
            key=f"job:{number}",
            template="job_failed",
            to=to or f"alumna{number}@example.com",
            context={"title": f"Tarea {number}: contraseña & señal"},
        )
    assert mail is not None
    return mail


def work() -> None:
    """What the worker does until nothing is due."""
    call_command("db_worker", batch=True, interval=0, startup_delay=False, verbosity=0)


def state(mail):
    mail.refresh_from_db()
    return mail.status, mail.attempts


@pytest.mark.django_db
def test_a_mail_travels_as_mail_programs_expect_it(smtp):
    with time_machine.travel(NOON, tick=False) as clock, running_mail_server(smtp.EMAIL_PORT) as it:
        mail = owe(1)
        clock.shift(timedelta(minutes=90))
        deliver_mail.func(mail_id=mail.pk)

    (message,) = it.messages()
    assert message["Subject"].strip() == "Ha fallado una tarea: Tarea 1: contraseña & señal"
    assert message["To"] == "alumna1@example.com"
    assert message["Message-ID"] == mail.message_id
    assert parsedate_to_datetime(message["Date"]).isoformat() == "2026-11-21T13:00:00+01:00"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["List-Unsubscribe"] is None
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert "contraseña & señal" in message.get_body(("plain",)).get_content()
    headers = it.taken[0][1].split(b"\r\n\r\n")[0]
    assert headers.isascii()
    assert re.search(rb"^Subject:\s+=\?utf-8\?", headers, re.MULTILINE)
    assert max(len(line) for line in it.taken[0][1].splitlines()) <= 998


@pytest.mark.django_db
def test_a_server_that_takes_a_mail_and_hangs_up_gets_it_again_with_the_same_message_id(smtp):
    with time_machine.travel(NOON, tick=False) as clock, running_mail_server(smtp.EMAIL_PORT) as it:
        it.drops = 1
        mail = owe(1)
        deliver_mail.func(mail_id=mail.pk)
        assert state(mail) == ("queued", 1)
        assert mail.last_error.startswith("SMTPServerDisconnected")
        clock.shift(PAUSES[0])
        deliver_mail.func(mail_id=mail.pk)

    assert state(mail) == ("sent", 2)
    first, second = it.messages()
    assert first["Message-ID"] == second["Message-ID"] == mail.message_id
    assert first["Date"] == second["Date"]
    assert first["Subject"] == second["Subject"]


@pytest.mark.django_db(transaction=True)
def test_an_hour_without_a_server_loses_nothing_and_keeps_the_order(smtp):
    mails = []
    with time_machine.travel(NOON, tick=False) as clock:
        # A sale's hour: a mail every 18 seconds, the worker and the clock at work all the time.
        for number in range(200):
            mails.append(owe(number))
            clock.shift(timedelta(seconds=18))
            if number % 40 == 0:
                work()
                send_due_mails()
        work()
        assert {mail.status for mail in Mail.objects.all()} == {"queued"}
        assert Mail.objects.filter(last_error__startswith="ServerUnreachable: ").count() == 200

        with running_mail_server(smtp.EMAIL_PORT) as it:
            owe("later")
            work()

    assert list(Mail.objects.values_list("status", flat=True)) == ["sent"] * 201
    assert it.recipients() == [
        *(f"alumna{number}@example.com" for number in range(200)),
        "alumnalater@example.com",
    ]
    assert [message["Message-ID"] for message in it.messages()][:200] == [
        mail.message_id for mail in mails
    ]


@pytest.mark.django_db(transaction=True)
def test_without_a_new_mail_the_backlog_goes_when_the_first_is_due_again(smtp):
    with time_machine.travel(NOON, tick=False) as clock:
        for number in range(5):
            owe(number)
            clock.shift(timedelta(minutes=7))
            work()
        with running_mail_server(smtp.EMAIL_PORT) as it:
            clock.move_to(min(Mail.objects.values_list("due_at", flat=True)))
            work()
    assert it.recipients() == [f"alumna{number}@example.com" for number in range(5)]


@pytest.mark.django_db
def test_the_oldest_is_asked_for_all_without_losing_its_own_tries(smtp):
    with time_machine.travel(NOON, tick=False):
        first = owe(0)
        deliver_mail.func(mail_id=first.pk)
        assert state(first) == ("queued", 1)
        due_at = first.due_at
        for number in range(1, 40):
            deliver_mail.func(mail_id=owe(number).pk)
        assert state(first) == ("queued", 1)
        assert (first.due_at, first.leased_until, first.waits_for_server) == (due_at, None, True)
        assert set(Mail.objects.values_list("attempts", flat=True)) == {1}


@pytest.mark.django_db
def test_what_another_worker_holds_is_left_to_it(smtp):
    with time_machine.travel(NOON, tick=False):
        first = owe(0)
        deliver_mail.func(mail_id=first.pk)
        Mail.objects.filter(pk=first.pk).update(leased_until=timezone.now() + LEASE)
        with running_mail_server(smtp.EMAIL_PORT) as it:
            deliver_mail.func(mail_id=owe(1).pk)
        assert it.recipients() == ["alumna1@example.com"]
        assert state(first) == ("queued", 1)


@pytest.mark.django_db(transaction=True)
def test_an_address_that_does_not_exist_is_given_up_at_once_and_holds_up_nobody(smtp, client):
    with running_mail_server(smtp.EMAIL_PORT) as it:
        it.answers["nadie@example.com"] = (550, "5.1.1 no such user here")
        before, nobody, after = owe(1), owe(2, "nadie@example.com"), owe(3)
        work()
    assert it.recipients() == ["alumna1@example.com", "alumna3@example.com"]
    assert [state(mail) for mail in (before, nobody, after)] == [
        ("sent", 1),
        ("failed", 1),
        ("sent", 1),
    ]
    assert "no such user here" in nobody.last_error
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
def test_what_may_pass_is_tried_again(smtp, answer):
    with running_mail_server(smtp.EMAIL_PORT) as it:
        it.answers["nadie@example.com"] = answer
        nobody = owe(1, "nadie@example.com")
        deliver_mail.func(mail_id=nobody.pk)
        assert state(nobody) == ("queued", 1)
        # It is this mail's own trouble: the next is not held behind it.
        assert not nobody.waits_for_server
        other = owe(2)
        deliver_mail.func(mail_id=other.pk)
        assert state(other) == ("sent", 1)
        assert state(nobody) == ("queued", 1)


@pytest.mark.django_db
def test_a_server_that_hangs_up_in_its_farewell_has_the_mail(smtp, monkeypatch):
    def hang_up(self):
        raise OSError("reset")

    monkeypatch.setattr("django.core.mail.backends.smtp.EmailBackend.close", hang_up)
    with running_mail_server(smtp.EMAIL_PORT) as it:
        mail = owe(1)
        deliver_mail.func(mail_id=mail.pk)
    assert state(mail) == ("sent", 1)
    assert len(it.taken) == 1


def test_a_server_without_tls_or_with_another_password_is_no_mail_s_fault(smtp):
    smtp.EMAIL_HOST_USER, smtp.EMAIL_HOST_PASSWORD = "academia", "otra"
    with (
        running_mail_server(smtp.EMAIL_PORT),
        pytest.raises(ServerUnreachable, match="SMTPNotSupportedError"),
        delivery.open_connection(),
    ):
        pass
    assert not is_refused_for_good(ServerUnreachable("x"))
