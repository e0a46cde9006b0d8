"""The command line: its defaults, its environment variables, and what it imports."""

import importlib
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import requests
import stripe

from ..testing import PACKAGE, ROOT, SECRET_KEY, clean_environment, wait_until


@contextmanager
def started(*options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running command and the address that it has printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", PACKAGE, "--port", "0", *options],
        cwd=ROOT,
        env=clean_environment() | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    timer = threading.Timer(20, process.kill)
    timer.start()
    try:
        yield process, process.stdout.readline().removeprefix("Stripe sandbox on ").strip()
    finally:
        timer.cancel()
        process.terminate()
        process.wait(timeout=60)
        process.stdout.close()


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


def test_state_is_temporary_without_state_option(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    with started(TMPDIR=str(folder)) as (process, _):
        assert [path.name for path in folder.rglob("*.sqlite3")] == ["state.sqlite3"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    assert list(folder.iterdir()) == []

    state = tmp_path / "kept.sqlite3"
    with started("--state", str(state), TMPDIR=str(folder)):
        pass
    assert state.exists()
    assert list(folder.iterdir()) == []


def test_keys_from_environment_are_used():
    environment = {
        "STRIPE_SECRET_KEY": "sk_test_mine0123456789",
        "STRIPE_PUBLISHABLE_KEY": "pk_test_mine0123456789",
        "STRIPE_WEBHOOK_SECRET": "whsec_mine0123456789",
        "SANDBOX_WEBHOOK_URL": "http://127.0.0.1:9/webhook",
    }
    with started(**environment) as (_, url):
        client = stripe.StripeClient("sk_test_mine0123456789", base_addresses={"api": url})
        assert client.v1.charges.list().data == []
        with pytest.raises(stripe.AuthenticationError):
            stripe.StripeClient(SECRET_KEY, base_addresses={"api": url}).v1.charges.list()


def test_quiet_prints_only_the_address():
    with started("--quiet") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        process.terminate()
        assert process.stdout.read() == ""


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


def test_port_in_use_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, text = refused("--port", str(port))
    assert (status, f"Port {port} can't be used" in text) == (1, True)


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


def test_package_imports_neither_django_nor_other_packages_of_repository(tmp_path):
    package = importlib.import_module(PACKAGE)
    modules = [
        module.name
        for module in pkgutil.walk_packages(package.__path__, f"{PACKAGE}.")
        if ".tests" not in module.name
    ]
    assert len(modules) > 30
    program = f"import sys; import {', '.join(modules)}; print(*sys.modules)"

    loaded = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()

    roots = {name.partition(".")[0] for name in loaded}
    ours = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert roots & (ours | {"django", "rest_framework"}) <= {PACKAGE.partition(".")[0]}
    assert not {name for name in loaded if name.startswith("tools.dev")}
