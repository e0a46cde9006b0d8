"""Child processes that never outlive this one, and the ports they listen on."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
# Longer than gunicorn's --graceful-timeout, so that it can answer the requests under way.
STOP_WITHIN_S = 8.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SetupError(Exception):
    """Something is missing on this machine. The message is a Spanish sentence for the developer."""


def interrupt_on_signals() -> None:
    """Turn the first Ctrl-C, SIGTERM or SIGHUP into KeyboardInterrupt and ignore all later ones.

    A second Ctrl-C must not interrupt the clean-up after the first.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in STOP_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in STOP_SIGNALS:
        signal.signal(each, interrupt)


@contextmanager
def signals_held() -> Iterator[None]:
    """Delay these signals: a process started but not yet recorded would never be ended."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


_libc = ctypes.CDLL(None)


def end_with_parent() -> None:
    """Let the kernel send this process SIGTERM when its parent dies, even by SIGKILL. Linux only.

    Also for `subprocess.Popen(preexec_fn=…)`. "Parent" is the thread that started the process.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)  # A child inherits `signals_held`.
    if sys.platform == "linux":
        _libc.prctl(1, signal.SIGTERM)  # 1 is PR_SET_PDEATHSIG.


# As systemd does for the service of a socket: descriptor 3, and two variables (sd_listen_fds).
_WITH_SOCKET = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execvp(sys.argv[2], sys.argv[2:])
"""


def start(
    command: str | Sequence[str],
    env: Mapping[str, str],
    output: IO[Any] | None = None,
    *,
    folder: Path | None = None,
    listener: socket.socket | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own. A string goes through the shell.

    It gets `listener`, a listening socket, as systemd passes one on.

    Python may always write bytecode: without it each process compiles the project for a second.
    """
    full = ["sh", "-c", f"exec {command}"] if isinstance(command, str) else list(command)
    if listener:
        full = [sys.executable, "-c", _WITH_SOCKET, str(listener.fileno()), *full]
    return subprocess.Popen(
        full,
        pass_fds=(listener.fileno(),) if listener else (),
        cwd=folder or ROOT,
        env={**env, "PYTHONDONTWRITEBYTECODE": ""},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        start_new_session=True,
        preexec_fn=end_with_parent,
    )


def end(*processes: "subprocess.Popen[bytes]", seconds: float = STOP_WITHIN_S) -> None:
    """End processes with all that they started: SIGTERM, then SIGKILL after `seconds`."""
    for number, wait_s in ((signal.SIGTERM, seconds), (signal.SIGKILL, 5.0)):
        for process in processes:
            _signal_group(process, number)
        deadline = time.monotonic() + wait_s
        while any(_runs(process) for process in processes) and time.monotonic() < deadline:
            time.sleep(0.05)


def _runs(process: "subprocess.Popen[bytes]") -> bool:
    return process.poll() is None or _signal_group(process, 0)


def _signal_group(process: "subprocess.Popen[bytes]", number: int) -> bool:
    """Send a signal to the process's group; False if the group is empty."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS refuses if only zombies are left.
        return False
    return True


def run_to_end(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, output: IO[Any] | None = None
) -> int:
    """Run a command and return its exit status. An interruption ends the command first."""
    process = start(command, {**os.environ, **(env or {})}, output)
    try:
        return process.wait()
    except BaseException:
        end(process)
        raise


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket() as probe:
        # Servers set this, too: a connection closed a moment ago does not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


_reserved: list[socket.socket] = []


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that nobody else is given.

    On Linux this process keeps a socket bound to it, which does not listen: the kernel gives the
    port to no other process, and a server that asks for it by number gets it.
    """
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind(("127.0.0.1", 0))
    port = int(probe.getsockname()[1])
    if sys.platform == "linux":
        _reserved.append(probe)
    else:  # Elsewhere the bound socket would keep the server out.
        probe.close()
    return port


def system_program(name: str) -> str | None:
    """The path of a program that Debian keeps for root, or None where it is not installed."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin")


def can_install_with_apt() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install_with_apt(*packages: str) -> None:
    """Install the first of these packages that brings a program of its own name."""
    print(f"Instalando {packages[0]} con apt…", flush=True)
    apt, env = ["apt-get", "--yes", "-qq"], {"DEBIAN_FRONTEND": "noninteractive"}
    run_to_end([*apt, "update"], env=env)
    for package in packages:
        run_to_end([*apt, "install", "--no-install-recommends", package], env=env)
        if shutil.which(package):
            break
