"""`make run` with small stand-ins for its processes: what starts, what ends, what is said."""

import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from academy.dev.environment import free_port
from academy.dev.processes import ROOT
from academy.dev.run import SAMPLE_ADMIN

# The real `run`, with the installing left out and three small processes in place of the shop's.
# Each writes its id and that of a grandchild; with STUBBORN=1 that one ignores SIGTERM.
SUPERVISOR = """
import os, sys
from pathlib import Path
from academy.dev import cli, run
from academy.dev.stack import Stack

PROCESS = '''
import http.server, os, pathlib, subprocess, sys, time
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
sleep = "import time; print(flush=True); time.sleep(60)"
code = (ignore if os.environ.get("STUBBORN") else "") + sleep
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.readline()
(folder / f"{name}.pids.new").write_text(f"{os.getpid()} {child.pid}")
(folder / f"{name}.pids.new").rename(folder / f"{name}.pids")
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *a): pass
if name == "web":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
while not (folder / "end").exists():
    time.sleep(0.05)
sys.exit(7)
'''
folder = os.environ["VAR_DIR"]
run.check_node = run.install_runtime = lambda: None
run.prepare = lambda stack: None
Stack.commands = lambda self: {
    name: [sys.executable, "-c", PROCESS, folder, name] for name in ("web", "worker")
}
sys.exit(cli.main(sys.argv[1:]))
"""


class Supervisor:
    """`make run` or `python -m academy.dev run`, under way."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.folder = folder
        self.port = free_port()
        env = {**os.environ, "PORT": str(self.port), "VAR_DIR": str(folder)}
        env["STRIPE_SECRET_KEY"] = "sk_test_own"
        env["STRIPE_SANDBOX"] = "0"
        env["PYTHONPATH"] = str(ROOT)
        for name in ("MAKELEVEL", "MAKEFLAGS"):  # of the make that runs these tests
            env.pop(name, None)
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def wait_ready(self) -> list[int]:
        """Wait for the addresses; return the ids of all processes below."""
        assert self.process.stdout
        for line in self.process.stdout:
            if "Ctrl-C lo detiene todo." in line:
                break
        else:
            pytest.fail(f"never ready: {self.process.stderr and self.process.stderr.read()}")
        files = [self.folder / f"{name}.pids" for name in ("web", "worker")]
        deadline = time.monotonic() + 10
        while not all(file.exists() for file in files) and time.monotonic() < deadline:
            time.sleep(0.02)
        return [int(pid) for file in files for pid in file.read_text().split()]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(
        f"/proc/{pid}/stat"
    )  # An ended process that nobody has asked after still has an id.
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "supervisor.py"
    path.write_text(SUPERVISOR)
    return path


@pytest.fixture
def supervisor(script: Path, tmp_path: Path) -> Iterator[Supervisor]:
    supervisor = Supervisor(tmp_path, [sys.executable, str(script), "run"])
    yield supervisor
    _kill_leftovers(supervisor)


@pytest.fixture
def make(script: Path, tmp_path: Path) -> Iterator[Supervisor]:
    """The same, started by make with a "Python" that is the script above."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" run\n')
    python.chmod(0o755)
    supervisor = Supervisor(tmp_path, ["make", "run", f"PYTHON={python}"])
    yield supervisor
    _kill_leftovers(supervisor)


def _kill_leftovers(supervisor: Supervisor) -> None:
    for file in supervisor.folder.glob("*.pids"):
        for pid in file.read_text().split():
            if _runs(int(pid)):
                os.kill(int(pid), signal.SIGKILL)
    if supervisor.process.poll() is None:
        os.killpg(supervisor.process.pid, signal.SIGKILL)
    supervisor.process.communicate()


def test_a_process_that_will_not_end_is_killed(monkeypatch, script: Path, tmp_path: Path):
    monkeypatch.setenv("STUBBORN", "1")
    supervisor = Supervisor(tmp_path, [sys.executable, str(script), "run"])
    pids = supervisor.wait_ready()

    supervisor.process.terminate()

    assert supervisor.process.wait(timeout=20) == 0
    assert [pid for pid in pids if _runs(pid)] == []
    _kill_leftovers(supervisor)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything_down_to_the_grandchildren_and_is_a_success(
    supervisor: Supervisor, number: signal.Signals
):
    pids = supervisor.wait_ready()
    assert len(pids) == 4
    assert all(_runs(pid) for pid in pids)

    supervisor.process.send_signal(number)
    # An impatient second one must not stop the tidying up.
    supervisor.process.send_signal(number)

    assert supervisor.process.wait(timeout=20) == 0
    assert [pid for pid in pids if _runs(pid)] == []


def test_nothing_is_left_when_make_gets_the_signal(make: Supervisor):
    pids = make.wait_ready()

    make.process.terminate()
    make.process.wait(timeout=20)

    assert [pid for pid in pids if _runs(pid)] == []


def test_nothing_is_left_when_make_is_killed_outright(make: Supervisor):
    pids = make.wait_ready()

    make.process.kill()
    make.process.wait()

    deadline = time.monotonic() + 20
    while any(_runs(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [pid for pid in pids if _runs(pid)] == []


def test_a_process_that_ends_is_named_and_takes_the_others_with_it(supervisor: Supervisor):
    pids = supervisor.wait_ready()

    (supervisor.folder / "end").touch()
    _output, errors = supervisor.process.communicate(timeout=20)

    assert supervisor.process.returncode == 1
    assert errors.strip() == "«worker» ha terminado (estado 7); se detiene lo demás."
    assert [pid for pid in pids if _runs(pid)] == []


def test_a_taken_port_is_one_sentence_and_starts_nothing(script: Path, tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, str(script), "run"],
            cwd=ROOT,
            env={
                **os.environ,
                "PORT": str(port),
                "VAR_DIR": str(tmp_path),
                "PYTHONPATH": str(ROOT),
            },
            capture_output=True,
            text=True,
        )

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.strip() == (
        f"El puerto {port} está ocupado: prueba con otro, como «PORT={port + 10} make run»."
    )
    assert list(tmp_path.glob("*.pids")) == []


def test_a_python_that_is_too_old_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))

    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "academy/dev/__main__.py"), run_name="__main__")

    assert end.value.code == (
        "Hace falta Python 3.11 o posterior y este es el 3.9: instala uno más nuevo e indícalo, "
        "por ejemplo «make run PYTHON=python3.11»."
    )


@pytest.mark.django_db
def test_the_sample_admin_that_is_announced_can_sign_in(client, settings):
    from django.core.management import call_command

    settings.DEBUG = True
    call_command("seed", verbosity=0)

    user, password = SAMPLE_ADMIN
    assert client.login(username=user, password=password)
    assert client.get("/admin/").status_code == 200
