"""The project's pytest options: which database, and whether the whole shop runs beside the tests.

    pytest                        SQLite, without the browser tests
    pytest --database=postgres    PostgreSQL: the server in DATABASE_URL, or one started for the run
    pytest --database-tests-only  without the tests that use no database: the other run has them
    pytest --as-of MOMENT         as if it were that moment, such as 2027-08-20T10:00+02:00, for the
                                  tests and for every Python process and browser that they start
    pytest --stack                the browser tests alone, against the processes of `make run`
    pytest --stripe-account       the provider's contract tests alone, at the real account of
                                  STRIPE_TEST_SECRET_KEY instead of the sandbox
    pytest --moodle               the classroom's contract tests alone, at the real Moodle of
                                  MOODLE_TEST_URL instead of the imitation

pytest loads this module with `-p`: the environment must be ready before pytest-django reads the
settings.
"""

import gc
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Generator
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tools.dev.moved_clock import moved_clock
from tools.dev.processes import ROOT, SetupError
from tools.dev.stack import use_empty_shop
from tools.dev.suite import account_key, moodle_site

_BROWSER_TESTS = ROOT / "tests" / "browser"
_clean_up = ExitStack()
_postgres_only = pytest.StashKey[int]()
# Whether this process is the run: not a worker of pytest-xdist, nor started by a test.
_is_run = pytest.StashKey[bool]()
# The key of the account that --stripe-account asks; empty without the option.
ACCOUNT_KEY = pytest.StashKey[str]()
# Address, token and administrator's token of the Moodle that --moodle asks; empty without it.
MOODLE_SITE = pytest.StashKey[tuple[str, str, str]]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.get_plugin("pytestconfig")
    if config and "--stack" not in config.invocation_params.args:
        # Importing it takes a second.
        pluginmanager.set_blocked("playwright")
    group = parser.getgroup("academy")
    group.addoption("--database", choices=("sqlite", "postgres"), default="sqlite")
    group.addoption(
        "--database-tests-only", action="store_true", help="leave out tests without a database"
    )
    group.addoption("--as-of", type=_moment, help="the time at which the tests begin")
    group.addoption("--stack", action="store_true", help="run the shop and the browser tests alone")
    group.addoption(
        "--stripe-account",
        action="store_true",
        help="run the contract tests alone, at a real test account",
    )
    group.addoption(
        "--moodle",
        action="store_true",
        help="run the classroom's contract tests alone, at a real Moodle",
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    # As in manage.py.
    gc.disable()
    # As in tools.dev.processes.start. Without bytecode each run compiles all tests for ten seconds.
    sys.dont_write_bytecode = False
    os.environ["PYTHONDONTWRITEBYTECODE"] = ""
    options = parser.parse_known_args(args)
    # A worker of pytest-xdist has the option as well, and has inherited the clock.
    if options.as_of and "MOVED_CLOCK" not in os.environ:
        os.environ.update(moved_clock(options.as_of - datetime.now(UTC)))
        import_module("tools.dev.moved_clock.sitecustomize")
    early_config.stash[ACCOUNT_KEY] = ""
    early_config.stash[MOODLE_SITE] = ("", "", "")
    try:
        if options.stripe_account:
            early_config.stash[ACCOUNT_KEY] = account_key()
        if options.moodle:
            early_config.stash[MOODLE_SITE] = moodle_site()
    except SetupError as error:
        raise pytest.UsageError(str(error)) from error
    # Fifty threads that wait for one lock, or for the sandbox, take longer where several runs share
    # two cores.
    settings = {
        "DATABASE_LOCK_TIMEOUT": "60",
        "DATABASE_STATEMENT_TIMEOUT": "90",
        "STRIPE_TIMEOUT": "60",
        "STRIPE_REQUEST_SECONDS": "60",
        **_database_settings(options.database),
    }
    var_dir = Path(_clean_up.enter_context(tempfile.TemporaryDirectory(prefix="academy-tests-")))
    if options.stack:
        # A page shows what a test has just changed.
        settings["PAGE_CACHE_POLL_SECONDS"] = "0"
        # Playwright runs an event loop in the thread in which the tests use the ORM.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        # One address sends in a minute what a visitor sends in a week.
        settings["RATE_LIMIT_SCALE"] = "0"
    else:
        # Only its own tests keep pages.
        settings["PAGE_CACHE"] = "false"
    # The workers of pytest-xdist inherit the folder of the process that has started them.
    os.environ.setdefault("TEST_RUN_DIR", str(var_dir))
    early_config.stash[_is_run] = os.environ["TEST_RUN_DIR"] == str(var_dir)
    use_empty_shop(var_dir, **settings)
    return (yield)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("The moment needs an offset, such as +02:00.")
    return moment


def _database_settings(database: str) -> dict[str, str]:
    if database == "sqlite":
        return {}
    url = os.environ.get("DATABASE_URL", "")
    if url.startswith("postgres"):
        return {"DATABASE_URL": url}
    with warnings.catch_warnings():
        # The package `platformdirs` warns if XDG_RUNTIME_DIR is not set.
        warnings.simplefilter("ignore")
        from tools.dev.postgres import temporary_postgres

    return {"DATABASE_URL": _clean_up.enter_context(temporary_postgres())}


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[_postgres_only] = 0
    config.addinivalue_line("markers", "dates: about dates; `make test` runs them at three moments")
    config.addinivalue_line("markers", "postgres: about locks and parallelism; skipped on SQLite")
    config.addinivalue_line("markers", "sqlite: dear, and said of PostgreSQL by another test")
    config.addinivalue_line("markers", "stripe_account: can ask a real account (--stripe-account)")
    config.addinivalue_line("markers", "moodle_site: can ask a real Moodle (--moodle)")
    config.addinivalue_line("markers", "browser: needs the whole shop and Chromium (--stack)")
    if threading.current_thread() is threading.main_thread():
        # Like Ctrl-C: a run that is terminated stops the servers that it started.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not config.getoption("stack"):
        from django.conf import settings

        from apps.core.management.commands import worker

        # A worker that a test calls runs in the test's transaction and must not close the
        # connection. For requests Django's test client takes care of that.
        worker.close_old_connections = lambda: None
        # Its signal handlers would stay after the test: Ctrl-C ends pytest, not a worker.
        worker.PersistentWorker.configure_signals = lambda self: None
        # The shop's password hash is slow by design, and the tests hash hundreds of passwords.
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

        # Look a static file up when it is asked for. Each test client would list all files first.
        settings.WHITENOISE_AUTOREFRESH = True

        from tests.helpers.mail_contract import hold_samples_to_builders
        from tests.helpers.migrated_database import (
            copy_migrated_database,
            delete_few_rows_instead_of_truncating,
            restore_rows_of_migrations,
        )
        from tests.helpers.transactions import refuse_locks_outside_transactions

        hold_samples_to_builders()
        refuse_locks_outside_transactions()
        copy_migrated_database(Path(os.environ["TEST_RUN_DIR"]))
        restore_rows_of_migrations()
        delete_few_rows_instead_of_truncating()


def pytest_unconfigure(config: pytest.Config) -> None:
    if config.stash[_is_run]:
        from tests.helpers.migrated_database import drop_template

        drop_template(Path(os.environ["TEST_RUN_DIR"]))
    _clean_up.close()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folder of the browser tests, whose imports take longest, without --stack."""
    return True if collection_path == _BROWSER_TESTS and not config.getoption("stack") else None


def pytest_collection(session: pytest.Session) -> None:
    # The tests' modules are kept to the end: going through them again and again for garbage takes
    # a fifth of the time of the collection, and a twentieth of that of the tests.
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.set_threshold(20_000, 10, 50)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from django.db import connection

    chosen: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        wanted = (item.get_closest_marker("browser") is not None) == config.getoption("stack")
        if wanted and item.get_closest_marker("postgres") and connection.vendor != "postgresql":
            config.stash[_postgres_only] += 1
            wanted = False
        if item.get_closest_marker("sqlite") and connection.vendor != "sqlite":
            wanted = False
        if config.getoption("--database-tests-only") and not _uses_database(item):
            wanted = False
        if config.getoption("--stripe-account") and not item.get_closest_marker("stripe_account"):
            wanted = False
        if config.getoption("--moodle") and not item.get_closest_marker("moodle_site"):
            wanted = False
        (chosen if wanted else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


def _uses_database(item: Any) -> bool:
    """Whether pytest-django lets the test use the database."""
    return bool(
        item.get_closest_marker("django_db")
        or {"db", "transactional_db"} & set(item.fixturenames)
        or getattr(item.cls, "databases", None)  # a Django TestCase
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    # With pytest-xdist the workers count the tests and the parent prints the summary.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["postgres_only"] = session.config.stash[_postgres_only]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    # Every worker collects all tests, so the number of one worker is the number of all.
    node.config.stash[_postgres_only] = getattr(node, "workeroutput", {}).get("postgres_only", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if count := config.stash[_postgres_only]:
        terminalreporter.write_line(
            f"{count} pruebas de bloqueos y paralelismo se ejecutan solo en PostgreSQL."
        )


@pytest.fixture(autouse=True)
def _windows_begin_with_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no window of a rate limit end in the middle of a test that counts its uses."""
    from apps.core.web.throttle import Limit

    monkeypatch.setattr(Limit, "begins_at", int(datetime.now(UTC).timestamp()))
