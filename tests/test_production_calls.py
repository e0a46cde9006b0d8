"""Every task, job, command and event handler, called as production calls it.

That is: by a worker, the clock, `manage.py` or the webhook, without the transaction of a test. A
new task or command must be added to the tables here; jobs and handlers are found.
"""

from datetime import timedelta
from importlib import import_module
from io import StringIO
from pkgutil import walk_packages

import pytest
from django.core.management import call_command, get_commands
from django.utils import timezone
from django_tasks.base import Task
from django_tasks_db.models import DBTaskResult

import apps
from apps.classroom.models import AccessChange, Provisioning
from apps.core.jobs import all_jobs
from apps.core.models import PROCESSES, Heartbeat, Mail, ScheduledJob
from apps.orders.models import Order
from apps.payments.events.handlers import HANDLERS
from apps.payments.models import ProviderEvent
from apps.payments.stripe.events import UNREADABLE
from tests.helpers.completion import deliver, event_body
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.refunds import buy, make_clerk

pytestmark = pytest.mark.django_db(transaction=True)

# The keyword arguments of each task, from the order that most rows belong to.
TASKS = {
    "apps.catalogue.exchange.uploads.import_upload": lambda order: {
        "upload_id": 0,
        "is_confirmed": False,
    },
    "apps.catalogue.exchange.uploads.read_upload": lambda order: {"upload_id": 0},
    "apps.classroom.moodle_pages.ask_moodle": lambda order: {},
    "apps.classroom.provisioning.provision": lambda order: {"order_id": order.pk},
    "apps.classroom.send_again.send_batch_again": lambda order: {"entries": None, "after": 0},
    "apps.classroom.sync.sync_classroom": lambda order: {
        "change_id": AccessChange.objects.get(order_id=order.pk).pk
    },
    "apps.core.mail.outbox.deliver_mail": lambda order: {"mail_id": Mail.objects.get().pk},
    "apps.invoices.book.pdf_archive.make_archive": lambda order: {"archive_id": 0},
    "apps.invoices.pending.issue_pending": lambda order: {"order_id": order.pk},
    "apps.orders.checkout.already_bought.mail_already_bought": lambda order: {"order_id": order.pk},
    "apps.payments.webhooks.process_event": lambda order: {
        "event_row_id": ProviderEvent.objects.get().pk
    },
}
# Jobs that find work in the rows below, and say what they did.
BUSY_JOBS = {
    "alert_silent_processes", "audit_money", "check_takings", "issue_invoices", "keep_takings",
    "lost_tasks", "provision_due", "refresh_popularity", "release_rewards", "send_due_mails",
}  # fmt: skip
COMMANDS = {
    "audit_money": ["--offline"],
    "charge_instalments": [],
    "check_moodle": ["--create-role"],
    "clock": ["--once"],
    "erase_person": ["nadie@example.com", "--yes"],
    "export_catalogue": ["FILE"],
    "import_catalogue": ["FILE"],
    "mail_failed_unit": ["academia-backup.service"],
    "purge_expired": [],
    "reconcile_payments": [],
    "reset_second_factor": ["carla"],
    "staff_groups": [],
    "worker": ["--batch", "--no-startup-delay", "--interval", "0"],
}
# Other tests call these without a transaction, most of them as processes of their own.
CALLED_ELSEWHERE = {
    "backup": "tests/test_backup.py",
    "collectstatic": "tests/test_static_files.py",
    "restore": "tests/test_backup.py",
    "resume_invoices": "apps/invoices/tests/test_after_restore.py",
    "seed": "tests/test_start.py",
}


def registered_tasks() -> dict[str, Task]:
    names = [module.name for module in walk_packages(apps.__path__, "apps.")]
    modules = [import_module(name) for name in names if ".tests" not in name]
    values = [value for module in modules for value in vars(module).values()]
    return {task.module_path: task for task in values if isinstance(task, Task)}


def test_every_task_succeeds_in_a_worker(sandbox, work):
    order = make_one_of_everything()
    Provisioning.objects.update(status="pending", due_at=timezone.now())
    tasks = registered_tasks()
    assert set(TASKS) == set(tasks)
    for name, task in tasks.items():
        task.enqueue(**TASKS[name](order))

    work()

    ended = dict(DBTaskResult.objects.values_list("task_path", "traceback"))
    assert set(tasks) <= set(ended)
    assert {name: traceback for name, traceback in ended.items() if traceback} == {}


def test_every_job_succeeds_in_the_clock(sandbox):
    make_one_of_everything()
    now = timezone.now()
    for name in PROCESSES:
        Heartbeat.objects.update_or_create(
            name=name, defaults={"seen_at": now - timedelta(hours=1)}
        )
    Mail.objects.update(due_at=now - timedelta(hours=1))
    # A reward waits for the last instalment of its order.
    Order.objects.filter(referral_reward__isnull=False).update(status="paid")
    AccessChange.objects.update(due_at=now - timedelta(hours=1))
    registered_tasks()["apps.core.mail.outbox.deliver_mail"].enqueue(mail_id=0)
    DBTaskResult.objects.update(status="RUNNING", started_at=now - timedelta(hours=1))
    for position, name in enumerate(all_jobs()):
        # In the order of their registration: takings are kept before they are checked.
        due_at = now - timedelta(hours=1, seconds=-position)
        ScheduledJob.objects.update_or_create(name=name, defaults={"due_at": due_at})

    call_command("clock", "--once", stdout=StringIO())

    rows = {row.name: row for row in ScheduledJob.objects.filter(finished_at__gte=now)}
    assert set(rows) == set(all_jobs())
    assert {name: row.last_error for name, row in rows.items() if row.failures} == {}
    assert {name for name in BUSY_JOBS if not rows[name].last_result} == set()


def test_every_command_ends_without_an_error(sandbox, tmp_path, monkeypatch):
    own = {name for name, app in get_commands().items() if app.startswith("apps.")}
    assert own == set(COMMANDS) | set(CALLED_ELSEWHERE)
    make_clerk()
    for name, arguments in COMMANDS.items():
        file = str(tmp_path / "catalogue.csv")
        arguments = [file if argument == "FILE" else argument for argument in arguments]
        call_command(name, *arguments, stdout=StringIO())


def test_every_kind_of_event_is_handled_in_a_worker(api, sandbox, work):
    order = buy(api, sandbox)
    reference = order.payments.get().reference
    for number, kind in enumerate(HANDLERS):
        body = event_body(kind, reference, event_id=f"evt_{number}", payment_intent=reference)
        assert deliver(api, body).status_code == 200
    assert deliver(api, "[]").status_code == 200

    work()

    assert set(ProviderEvent.objects.values_list("kind", flat=True)) == {*HANDLERS, UNREADABLE}
    failed = DBTaskResult.objects.exclude(traceback="")
    assert dict(failed.values_list("task_path", "traceback")) == {}
