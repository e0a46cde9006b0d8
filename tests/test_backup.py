"""`manage.py backup` and `manage.py restore`: the database and the files, encrypted, and back."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from apps.classroom.models import Provisioning
from apps.classroom.tests.moodle_server import TOKEN, running_moodle
from apps.core.backup.make import place
from apps.core.backup.numbers import GAP
from apps.core.dates import today
from apps.core.management.commands.restore import Command
from apps.core.models import Backup, Mail, Restore
from apps.core.rehearsal import NOT_SET
from apps.core.storage.file_storage import PICTURES, PRIVATE
from apps.orders.models import Order
from tests.helpers.factories import ANA, make_subject
from tests.helpers.plans import buy_in_instalments
from tests.helpers.refunds import buy
from tests.test_start import gunicorn
from tools.dev.mail_server import running_mail_server
from tools.dev.processes import ROOT

CARLOS = {"email": "carlos@example.com", "phone": "+34600333333"}
DIEGO = {"email": "diego@example.com", "phone": "+34600444444"}
# Too long to occur in an encrypted archive by chance.
EXERCISE = b"PEC 1 de Microeconom\xc3\xada, resuelta por la academia"


@pytest.fixture
def recipient(monkeypatch, tmp_path_factory, settings):
    """A GPG key that archives are encrypted for."""
    home = tmp_path_factory.mktemp("gpg")
    home.chmod(0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    subprocess.run(
        ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", "copias@example.com"],
        check=True,
        capture_output=True,
    )
    settings.BACKUP_RECIPIENT = "copias@example.com"
    yield
    subprocess.run(["gpgconf", "--kill", "all"], check=False)


@pytest.fixture
def shop(settings, tmp_path, monkeypatch):
    if connection.vendor == "postgresql":
        from tools.dev.postgres import TOOLS

        monkeypatch.setenv("PATH", f"{TOOLS}{os.pathsep}{os.environ['PATH']}")
    settings.VAR_DIR = tmp_path / "var"
    settings.BACKUP_DIR = tmp_path / "backups"
    return tmp_path


@pytest.fixture
def empty_place(tmp_path):
    """The environment of a shop with an empty database and an empty VAR_DIR."""
    env = {"VAR_DIR": str(tmp_path / "restored")}
    if connection.vendor == "sqlite":
        yield {**env, "DATABASE_URL": f"sqlite:///{tmp_path / 'restored.sqlite3'}"}
        return
    name = f"{connection.settings_dict['NAME']}_restored"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
    base = urlsplit(os.environ["DATABASE_URL"])
    yield {**env, "DATABASE_URL": base._replace(path=f"/{name}").geturl()}
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def archive(shop):
    """The archive of a backup that is made when the test calls this."""

    def make():
        call_command("backup", unencrypted=True)
        [path] = (shop / "backups").iterdir()
        return str(path)

    return make


@pytest.fixture
def outside(sandbox, empty_place):
    """The servers that the restored shop is told of: Stripe, a Moodle, a mail server."""
    with running_moodle() as moodle, running_mail_server() as mails:
        env = {
            **empty_place,
            "STRIPE_API_BASE": sandbox.process.url,
            "EMAIL_URL": f"smtp://127.0.0.1:{mails.port}",
            "CLASSROOM": "moodle",
            "MOODLE_URL": moodle.url,
            "MOODLE_TOKEN": TOKEN,
        }
        yield SimpleNamespace(moodle=moodle, mails=mails, env=env)


def run(*arguments, env):
    ended = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return ended.returncode, (ended.stdout + ended.stderr).replace("\xa0", " ")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("recipient")
def test_restored_shop_has_its_rows_and_files_and_names_every_later_charge(
    api, sandbox, shop, empty_place
):
    subject = make_subject()
    kept = buy(api, sandbox, subject, email="bruno@example.com")
    storages[PICTURES].save("profesores/lucia.webp", ContentFile(b"picture"))
    storages[PRIVATE].save("abc", ContentFile(EXERCISE))
    call_command("backup")
    [archive] = (shop / "backups").iterdir()
    content = archive.read_bytes()
    assert archive.suffix == ".gpg"
    assert b"bruno@example.com" not in content
    assert EXERCISE not in content
    made = Backup.objects.get()
    assert made.encrypted
    assert (made.archive, made.size_bytes) == (archive.name, len(content))
    lost = [buy(api, sandbox, subject, **buyer) for buyer in (ANA, CARLOS, DIEGO)]

    at_stripe = {**empty_place, "STRIPE_API_BASE": sandbox.process.url}
    status, output = run("restore", str(archive), "--takeover", env=at_stripe)

    assert status == 1, output
    # Three orders were placed after the backup; the gap follows the last of them.
    assert f"El próximo pedido será el {lost[-1].pk + GAP + 1}." in output
    assert "con 2 archivos" in output
    assert "Cobros sin pedido, avisados por correo: 3." in output
    assert output.count("Cobro sin pedido: 182,40 €") == 3
    for order in lost:
        assert order.stripe_payment_intent_id in output
    assert kept.stripe_payment_intent_id not in output
    restored = shop / "restored"
    assert (restored / "pictures/profesores/lucia.webp").read_bytes() == b"picture"
    assert (restored / "private/leads/abc").read_bytes() == EXERCISE

    again = ("restore", str(archive), "--offline", "--takeover")
    status, output = run(*again, env=empty_place)
    assert status == 1
    assert "La base de datos no está vacía" in output
    status, output = run(*again, "--over-existing", env=empty_place)
    assert (status, "Pedidos comparados: 1;" in output) == (0, True), output


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("recipient", "shop")
def test_broken_archive_and_one_in_clear_need_attention(shop, empty_place, settings):
    call_command("backup")
    [archive] = (shop / "backups").iterdir()
    archive.write_bytes(archive.read_bytes()[:-2000])
    status, output = run("restore", str(archive), "--offline", "--takeover", env=empty_place)
    assert status == 1
    assert "Restaurada" not in output

    settings.BACKUP_RECIPIENT = ""
    with pytest.raises(CommandError, match="BACKUP_RECIPIENT"):
        call_command("backup")
    call_command("backup", unencrypted=True, keep=1)
    [archive] = (shop / "backups").iterdir()
    assert archive.suffix == ".tar"
    assert archive.stat().st_mode & 0o077 == 0
    assert not Order.objects.exists()


# In one process: starting another takes two seconds.
_ROUND = """
from django.core.management import call_command
call_command("clock", once=True)
call_command("worker", batch=True, queue_name="*")
"""


def _work(env):
    """One round of the clock and of the workers of a restored shop."""
    status, output = run("shell", "--no-imports", "--command", _ROUND, env=env)
    assert status == 0, output


def _at_stripe(sandbox):
    """What a shop can change at Stripe: the number of objects, payments, charges and refunds."""
    client = sandbox.process.client().v1
    lists = (client.payment_intents, client.charges, client.refunds)
    rows = [[row.to_dict() for row in part.list({"limit": 100}).data] for part in lists]
    return [sandbox.process.control("GET", "state")["objects"], *rows]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_rehearsal_charges_mails_and_enrols_nobody_and_a_takeover_does(
    api, sandbox, archive, outside
):
    """The backup has an instalment that is due, mails that wait, and pending access."""
    order = buy_in_instalments(api, sandbox)
    outside.moodle.add_course("FIS", f"asignatura-{order.lines.get().subject_id}")
    yesterday, later = today() - timedelta(days=1), today() + timedelta(days=19)
    # The helper's purchase has a fixed day: on a later one, the last instalment would be due, too.
    order.instalments.filter(number=2).update(due_on=yesterday, charge_on=yesterday)
    order.instalments.filter(number=3).update(due_on=later, charge_on=later)
    assert Mail.objects.filter(status=Mail.Status.QUEUED).exists()
    assert Provisioning.objects.filter(status="pending").exists()
    path, before = archive(), _at_stripe(sandbox)
    rehearsal = {**outside.env, "REHEARSAL": "true"}

    status, output = run("restore", path, "--rehearsal", env=rehearsal)
    assert (status, "ENSAYO" in output) == (0, True), output
    _work(rehearsal)

    assert _at_stripe(sandbox) == before
    assert outside.mails.connections == 0
    assert [call for call in outside.moodle.calls if "_get_" not in call] == []
    status, output = run("charge_instalments", env=rehearsal)
    assert "Sin respuesta de Stripe" in output

    # Without the setting no process can use the database of a rehearsal: each opens a connection.
    status, output = run("worker", "--batch", env=outside.env)
    assert (status, NOT_SET in output) == (1, True), output
    assert _at_stripe(sandbox) == before

    # The same backup sells on for real: what was due is done.
    with connection.cursor() as cursor:
        name = urlsplit(outside.env["DATABASE_URL"]).path[1:]
        cursor.execute(f"DROP DATABASE {name}")
        cursor.execute(f"CREATE DATABASE {name}")
    real = {**outside.env, "VAR_DIR": f"{outside.env['VAR_DIR']}-2"}
    status, output = run("restore", path, "--takeover", env=real)
    assert status == 0, output
    _work(real)
    _work(real)

    assert len(_at_stripe(sandbox)[2]) == len(before[2]) + 1
    assert "core_user_create_users" in outside.moodle.calls
    assert outside.mails.recipients()


@pytest.mark.sqlite  # On PostgreSQL: the rehearsal above, and --over-existing at the top.
@pytest.mark.django_db(transaction=True)
def test_restore_asks_whether_another_place_rehearses_or_takes_over(archive, empty_place):
    path = archive()
    offline = ("restore", path, "--offline")
    rehearsal = {**empty_place, "REHEARSAL": "true"}
    status, output = run(*offline, env=empty_place)
    asked = "¿Es un ensayo, o esta máquina sustituye a la tienda?" in output
    assert (status, asked, "Restaurada" in output) == (1, True, False), output
    for more in ([], ["--over-existing"]):
        status, output = run(*offline, *more, env=rehearsal)
        assert (status, "ENSAYO" in output) == (0, True), output
    # Without the setting the web process does not start with this database.
    started = gunicorn(ROOT, DEBUG="true", ENV_FILE=os.devnull, **empty_place)
    assert (started.returncode, NOT_SET in started.stderr) == (3, True), started.stderr
    # A backup of the rehearsal is no backup of the shop.
    folder = empty_place["VAR_DIR"]
    run("backup", "--unencrypted", "--folder", folder, env=rehearsal)
    [copy] = Path(folder).glob("academia-*.tar")
    rehearsed = {"VAR_DIR": f"{folder}-2", "DATABASE_URL": f"sqlite:///{folder}-2.sqlite3"}
    status, output = run("restore", str(copy), "--offline", "--takeover", env=rehearsed)
    assert (status, "La copia es de un ensayo" in output) == (1, True), output


@pytest.mark.django_db
def test_restore_in_the_place_of_the_backup_does_not_ask():
    restore = Command()
    here = {"place": place()}

    restore._allow(here, is_takeover=False)

    with pytest.raises(CommandError, match="La copia es de un ensayo"):
        restore._allow({**here, "is_rehearsal": True}, is_takeover=False)


@pytest.mark.django_db(transaction=True)
def test_shop_goes_on_with_new_numbers_after_a_restore_of_postgresql(api, sandbox, capsys):
    last, at = buy(api, sandbox), timezone.now() - timedelta(minutes=5)

    call_command("restore", "--restored-to", at.isoformat(), "--takeover", "--offline")

    restore = Restore.objects.get()
    assert (restore.backup_made_at, restore.is_rehearsal) == (at, False)
    assert buy(api, sandbox, email="bruno@example.com").pk > last.pk + GAP
    assert "resume_invoices" in capsys.readouterr().out


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "a qué momento"),
        (("copia.tar.age", "--restored-to", "2026-01-01T10:00"), "a qué momento"),
        (("--restored-to", "2026-01-01T10:00"), "--takeover"),
        (("--restored-to", "2026-01-01T10:00", "--rehearsal"), "REHEARSAL=true"),
        (("--restored-to", "2999-01-01T10:00", "--takeover"), "restored-to"),
        (("--restored-to", "yesterday", "--takeover"), "restored-to"),
    ],
)
def test_incomplete_order_restores_nothing(arguments, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("restore", *arguments)

    assert not Restore.objects.exists()
    assert not Order.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--takeover", "Con REHEARSAL=true esto es un ensayo"),
        ("--over-existing", "Esta base de datos no es la de un ensayo"),
    ],
)
def test_rehearsal_neither_takes_over_nor_replaces_the_shop(settings, option, reason):
    settings.REHEARSAL = True

    with pytest.raises(CommandError, match=reason):
        call_command("restore", "copia.tar", option)

    assert not Restore.objects.exists()
