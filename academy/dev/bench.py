"""`make bench`: how long the catalogue takes, at a thousand and at a hundred thousand subjects.

Figures to look at, not a test: they depend on the machine; beside the time on the clock stands the
CPU's, which other work disturbs less. On a PostgreSQL server of its own, thrown away afterwards.
"""

import os
import tempfile
from pathlib import Path

from academy.dev.bench_scroll import print_scrolling
from academy.dev.bootstrap import VENV_PYTHON, go_on_in_venv
from academy.dev.environment import free_port, shop_environment
from academy.dev.processes import StopSignals, run_and_wait
from academy.dev.stack import Stack

SIZES = (1_000, 100_000)
FILE_OF = 10_000


def bench(signals: StopSignals) -> int:
    """Print the table of figures; the status of the first step that fails."""
    go_on_in_venv("bench")
    from academy.dev.postgres import temporary_postgres

    with temporary_postgres() as url, tempfile.TemporaryDirectory() as folder:
        env = shop_environment({}, var_dir=Path(folder), port=free_port(), sandbox_port=free_port())
        env = {**os.environ, **env, "DATABASE_URL": url, "ENV_FILE": os.devnull}
        code = "from academy.dev.bench_figures import print_figures; print_figures()"
        for command in (["migrate", "-v0"], ["shell", "--no-imports", "-c", code]):
            status, _output = run_and_wait(
                [str(VENV_PYTHON), "manage.py", *command], env=env, quiet=False
            )
            if status != 0:
                return status
        stack = Stack(env, on_line=lambda name, line: print(f"{name} | {line}"))
        try:
            stack.start_one("web")
            stack.wait_ready()
            print_scrolling(stack.url)
        finally:
            stack.stop()
    return 0
