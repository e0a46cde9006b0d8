"""`manage.py backup` and `manage.py restore`: the database and the files, encrypted, and back."""

import os
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.management import CommandError, call_command
from django.db import connection

from apps.core.models import Backup
from apps.core.storage.file_storage import PICTURES, PRIVATE
from apps.orders.models import Order
from tests.helpers.factories import ANA, make_subject
from tests.helpers.refunds import buy
from tools.dev.processes import ROOT

CARLOS = {"email": "carlos@example.com", "phone": "+34600333333"}
DIEGO = {"email": "diego@example.com", "phone": "+34600444444"}


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
    storages[PRIVATE].save("abc", ContentFile(b"PEC"))
    call_command("backup")
    [archive] = (shop / "backups").iterdir()
    content = archive.read_bytes()
    assert archive.suffix == ".gpg"
    assert b"bruno@example.com" not in content
    assert b"PEC" not in content
    made = Backup.objects.get()
    assert made.encrypted
    assert (made.archive, made.size_bytes) == (archive.name, len(content))
    lost = [buy(api, sandbox, subject, **buyer) for buyer in (ANA, CARLOS, DIEGO)]

    at_stripe = {**empty_place, "STRIPE_API_BASE": sandbox.process.url}
    status, output = run("restore", str(archive), env=at_stripe)

    assert status == 1, output
    assert "con 2 archivos" in output
    assert "Cobros sin pedido, avisados por correo: 3." in output
    assert output.count("Cobro sin pedido: 182,40 €") == 3
    for order in lost:
        assert order.stripe_payment_intent_id in output
    assert kept.stripe_payment_intent_id not in output
    restored = shop / "restored"
    assert (restored / "pictures/profesores/lucia.webp").read_bytes() == b"picture"
    assert (restored / "private/leads/abc").read_bytes() == b"PEC"

    status, output = run("restore", str(archive), "--offline", env=empty_place)
    assert status == 1
    assert "La base de datos no está vacía" in output
    status, output = run("restore", str(archive), "--offline", "--over-existing", env=empty_place)
    assert (status, "Pedidos comparados: 1;" in output) == (0, True), output


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("recipient", "shop")
def test_broken_archive_and_one_in_clear_need_attention(shop, empty_place, settings):
    call_command("backup")
    [archive] = (shop / "backups").iterdir()
    archive.write_bytes(archive.read_bytes()[:-2000])
    status, output = run("restore", str(archive), "--offline", env=empty_place)
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
