"""Processes that a killed parent must not leave behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from academy.dev.processes import ROOT

PARENT = """
import sys, time
from academy.dev.processes import Child

sleep = [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(60)"]
Child("one", sleep, env={}, on_line=lambda name, line: print(line, flush=True))
time.sleep(60)
"""


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells a process of its parent's end"
)
def test_who_is_killed_leaves_no_process_behind() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE)
    assert parent.stdout
    child = int(parent.stdout.readline())
    try:
        assert is_alive(child)
        parent.kill()
        parent.wait(timeout=10)

        deadline = time.monotonic() + 10
        while is_alive(child):
            assert time.monotonic() < deadline, "an orphan"
            time.sleep(0.02)
    finally:
        parent.stdout.close()
        if is_alive(child):
            os.kill(child, signal.SIGKILL)
