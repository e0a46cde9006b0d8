"""The outbox: queued in a transaction, sent at least once, by one worker at a time."""

import email
import email.policy
import resource
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from smtplib import SMTPServerDisconnected

import pytest
import time_machine
from django.core import mail as django_mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.db.models import F
from django.test import override_settings
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.core.jobs import send_due_mails
from apps.core.mail import outbox, registry
from apps.core.mail.outbox import deliver_mail, queue_mail, requeue_stuck_mails, retry_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import SecretUrl, register_mail, render_for_staff, render_mail
from apps.core.models import Mail
from apps.core.retries import LEASE, RETRY_DELAYS
from tests.helpers.commands import run_worker
from tests.helpers.parallel import in_parallel

LINK = "https://academia.example/aula/acceso?enlace=secreto"


@pytest.fixture(autouse=True)
def greeting(monkeypatch, settings, tmp_path):
    """Register a mail that only these tests use."""
    monkeypatch.setattr(registry, "_templates", dict(registry._templates))
    folder = tmp_path / "core/emails"
    folder.mkdir(parents=True)
    (folder / "greeting.txt").write_text("Hola, {{ name }}: {{ link }}")
    (folder / "greeting.html").write_text("<p>Hola, {{ name }}: {{ link }}</p>")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    register_mail(
        "greeting",
        "Para {{ name }}",
        lambda ids: {"name": ids["name"], "link": SecretUrl(LINK)},
        origin=Origin.STAFF,
    )


def queue(key="greeting:1", name="Ana") -> Mail | None:
    with transaction.atomic():
        return queue_mail(
            key=key, template="greeting", to="ana@example.com", context={"name": name}
        )


def queued() -> Mail:
    mail = queue()
    assert mail is not None
    return mail


class BrokenBackend(BaseEmailBackend):
    def send_messages(self, messages):
        raise SMTPServerDisconnected("the server hung up")


broken = override_settings(EMAIL_BACKEND="apps.core.tests.test_mail.BrokenBackend")


@pytest.mark.django_db
def test_a_queued_mail_is_sent_once_with_its_headers():
    mail = queued()

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
def test_the_same_key_queues_nothing_new():
    queued()
    assert queue(name="Bruno") is None
    assert Mail.objects.get().context == {"name": "Ana"}
    assert DBTaskResult.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_mail_is_rolled_back_with_its_transaction():
    def pay():
        with transaction.atomic():
            queue_mail(key="k", template="greeting", to="a@example.com", context={"name": "Ana"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pay()
    assert not Mail.objects.exists()
    assert not DBTaskResult.objects.exists()


@pytest.mark.django_db
def test_an_unknown_template_is_refused():
    with pytest.raises(LookupError, match="nothing"):
        queue_mail(key="k", template="nothing", to="a@example.com", context={})


@pytest.mark.django_db(transaction=True)
def test_the_worker_sends_queued_mails():
    queued()
    run_worker()
    assert len(django_mail.outbox) == 1
    assert DBTaskResult.objects.get().status == "SUCCESSFUL"


def test_links_that_somebody_waits_for_are_known():
    links = {"sign_in_link", "classroom_link", "classroom_confirm", "staff_password_link"}
    assert {name for name in registry.registered_mails() if registry.is_link(name)} == links


@pytest.mark.django_db(transaction=True)
def test_a_link_is_sent_before_the_mails_that_wait():
    """A sign-in link works for half an hour; staff may send thousands of invoices again."""
    link = replace(registry._templates["greeting"], origin=Origin.SIGN_IN_LINK)
    registry._templates["link"] = link
    queue("one")
    queue("two")
    with transaction.atomic():
        queue_mail(key="link", template="link", to="b@example.com", context={"name": "Bruno"})
    run_worker()

    assert [mail.subject for mail in django_mail.outbox] == ["Para Bruno", "Para Ana", "Para Ana"]


@pytest.mark.django_db
def test_a_failure_is_retried_with_backoff_and_the_same_message_id():
    with time_machine.travel("2026-11-21 10:00:00+00:00", tick=False) as clock:
        mail = queued()
        with broken:
            for delay in RETRY_DELAYS[:5]:
                deliver_mail.func(mail_id=mail.pk)
                mail.refresh_from_db()
                assert mail.status == "queued"
                assert mail.last_error == "SMTPServerDisconnected: the server hung up"
                assert mail.due_at == timezone.now() + delay
                task = DBTaskResult.objects.order_by("-run_after").exclude(run_after__year=9999)[0]
                assert task.run_after == mail.due_at
                assert task.args_kwargs["kwargs"] == {"mail_id": mail.pk}
                clock.shift(delay)
        deliver_mail.func(mail_id=mail.pk)
    assert [int(delay.total_seconds()) for delay in RETRY_DELAYS[:5]] == [60, 300, 900, 3600, 3600]
    assert django_mail.outbox[0].message()["Message-ID"] == mail.message_id
    mail.refresh_from_db()
    assert (mail.status, mail.attempts, mail.last_error) == ("sent", 6, "")


@pytest.mark.django_db
def test_a_task_that_runs_before_the_mail_is_due_does_nothing():
    mail = queued()
    with broken:
        deliver_mail.func(mail_id=mail.pk)
    deliver_mail.func(mail_id=mail.pk)
    assert django_mail.outbox == []
    mail.refresh_from_db()
    assert mail.attempts == 1


@pytest.mark.django_db
def test_a_mail_fails_after_a_day_and_staff_can_requeue_it():
    mail = queued()
    with time_machine.travel(timezone.now(), tick=False) as clock, broken:
        started_at = timezone.now()
        deliver_mail.func(mail_id=mail.pk)
        for delay in RETRY_DELAYS:
            clock.shift(delay)
            deliver_mail.func(mail_id=mail.pk)
        assert timezone.now() - started_at == timedelta(hours=24, minutes=21)
    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == ("failed", len(RETRY_DELAYS) + 1)
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
def test_a_mail_about_a_deleted_row_is_retried_like_any_failure(monkeypatch):
    def raise_does_not_exist(ids):
        raise Mail.DoesNotExist("gone")

    mail = queued()
    register_mail("greeting", "Hola", raise_does_not_exist, origin=Origin.STAFF)
    deliver_mail.func(mail_id=mail.pk)
    mail.refresh_from_db()
    assert (mail.status, mail.last_error) == ("queued", "DoesNotExist: gone")


@pytest.mark.django_db(transaction=True)
def test_a_mail_is_recovered_after_its_worker_died(monkeypatch):
    mail = queued()

    def die():
        raise SystemExit(1)

    with monkeypatch.context() as patch:
        patch.setattr(outbox, "open_connection", die)
        with pytest.raises(SystemExit):
            deliver_mail.func(mail_id=mail.pk)
    # The dead worker leaves its task in the state RUNNING.
    DBTaskResult.objects.update(status="RUNNING")
    assert requeue_stuck_mails() == 0, "another worker might still hold it"

    with time_machine.travel(timezone.now() + LEASE + timedelta(seconds=1), tick=False):
        assert send_due_mails() == "Correos recuperados: 1"
        assert requeue_stuck_mails() == 0, "its new task is queued"
        run_worker()
    assert [sent.message()["Message-ID"] for sent in django_mail.outbox] == [mail.message_id]


@pytest.mark.django_db(transaction=True)
def test_the_clock_requeues_a_mail_whose_task_was_lost():
    lost = queued()
    DBTaskResult.objects.all().delete()
    Mail.objects.update(due_at=F("due_at") - timedelta(minutes=3))
    assert send_due_mails() == "Correos recuperados: 1"
    run_worker()
    lost.refresh_from_db()
    assert lost.status == "sent"
    assert [sent.subject for sent in django_mail.outbox] == ["Para Ana"]


@pytest.mark.django_db
def test_a_mail_whose_task_is_still_queued_is_not_requeued():
    queued()
    Mail.objects.update(due_at=F("due_at") - timedelta(hours=3))
    assert requeue_stuck_mails() == 0
    assert DBTaskResult.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_workers_send_a_mail_once():
    mail = queued()
    assert in_parallel(lambda: deliver_mail.func(mail_id=mail.pk), 12) == [None] * 12
    assert len(django_mail.outbox) == 1
    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == ("sent", 1)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_calls_with_one_key_queue_one_mail():
    results = in_parallel(queue, 12)
    assert len([r for r in results if isinstance(r, Mail)]) == 1
    assert results.count(None) == 11
    assert DBTaskResult.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_searches_for_stuck_mails_requeue_each_once():
    queued()
    DBTaskResult.objects.all().delete()
    Mail.objects.update(due_at=F("due_at") - timedelta(minutes=3))
    assert sum(in_parallel(requeue_stuck_mails, 8)) == 1
    assert DBTaskResult.objects.count() == 1


@pytest.mark.django_db
def test_html_is_escaped_plain_text_is_not_and_the_subject_is_one_line():
    rendered = render_mail("greeting", {"name": "Álgebra & <b>\nBcc: x@example.com"}, reveal=True)
    assert rendered.subject == "Para Álgebra & <b> Bcc: x@example.com"
    assert "Álgebra & <b>" in rendered.text
    assert "Álgebra &amp; &lt;b&gt;" in rendered.html


@pytest.mark.django_db
@pytest.mark.parametrize("backend", ["core.mail.backends.FileBackend", "anything.else"])
def test_staff_never_see_a_one_time_link(backend, settings):
    settings.EMAIL_BACKEND = f"apps.{backend}"
    hidden = render_for_staff(queued())
    assert LINK not in hidden.text + hidden.html
    assert "[enlace personal, solo en el correo]" in hidden.text


@pytest.mark.django_db
def test_neither_the_row_nor_the_task_nor_the_log_contains_the_link(caplog):
    mail = queued()
    with broken:
        deliver_mail.func(mail_id=mail.pk)
    stored = [*Mail.objects.values_list(), *DBTaskResult.objects.values_list()]
    assert "secreto" not in str(stored) + caplog.text
    assert "ana@example.com" not in caplog.text
    assert f"mail {mail.pk} failed with SMTPServerDisconnected, try 1" in caplog.text


@pytest.mark.django_db
def test_the_file_backend_writes_one_private_file_per_mail(tmp_path):
    folder = tmp_path / "mailbox"
    mail = queued()
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


@pytest.mark.django_db
def test_mail_on_a_full_disk_waits_and_leaves_no_part_of_a_file(tmp_path):
    mail = queued()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with override_settings(
        EMAIL_BACKEND="apps.core.mail.backends.FileBackend", EMAIL_FILE_PATH=tmp_path / "mailbox"
    ):
        # No process can fill the disk of a test; a limit on the size of its files is like it.
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            deliver_mail.func(mail_id=mail.pk)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert list((tmp_path / "mailbox").iterdir()) == []
    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == (Mail.Status.QUEUED, 1)
