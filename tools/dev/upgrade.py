"""`make test-upgrade`: the previous release's smoke tests on this release's schema.

During a release the old code works on the new schema for a while.
"""

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from tools.dev.processes import ROOT

# Tests that buy, pay, recover, provision, and write a row to every table.
SMOKE_TESTS = (
    "tests/contract/test_api.py",
    "apps/payments/tests/test_completion.py",
    "apps/orders/tests/test_recovery.py",
    "apps/classroom/tests/test_provisioning.py",
    "apps/backoffice/tests/test_privacy.py",
)
# The name that pytest-django gives the test database of the database "postgres".
TEST_DATABASE = "test_postgres"


def test_upgrade() -> int:
    """Run the tests of the previous release. Without a history there is nothing to run: 0."""
    release = previous_release()
    if not release:
        print("Sin historia de Git no hay versión anterior: no se ha comprobado nada.")
        return 0
    with warnings.catch_warnings():
        # The package `platformdirs` warns if XDG_RUNTIME_DIR is not set.
        warnings.simplefilter("ignore")
        from tools.dev.postgres import temporary_postgres
    print(f"Pruebas de {_git('describe', '--always', '--tags', release)} con el esquema nuevo…")
    with (
        tempfile.TemporaryDirectory(prefix="academy-upgrade-") as folder,
        temporary_postgres() as url,
    ):
        old = Path(folder)
        check_out(release, old)
        _migrate(url, old)
        return _run_smoke_tests(old, url)


def previous_release() -> str:
    """The commit of PREVIOUS, of the last tag, of origin/main, or the one before; else empty."""
    wanted = os.environ.get("PREVIOUS", "")
    head = _git("rev-parse", "HEAD")
    for name in (
        wanted,
        _git("describe", "--tags", "--abbrev=0", "HEAD^"),
        _git("merge-base", "HEAD", "origin/main"),
        "HEAD^",
    ):
        commit = _git("rev-parse", "--verify", f"{name}^{{commit}}") if name else ""
        if commit and commit != head:
            return commit
    return ""


def _git(*arguments: str) -> str:
    """The answer of Git; empty if it fails, or if there is no Git or no history."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def check_out(release: str, folder: Path) -> None:
    """Put the files of the release into the folder, and build its front end."""
    archive = subprocess.run(["git", "archive", release], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    build = ["node", "static_src/build.mjs"]
    subprocess.run(build, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _migrate(url: str, old: Path) -> None:
    """Create the test database with the schema of this release.

    The migrations of the old release count as applied, also those that have been squashed since.
    """
    new = f"{url.rpartition('/')[0]}/{TEST_DATABASE}"
    _manage(ROOT, url, "shell", "--no-imports", "-c", _CREATE.format(name=TEST_DATABASE))
    _manage(ROOT, new, "migrate", "--verbosity", "0")
    _manage(old, new, "shell", "--no-imports", "-c", _RECORD)


_CREATE = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute('CREATE DATABASE "{name}"')
"""

# `migrate --fake` would refuse if an old migration depends on one that has been squashed.
_RECORD = """
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

loader = MigrationLoader(connection)
for app, name in loader.disk_migrations.keys() - loader.applied_migrations.keys():
    MigrationRecorder(connection).record_applied(app, name)
"""


def _manage(code: Path, url: str, *arguments: str) -> None:
    env = {**os.environ, "DEBUG": "true", "ENV_FILE": os.devnull, "DATABASE_URL": url}
    subprocess.run([sys.executable, "manage.py", *arguments], cwd=code, env=env, check=True)


def _run_smoke_tests(old: Path, url: str) -> int:
    tests = [name for name in SMOKE_TESTS if (old / name).is_file()]
    command = [sys.executable, "-m", "pytest", "--quiet", "--database=postgres", "--reuse-db"]
    env = {**os.environ, "DATABASE_URL": url, "PYTHONPATH": str(old)}
    return subprocess.run([*command, *tests], cwd=old, env=env, check=False).returncode
