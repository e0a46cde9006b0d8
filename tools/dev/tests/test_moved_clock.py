"""Processes whose clock is moved: one clock for a process and its children."""

import os
import subprocess
import sys
import time
from datetime import timedelta

from tools.dev.moved_clock import moved_clock

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
