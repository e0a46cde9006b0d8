"""Which settings a process starts with, and the one sentence with which it refuses to start."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.dev.processes import ROOT, free_port
from tools.dev.stack import documented_settings

MISSING_SECRET_KEY = "Falta SECRET_KEY en el entorno."
MISSING_STRIPE_KEYS = (
    "Faltan STRIPE_SECRET_KEY, STRIPE_PUBLISHABLE_KEY, STRIPE_WEBHOOK_SECRET en el entorno."
)
DEPLOYMENT = {
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "ALLOWED_HOSTS": "shop.test",
    "SITE_URL": "https://shop.test",
    "DATABASE_URL": "postgres://shop@127.0.0.1:9/shop",
    "EMAIL_URL": "smtp+tls://shop:secret@mail.shop.test:587",
    "DEFAULT_FROM_EMAIL": "Academia <hola@shop.test>",
    "STAFF_EMAIL": "equipo@shop.test",
    "STRIPE_SECRET_KEY": "sk_live_0123456789",
    "STRIPE_PUBLISHABLE_KEY": "pk_live_0123456789",
    "STRIPE_WEBHOOK_SECRET": "whsec_0123456789",
    "BACKUP_RECIPIENT": "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
}
DEVELOPMENT = "DEBUG='true'\nPORT='8765'\n"  # what `make run` keeps


@pytest.fixture
def checkout(tmp_path):
    """A copy of the project without `.env`, and with the settings of a `make run`."""
    shutil.copytree(ROOT / "academy", tmp_path / "academy")
    shutil.copy(ROOT / "manage.py", tmp_path)
    for name in ("apps", "templates"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "dev.env").write_text(DEVELOPMENT)
    return tmp_path


def run(folder: Path, *command: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in the folder with these settings and no others."""
    base = {name: os.environ[name] for name in os.environ if name not in documented_settings()}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=base | env,
        capture_output=True,
        text=True,
        timeout=60,
    )


def gunicorn(folder: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    options = ["--no-control-socket", "--log-level", "critical"]
    options += ["--config", "python:academy.gunicorn_conf"]
    address = f"127.0.0.1:{free_port()}"
    return run(folder, "-m", "gunicorn", "academy.wsgi", "--bind", address, *options, **env)


def test_manage_works_on_the_shop_of_make_run(checkout):
    (checkout / ".env").write_text("BRAND_NAME=Academia Norte\n")
    code = (
        "from django.conf import settings as s; from django.core.management import call_command; "
        "import gc; call_command('check'); "
        "print(s.DEBUG, s.SITE_URL, s.STRIPE_API_BASE, gc.isenabled())"
    )

    done = run(checkout, "manage.py", "shell", "--no-imports", "-c", code)

    assert done.returncode == 0, done.stderr
    [shown] = done.stdout.splitlines()[1:]
    assert shown == "True http://127.0.0.1:8765 http://127.0.0.1:8766 True"


def test_manage_works_with_debug_alone(checkout):
    (checkout / "var" / "dev.env").unlink()

    assert run(checkout, "manage.py", "check", DEBUG="true").returncode == 0


@pytest.mark.parametrize(
    "env",
    [
        {name: value for name, value in DEPLOYMENT.items() if name != "SECRET_KEY"},
        {"ALLOWED_HOSTS": "shop.test"},
        {"SITE_URL": "https://shop.test"},
        {"DEBUG": "false"},
    ],
    ids=["all but the key", "only hosts", "only an address", "only no debugging"],
)
def test_deployment_without_a_secret_key_never_starts(checkout, env):
    """Not even if `make run` was once tried in the same folder."""
    done = run(checkout, "manage.py", "check", **env)

    assert (done.returncode, done.stderr.splitlines()) == (1, [MISSING_SECRET_KEY])


def test_manage_refuses_a_plain_checkout_without_debug(checkout):
    (checkout / "var" / "dev.env").unlink()

    done = run(checkout, "manage.py", "check")

    assert (done.returncode, done.stderr.splitlines()) == (1, [MISSING_SECRET_KEY])


def test_web_process_ignores_the_settings_of_make_run(checkout):
    done = gunicorn(checkout)

    assert done.returncode == 3
    assert done.stderr.splitlines() == [f"No se puede arrancar: {MISSING_SECRET_KEY}"]


def test_make_run_ends_before_it_touches_the_database(tmp_path):
    env = {"ENV_FILE": os.devnull, "VAR_DIR": str(tmp_path), "STRIPE_SANDBOX": "0"}

    done = run(ROOT, "-m", "tools.dev", "run", PORT=str(free_port()), **env)

    assert (done.returncode, done.stderr.strip()) == (1, MISSING_STRIPE_KEYS)
    assert not (tmp_path / "db.sqlite3").exists()
