"""`make bench`: the speed of the catalogue with 1,000 and with 100,000 subjects.

It prints figures and is not a test, because they depend on the machine. CPU seconds are printed
beside elapsed seconds because other processes disturb them less. It runs on a temporary PostgreSQL
server.
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
