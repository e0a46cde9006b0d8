"""The web process loads the shop once, before it starts workers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.commands import gunicorn
from tools.dev.processes import ROOT

MEGABYTE = 1024


def shared_kilobytes(pid: int) -> int:
    """Memory of a process that it shares with the one that started it."""
    sizes = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return int(re.findall(r"^Shared_Dirty: +(\d+)", sizes, re.MULTILINE)[0])


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_workers_share_the_memory_of_the_loaded_shop():
    with gunicorn() as (_, process):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        (worker,) = map(int, children.split())

        assert shared_kilobytes(worker) > 30 * MEGABYTE


def test_loading_the_shop_opens_no_connection_and_leaves_the_garbage_collector_at_work():
    """The workers would share the connection, and the memory that garbage takes."""
    code = (
        "import academy.wsgi; from django.db import connections; import gc; "
        "print([c.connection for c in connections.all(initialized_only=True) if c.connection], "
        "gc.isenabled())"
    )
    env = {**os.environ, "DEBUG": "true"}

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60
    )

    assert (done.stdout, done.returncode) == ("[] True\n", 0), done.stderr
