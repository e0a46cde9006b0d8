"""The outbox: owed in a transaction, sent at least once, never by two workers at the same time."""

import email
import email.policy
from datetime import timedelta
from pathlib import Path
from smtplib import SMTPServerDisconnected

import pytest
import time_machine
from django.core import mail as django_mail
from django.core.mail.backends.base import BaseEmailBackend
from django.core.management import call_command
from django.db import transaction
from django.db.models import F
from django.db.transaction import TransactionManagementError
from django.test import override_settings
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from academy.tests.parallel import in_parallel
from apps.core.jobs import send_due_mails
from apps.core.mail import outbox, registry
from apps.core.mail.outbox import deliver_mail, queue_mail, requeue_stuck_mails, retry_mail
from apps.core.mail.registry import SecretUrl, register_mail, render_mail
from apps.core.models import Mail
from apps.core.owed import LEASE, PAUSES

LINK = "https://academia.example/aula/acceso/secreto"


@pytest.fixture(autouse=True)
def greeting(monkeypatch, settings, tmp_path):
    """A mail of two lines that these tests own."""
    monkeypatch.setattr(registry, "_templates", dict(registry._templates))
    folder = tmp_path / "emails"
    folder.mkdir()
    (folder / "greeting.txt").write_text("Hola, {{ name }}: {{ link }}")
    (folder / "greeting.html").write_text("<p>Hola, {{ name }}: {{ link }}</p>")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    register_mail(
        "greeting",
        "Para {{ name }}",
        lambda ids: {"name": ids["name"], "link": SecretUrl(LINK)},
    )


def owe(key="greeting:1", name="Ana") -> Mail | None:
    with transaction.atomic():
        return queue_mail(
            key=key, template="greeting", to="ana@example.com", context={"name": name}
        )


def owed() -> Mail:
    mail = owe()
    assert mail is not None
    return mail


def work() -> None:
    """What the worker does until nothing is due."""
    call_command("db_worker", batch=True, interval=0, startup_delay=False, verbosity=0)


class BrokenBackend(BaseEmailBackend):
    def send_messages(self, messages):
        raise SMTPServerDisconnected("the server hung up")


broken = override_settings(EMAIL_BACKEND="apps.core.tests.test_mail.BrokenBackend")


@pytest.mark.django_db
def test_a_queued_mail_is_sent_once_with_its_headers():
    mail = owed()

    deliver_mail.func(mail_id=mail.pk)
    deliver_mail.func(mail_id=mail.pk)

    (sent,) = django_mail.outbox
    assert sent.subject == "Para Ana"
    assert sent.body == f"Hola, Ana: {LINK}\n"
    assert sent.alternatives[0].content == f"<p>Hola, Ana: {LINK}</p>"
    assert sent.to == ["ana@example.com"]
    assert sent.reply_to == ["hola@academia.example"]
    assert sent.message()["Message-ID"] == mail.message_id
    assert sent.message()["Auto-Submitted"] == "auto-generated"
    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.last_error) == ("sent", 1, "")
    assert mail.sent_at is not None
    assert mail.leased_until is None


@pytest.mark.django_db
def test_the_same_occasion_owes_nothing_new():
    owed()
    assert owe(name="Bruno") is None
    assert Mail.objects.get().context == {"name": "Ana"}
    assert DBTaskResult.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_fails_owes_nothing():
    def pay():
        with transaction.atomic():
            queue_mail(key="k", template="greeting", to="a@example.com", context={"name": "Ana"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pay()
    assert not Mail.objects.exists()
    assert not DBTaskResult.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_mail_outside_a_transaction_is_refused():
    with pytest.raises(TransactionManagementError):
        queue_mail(key="k", template="greeting", to="a@example.com", context={"name": "Ana"})
    assert not Mail.objects.exists()


@pytest.mark.django_db
def test_an_unknown_template_is_refused_at_once():
    with pytest.raises(LookupError, match="nothing"):
        queue_mail(key="k", template="nothing", to="a@example.com", context={})


@pytest.mark.django_db(transaction=True)
def test_the_worker_sends_what_is_queued():
    owed()
    work()
    assert len(django_mail.outbox) == 1
    assert DBTaskResult.objects.get().status == "SUCCESSFUL"


@pytest.mark.django_db
def test_a_failure_is_tried_again_after_growing_pauses_with_the_same_message_id():
    with time_machine.travel("2026-11-21 10:00:00+00:00", tick=False) as clock:
        mail = owed()
        with broken:
            for pause in PAUSES[:5]:
                deliver_mail.func(mail_id=mail.pk)
                mail.refresh_from_db()
                assert mail.status == "queued"
                assert mail.last_error == "SMTPServerDisconnected: the server hung up"
                assert mail.due_at == timezone.now() + pause
                task = DBTaskResult.objects.order_by("-run_after").exclude(run_after__year=9999)[0]
                assert task.run_after == mail.due_at
                assert task.args_kwargs["kwargs"] == {"mail_id": mail.pk}
                clock.shift(pause)
        deliver_mail.func(mail_id=mail.pk)
    assert [int(pause.total_seconds()) for pause in PAUSES[:5]] == [60, 300, 900, 3600, 3600]
    assert django_mail.outbox[0].message()["Message-ID"] == mail.message_id
    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.last_error) == ("sent", 6, "")


@pytest.mark.django_db
def test_a_try_before_its_time_does_nothing():
    mail = owed()
    with broken:
        deliver_mail.func(mail_id=mail.pk)
    deliver_mail.func(mail_id=mail.pk)
    assert django_mail.outbox == []
    mail.refresh_from_db()
    assert mail.attempts == 1


@pytest.mark.django_db
def test_after_a_day_of_failures_a_mail_is_given_up_and_staff_can_send_it_again():
    mail = owed()
    with time_machine.travel(timezone.now(), tick=False) as clock, broken:
        began_at = timezone.now()
        deliver_mail.func(mail_id=mail.pk)
        for pause in PAUSES:
            clock.shift(pause)
            deliver_mail.func(mail_id=mail.pk)
        assert timezone.now() - began_at == timedelta(hours=24, minutes=21)
    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == ("failed", len(PAUSES) + 1)
    assert "the server hung up" in mail.last_error
    tasks_before = DBTaskResult.objects.count()

    with time_machine.travel(timezone.now() + timedelta(hours=26), tick=False):
        deliver_mail.func(mail_id=mail.pk)
        assert django_mail.outbox == []
        assert retry_mail(mail) is True
        assert retry_mail(mail) is False
        assert DBTaskResult.objects.count() == tasks_before + 1
        deliver_mail.func(mail_id=mail.pk)
    assert len(django_mail.outbox) == 1


@pytest.mark.django_db
def test_a_mail_whose_subject_matter_is_gone_is_a_failure_like_any_other(monkeypatch):
    def gone(ids):
        raise Mail.DoesNotExist("gone")

    mail = owed()
    register_mail("greeting", "Hola", gone)
    deliver_mail.func(mail_id=mail.pk)
    mail.refresh_from_db()
    assert (mail.status, mail.last_error) == ("queued", "DoesNotExist: gone")


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_dies_while_sending_loses_nothing(monkeypatch):
    mail = owed()

    def die():
        raise SystemExit(1)

    with monkeypatch.context() as patch:
        patch.setattr(outbox, "open_connection", die)
        with pytest.raises(SystemExit):
            deliver_mail.func(mail_id=mail.pk)
    # The worker's task died with it.
    DBTaskResult.objects.update(status="RUNNING")
    assert requeue_stuck_mails() == 0, "another worker might still be sending it"

    with time_machine.travel(timezone.now() + LEASE + timedelta(seconds=1), tick=False):
        assert send_due_mails() == "Correos recuperados: 1"
        assert requeue_stuck_mails() == 0, "its new task is waiting"
        work()
    assert [sent.message()["Message-ID"] for sent in django_mail.outbox] == [mail.message_id]


@pytest.mark.django_db(transaction=True)
def test_a_lost_task_is_made_good_by_the_next_mail():
    lost = owed()
    DBTaskResult.objects.all().delete()
    Mail.objects.update(due_at=F("due_at") - timedelta(minutes=3))
    owe(key="greeting:2", name="Bruno")
    work()
    lost.refresh_from_db()
    assert lost.status == "sent"
    assert sorted(sent.subject for sent in django_mail.outbox) == ["Para Ana", "Para Bruno"]


@pytest.mark.django_db
def test_a_mail_whose_task_waits_for_a_slow_worker_is_not_queued_twice():
    owed()
    Mail.objects.update(due_at=F("due_at") - timedelta(hours=3))
    assert requeue_stuck_mails() == 0
    assert DBTaskResult.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_many_workers_on_one_mail_send_it_once():
    mail = owed()
    assert in_parallel(lambda: deliver_mail.func(mail_id=mail.pk), 12) == [None] * 12
    assert len(django_mail.outbox) == 1
    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == ("sent", 1)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_one_occasion_reported_many_times_at_once_owes_one_mail():
    results = in_parallel(owe, 12)
    assert len([r for r in results if isinstance(r, Mail)]) == 1
    assert results.count(None) == 11
    assert DBTaskResult.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_that_look_for_stuck_mails_at_once_queue_each_once():
    owed()
    DBTaskResult.objects.all().delete()
    Mail.objects.update(due_at=F("due_at") - timedelta(minutes=3))
    assert sum(in_parallel(requeue_stuck_mails, 8)) == 1
    assert DBTaskResult.objects.count() == 1


@pytest.mark.django_db
def test_plain_text_is_not_escaped_html_is_and_a_subject_stays_one_line():
    rendered = render_mail("greeting", {"name": "Álgebra & <b>\nBcc: x@example.com"}, reveal=True)
    assert rendered.subject == "Para Álgebra & <b> Bcc: x@example.com"
    assert "Álgebra & <b>" in rendered.text
    assert "Álgebra &amp; &lt;b&gt;" in rendered.html


@pytest.mark.django_db
def test_staff_see_a_one_time_link_only_where_nothing_is_sent():
    mail = owed()
    hidden = mail.rendered()
    assert LINK not in hidden.text + hidden.html
    assert "[enlace personal, solo en el correo]" in hidden.text
    with override_settings(EMAIL_BACKEND="apps.core.mail.backends.FileBackend"):
        assert LINK in mail.rendered().text


@pytest.mark.django_db
def test_neither_the_row_nor_the_queue_nor_the_log_holds_the_link(caplog):
    mail = owed()
    with broken:
        deliver_mail.func(mail_id=mail.pk)
    kept = [*Mail.objects.values_list(), *DBTaskResult.objects.values_list()]
    assert "secreto" not in str(kept) + caplog.text
    assert "ana@example.com" not in caplog.text
    assert f"mail {mail.pk} failed with SMTPServerDisconnected, try 1" in caplog.text


@pytest.mark.django_db
def test_the_file_backend_keeps_one_readable_file_per_mail(tmp_path):
    folder = tmp_path / "mailbox"
    mail = owed()
    with override_settings(
        EMAIL_BACKEND="apps.core.mail.backends.FileBackend", EMAIL_FILE_PATH=folder
    ):
        deliver_mail.func(mail_id=mail.pk)
        Mail.objects.update(status="queued", sent_at=None)
        deliver_mail.func(mail_id=mail.pk)
    (file,) = folder.iterdir()
    assert file.suffix == ".eml"
    assert file.stat().st_mode & 0o077 == 0
    message = email.message_from_bytes(Path(file).read_bytes(), policy=email.policy.default)
    assert message["Message-ID"] == mail.message_id
    assert message["To"] == "ana@example.com"
    assert message.get_body(("plain",)).get_content().strip() == f"Hola, Ana: {LINK}"
