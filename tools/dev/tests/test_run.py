"""`make run` with small shell scripts instead of the shop's processes."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tools.dev import run
from tools.dev.moved_clock import moved_clock
from tools.dev.processes import ROOT, SetupError, free_port

# Each process has a child process and notes the ids of both. The worker ends when told to.
PROCFILE = """
web: sh -c '{trap} sleep 60 & echo $$ $! >> pids; wait'
worker: sh -c 'sleep 60 & echo $$ $! >> pids; while [ ! -e end ]; do sleep 0.05; done; exit 7'
"""
SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, "")
from tools.dev import __main__, processes, run, stack
processes.ROOT = Path(sys.argv[1])
stack.PROCFILE = processes.ROOT / "Procfile"
stack.Stack.wait_ready = run.prepare = run.keep = run.welcome = lambda *_, **__: ""
sys.exit(__main__.main(["run"]))
"""


class Supervisor:
    """A running `make run`, or the Python process that make starts."""

    def __init__(self, folder: Path, command: list[str], trap: str = "") -> None:
        self.folder = folder
        (folder / "Procfile").write_text(PROCFILE.format(trap=trap))
        made_by = {"MAKELEVEL", "MAKEFLAGS", "MFLAGS"}  # of the make that runs the tests
        env = {name: value for name, value in os.environ.items() if name not in made_by}
        env |= {"PORT": str(free_port()), "STRIPE_SECRET_KEY": "sk_test_own"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=env, text=True, stdout=pipe, stderr=pipe
        )

    def pids(self) -> list[int]:
        """The ids of all four processes, as soon as they run."""
        wait_until(lambda: len(self._pids()) == 4)
        return self._pids()

    def _pids(self) -> list[int]:
        file = self.folder / "pids"
        return [int(pid) for pid in file.read_text().split()] if file.exists() else []

    def kill(self) -> None:
        for pid in filter(is_alive, self._pids()):
            os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.communicate()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # It ended before or during the reading.
        return False


@pytest.fixture
def start(tmp_path):
    started = []

    def start(by: str = "python", **options: str) -> Supervisor:
        script = tmp_path / "script.py"
        script.write_text(SCRIPT)
        command = [sys.executable, str(script), str(tmp_path)]
        if by == "make":  # `-o install`: without installing anything
            command = ["make", "-o", "install", "run", f"RUN=@exec {' '.join(command)}"]
        started.append(Supervisor(tmp_path, command, **options))
        return started[-1]

    yield start
    for supervisor in started:
        supervisor.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_signal_ends_all_processes_and_their_children(start, number):
    supervisor = start()
    pids = supervisor.pids()

    supervisor.process.send_signal(number)
    # A second signal must not interrupt the clean-up.
    supervisor.process.send_signal(number)

    output = supervisor.process.communicate(timeout=60)
    assert supervisor.process.returncode == 0, output
    assert not any(map(is_alive, pids))


def test_process_that_ignores_sigterm_is_killed(start, monkeypatch):
    supervisor = start(trap='trap "" TERM;')
    pids = supervisor.pids()

    supervisor.process.terminate()

    assert supervisor.process.wait(timeout=60) == 0
    assert not any(map(is_alive, pids))


def test_no_process_is_left_when_make_is_killed(start):
    supervisor = start(by="make")
    pids = supervisor.pids()

    supervisor.process.kill()
    supervisor.process.wait(timeout=60)

    wait_until(lambda: not any(map(is_alive, pids)))


def test_process_that_ends_is_named_and_ends_the_others(start):
    supervisor = start()
    pids = supervisor.pids()

    (supervisor.folder / "end").touch()
    _output, errors = supervisor.process.communicate(timeout=60)

    assert supervisor.process.returncode == 1
    assert errors.strip() == "«worker» ha terminado (estado 7); se detiene lo demás."
    assert not any(map(is_alive, pids))


@pytest.fixture
def taken():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.fixture
def kept(monkeypatch):
    """Call `run.configure` without writing the developer's `var/dev.env`."""
    kept: list[Path] = []
    monkeypatch.setattr(run, "keep", kept.append)
    for name in ("PORT", "SANDBOX_PORT", "DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return kept


def test_taken_port_is_one_sentence(kept, taken, monkeypatch):
    monkeypatch.setenv("PORT", str(taken))
    sentence = (
        f"El puerto {taken} está ocupado: prueba con otro, como «PORT={taken + 10} make run»."
    )

    with pytest.raises(SetupError, match=sentence):
        run.configure()
    assert kept == []


@pytest.fixture
def before_taken():
    """A free port that nobody else is given; a server listens on the next one."""
    while True:
        port = free_port()
        with socket.socket() as server:
            try:
                server.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            server.listen()
            yield port
            return


def test_sandbox_takes_another_port_if_the_next_one_is_taken(kept, before_taken, monkeypatch):
    monkeypatch.setenv("PORT", str(before_taken))

    run.configure()

    assert os.environ["SANDBOX_PORT"] not in {str(before_taken), str(before_taken + 1)}
    assert os.environ["DEBUG"] == "true"


def test_one_sign_in_without_a_moodle_gets_the_imitation(kept, monkeypatch):
    monkeypatch.setenv("PORT", str(free_port()))
    monkeypatch.setenv("CLASSROOM_SIGN_IN", "true")
    for name in ("CLASSROOM", "STUDENT_LOGIN", "MOODLE_URL", "MOODLE_TOKEN", "OIDC_CLIENT_SECRET"):
        monkeypatch.setenv(name, "")

    port = run.configure()

    assert os.environ["MOODLE_URL"] == f"http://127.0.0.1:{port}"
    assert (os.environ["CLASSROOM"], os.environ["STUDENT_LOGIN"]) == ("moodle", "true")
    # A Moodle of the developer's own is asked instead.
    assert run.configure() is None


@pytest.mark.parametrize("value", ["http", "0", "65536", "-1", "80.5", "８０"])
def test_port_that_is_no_port_is_one_sentence(kept, value, monkeypatch):
    monkeypatch.setenv("PORT", value)

    with pytest.raises(SetupError, match="PORT debe ser un número de puerto entre 1 y 65535"):
        run.configure()


def test_settings_file_is_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAND_NAME", "Academia Ñ")

    run.keep(tmp_path / "var" / "dev.env")

    file = tmp_path / "var" / "dev.env"
    assert "BRAND_NAME='Academia Ñ'\n" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a port for a server")
def test_free_port_is_kept_for_the_server_that_asks_for_it():
    port = free_port()
    with socket.socket() as somebody, pytest.raises(OSError, match="in use"):
        somebody.bind(("127.0.0.1", port))
    with socket.socket() as server:
        # As gunicorn, nginx and Python's servers do.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        server.listen()
        socket.create_connection(("127.0.0.1", port)).close()


PARENT = """
import subprocess, sys, time
print(time.time(), flush=True)
subprocess.run([sys.executable, "-c", "import time; print(time.time(), time.monotonic())"])
"""


def test_child_has_the_clock_of_its_parent_and_only_wall_time_moves():
    year = timedelta(days=365)
    began, began_monotonic = time.time() + year.total_seconds(), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PARENT],
        env={**os.environ, **moved_clock(year)},
        capture_output=True,
        text=True,
        check=True,
    )
    ended, ended_monotonic = time.time() + year.total_seconds(), time.monotonic()

    parent, child, monotonic = map(float, done.stdout.split())
    assert began <= parent <= child <= ended
    assert began_monotonic <= monotonic <= ended_monotonic
    assert not done.stderr
