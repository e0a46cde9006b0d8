"""Child processes, each with its own process group, so that ending one ends all it started."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[2]

# How long a process may take to end by itself before it is killed: longer than gunicorn's
# --graceful-timeout, so that requests under way are answered.
PATIENCE_S = 8.0
POLL_S = 0.05


# Linux tells a process when the thread that started it has ended, however that came: even where
# SIGKILL left nobody to tidy up. It has to be asked for from inside, so a moment before exec; who
# asks too late has another parent already.
_ASK = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""


def ended_with_us(command: Sequence[str]) -> list[str]:
    """The command as one that gets SIGTERM when this process dies; elsewhere than Linux as it is.

    It has to be started, and its starter to stay, in a thread that lives as long as it should.
    """
    if sys.platform != "linux":
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _ASK, str(os.getpid()), *command]


class StopSignals:
    """Ctrl-C, SIGTERM and SIGHUP as one KeyboardInterrupt, raised once.

    Later signals are ignored: whoever presses Ctrl-C twice must not stop the tidying up.
    """

    def __init__(self) -> None:
        self._asked = False
        self._held = False

    def install(self) -> None:
        """Take the three signals over; only the main thread may call this."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            return
        self._asked = True
        if not self._held:
            raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put it off: between a process's start and its being on record the process would leak."""
        self._held = True
        asked_before = self._asked
        try:
            yield
        finally:
            self._held = False
        if self._asked and not asked_before:
            raise KeyboardInterrupt


class Child:
    """One process in a group of its own, its output handed on line by line.

    `on_line(name, line)` is called from a thread for each line of stdout and stderr. On Linux it
    ends also when this process is killed (`ended_with_us`): start it from a thread that stays.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        on_line: Callable[[str, str], None],
    ) -> None:
        self.name = name
        self._process = subprocess.Popen(
            ended_with_us(command),
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(on_line,), daemon=True)
        self._reader.start()

    def _read(self, on_line: Callable[[str, str], None]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            on_line(self.name, line.decode(errors="replace").rstrip("\n"))

    @property
    def pid(self) -> int:
        """The process's id, which is its group's too."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def is_gone(self) -> bool:
        """Whether it and everything it started has ended."""
        if self._process.poll() is None:
            return False
        return not signal_group(self.pid, 0)

    def drain(self) -> None:
        """Wait until its last lines have been handed on."""
        self._reader.join(timeout=1)


def signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; False where the group is empty."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group that holds only ended processes.
        return False
    return True


def end_all(children: Iterable[Child], *, patience_s: float = PATIENCE_S) -> None:
    """End processes and all they started: SIGTERM, wait, then SIGKILL."""
    children = list(children)
    for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 2.0)):
        for child in children:
            if not child.is_gone():
                signal_group(child.pid, number)
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline and not all(child.is_gone() for child in children):
            time.sleep(POLL_S)
    for child in children:
        child.drain()


def run_and_wait(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, quiet: bool = True
) -> tuple[int, str]:
    """Run a command to its end; return its exit status and, where quiet, all that it printed.

    An interruption ends the command and everything it started before it goes on.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output if quiet else None,
            stderr=subprocess.STDOUT if quiet else None,
            start_new_session=True,
        )
        try:
            status = process.wait()
        except BaseException:
            _end(process)
            raise
        output.seek(0)
        return status, output.read().decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    # Test runs end servers and databases of their own first: they get more time than a server.
    for number, wait_s in ((signal.SIGTERM, 20.0), (signal.SIGKILL, 2.0)):
        signal_group(process.pid, number)
        try:
            process.wait(timeout=wait_s)
        except subprocess.TimeoutExpired:
            continue
    signal_group(process.pid, signal.SIGKILL)
