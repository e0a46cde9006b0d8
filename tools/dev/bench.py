"""`make bench`: how long the catalogue takes, at a thousand and at a hundred thousand subjects.

Figures to look at, not a test: they depend on the machine. CPU seconds are printed beside the
seconds on the clock because other work disturbs them less. The database is a PostgreSQL server that
is thrown away afterwards.
"""

import tempfile
from pathlib import Path

import django
from django.core.management import call_command

from tools.dev.chromium import install_chromium
from tools.dev.postgres import temporary_postgres
from tools.dev.stack import Stack, use_empty_shop


def bench() -> int:
    """Print all figures."""
    install_chromium()
    with temporary_postgres() as url, tempfile.TemporaryDirectory() as folder:
        use_empty_shop(Path(folder), DATABASE_URL=url)
        django.setup()
        call_command("migrate", verbosity=0)
        # These modules use the models.
        from tools.dev.bench_figures import print_figures
        from tools.dev.bench_scroll import print_scrolling

        print_figures()
        stack = Stack()
        try:
            stack.start("web")
            stack.wait_ready()
            print_scrolling(stack.url)
        finally:
            stack.stop()
    return 0
