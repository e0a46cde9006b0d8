"""Where a setting is missing a process says so in one sentence and ends."""

import os
import subprocess
import sys

import pytest

from academy.dev.environment import documented_settings, free_port
from academy.dev.processes import ROOT

MISSING = "Faltan STRIPE_SECRET_KEY, STRIPE_PUBLISHABLE_KEY, STRIPE_WEBHOOK_SECRET en el entorno."


@pytest.fixture
def production(tmp_path) -> dict[str, str]:
    """An environment with everything but the keys of Stripe."""
    env = {name: os.environ[name] for name in os.environ if name not in documented_settings()}
    return {
        **env,
        "ENV_FILE": os.devnull,
        "SECRET_KEY": "k" * 50,
        "ALLOWED_HOSTS": "shop.test",
        "SITE_URL": "https://shop.test",
        "VAR_DIR": str(tmp_path),
    }


def test_the_web_process_ends_where_the_keys_of_stripe_are_missing(production):
    command = [sys.executable, "-m", "gunicorn", "academy.wsgi", "--no-control-socket"]
    command += ["--log-level", "critical", "--bind", f"127.0.0.1:{free_port()}"]
    done = subprocess.run(
        command, cwd=ROOT, env=production, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 3
    assert done.stderr.splitlines() == [f"No se puede arrancar: {MISSING}"]


def test_make_run_says_it_in_one_sentence_before_it_touches_the_database(production, tmp_path):
    command = [sys.executable, "-m", "academy.dev.prepare_database"]
    done = subprocess.run(command, cwd=ROOT, env=production, capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stderr.splitlines() == [MISSING]
    assert not (tmp_path / "db.sqlite3").exists()
