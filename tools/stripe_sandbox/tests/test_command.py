"""The command line: its defaults, its environment variables, and what it imports."""

import subprocess
import sys

import pytest
import requests

from ..testing import PACKAGE, ROOT, clean_environment, wait_until


def refused(*options: str, **environment: str) -> tuple[int, str]:
    """Exit status and error text of a command that does not start."""
    result = subprocess.run(
        [sys.executable, "-m", PACKAGE, *options],
        cwd=ROOT,
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return result.returncode, result.stderr


@pytest.mark.parametrize(
    ("options", "environment", "error"),
    [
        (["--secret-key", "sk_live_x"], {}, "--secret-key"),
        (["--publishable-key", "pk_live_x"], {}, "--publishable-key"),
        ([], {"STRIPE_SECRET_KEY": "sk_live_x"}, "must begin with sk_test_"),
        ([], {"STRIPE_WEBHOOK_SECRET": "secret"}, "must begin with whsec_"),
        ([], {"SANDBOX_PROCESSING_SECONDS": "soon"}, "--processing-seconds"),
    ],
)
def test_live_keys_and_invalid_values_are_refused(options, environment, error):
    status, text = refused("--port", "0", *options, **environment)
    assert status == 2
    assert error in text


def test_sandbox_ends_when_its_parent_is_killed(tmp_path):
    """`running_sandbox` leaves no process behind when the test run is killed."""
    program = (
        f"from pathlib import Path; from {PACKAGE}.testing import running_sandbox\n"
        f"with running_sandbox(Path({str(tmp_path / 'state.sqlite3')!r})) as sandbox:\n"
        "    print(sandbox.url, flush=True); input()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    url = parent.stdout.readline().strip()
    assert requests.get(f"{url}/healthz", timeout=60).status_code == 200

    parent.kill()
    parent.wait(timeout=60)

    def is_gone() -> bool:
        try:
            requests.get(f"{url}/healthz", timeout=60)
        except requests.ConnectionError:
            return True
        return False

    wait_until(is_gone)
