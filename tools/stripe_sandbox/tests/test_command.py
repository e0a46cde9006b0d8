"""The command line: what it prints, its defaults and its environment variables."""

import importlib
import pkgutil
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
import stripe

from ..testing import PACKAGE, ROOT, SECRET_KEY, clean_environment, wait_until

FOLDER = Path(__file__).resolve().parents[1]


@contextmanager
def started(
    *options: str, package: str = PACKAGE, folder: Path = ROOT, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running command and the text that it has printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", package, "--port", "0", *options],
        cwd=folder,
        env=clean_environment() | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    timer = threading.Timer(20, process.kill)
    timer.start()
    try:
        lines = [process.stdout.readline()]
        while "--quiet" not in options and lines[-1] and "README.md" not in lines[-1]:
            lines.append(process.stdout.readline())
        yield process, "".join(lines)
    finally:
        timer.cancel()
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()


def refused(*options: str, **environment: str) -> tuple[int, str]:
    """Exit status and error text of a command that does not start."""
    result = subprocess.run(
        [sys.executable, "-m", PACKAGE, *options],
        cwd=ROOT,
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        timeout=20,
    )
    return result.returncode, result.stderr


def line_with(text: str, start: str) -> str:
    [line] = [line for line in text.splitlines() if line.startswith(start)]
    return line.removeprefix(start).strip()


def test_port_is_enough_and_printed_instructions_work():
    with started() as (_, text):
        address = line_with(text, "Stripe sandbox on ")
        assert "It moves no money." in text

        names: dict[str, stripe.StripeClient] = {}
        exec(line_with(text, "Python "), {"stripe": stripe}, names)
        intent = names["client"].v1.payment_intents.create({"amount": 500, "currency": "eur"})
        assert intent.status == "requires_payment_method"

        script = line_with(text, "Browser ").split('"')[1]
        assert script == f"{address}/v3/stripe.js"
        assert "Stripe" in requests.get(script, timeout=10).text
        host, port = address.removeprefix("http://").split(":")
        assert f'host: "{host}", port: {port}' in line_with(text, "Node ")


def test_state_is_temporary_without_state_option(tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    with started(TMPDIR=str(folder)) as (process, text):
        assert line_with(text, "State ").startswith("a temporary file")
        assert [path.name for path in folder.rglob("*.sqlite3")] == ["state.sqlite3"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
    assert list(folder.iterdir()) == []

    state = tmp_path / "kept.sqlite3"
    with started("--state", str(state), TMPDIR=str(folder)) as (_, text):
        assert line_with(text, "State ") == str(state)
    assert state.exists()
    assert list(folder.iterdir()) == []


def test_keys_and_webhook_url_from_environment_are_used_and_keys_not_printed():
    environment = {
        "STRIPE_SECRET_KEY": "sk_test_mine0123456789",
        "STRIPE_PUBLISHABLE_KEY": "pk_test_mine0123456789",
        "STRIPE_WEBHOOK_SECRET": "whsec_mine0123456789",
        "SANDBOX_WEBHOOK_URL": "http://127.0.0.1:9/webhook",
    }
    with started(**environment) as (_, text):
        assert "mine" not in text
        assert line_with(text, "Events ").startswith("sent to http://127.0.0.1:9/webhook")
        url = line_with(text, "Stripe sandbox on ")
        client = stripe.StripeClient("sk_test_mine0123456789", base_addresses={"api": url})
        [endpoint] = client.v1.webhook_endpoints.list().data
        assert endpoint.url == "http://127.0.0.1:9/webhook"
        with pytest.raises(stripe.AuthenticationError):
            stripe.StripeClient(SECRET_KEY, base_addresses={"api": url}).v1.customers.list()


def test_quiet_prints_only_the_address():
    with started("--quiet") as (process, text):
        assert text.startswith("Stripe sandbox on http://127.0.0.1:")
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
    assert requests.get(f"{url}/healthz", timeout=10).status_code == 200

    parent.kill()
    parent.wait(timeout=10)

    def is_gone() -> bool:
        try:
            requests.get(f"{url}/healthz", timeout=10)
        except requests.ConnectionError:
            return True
        return False

    wait_until(is_gone)


def test_copy_under_another_name_runs_alone(tmp_path):
    skipped = shutil.ignore_patterns("tests", "__pycache__")
    shutil.copytree(FOLDER, tmp_path / "copied_sandbox", ignore=skipped)

    with started(package="copied_sandbox", folder=tmp_path) as (_, text):
        url = line_with(text, "Stripe sandbox on ")
        assert requests.get(f"{url}/healthz", timeout=10).status_code == 200


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
