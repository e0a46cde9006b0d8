"""pytest's side of the project: which database, and whether the whole shop runs beside the tests.

    pytest                        SQLite; no browser
    pytest --database=postgres    PostgreSQL: the one in DATABASE_URL, else one started for the run
    pytest --stack                browser tests alone, against the processes of `make run`
    pytest --stripe-account       the provider's contract alone, at the account of
                                  STRIPE_TEST_SECRET_KEY instead of the stand-in

Loaded with `-p`, because all this must be settled before pytest-django reads the settings.
"""

import importlib.util
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from academy.dev.bootstrap import SetupError
from academy.dev.environment import documented_settings, free_port, shop_environment
from academy.dev.stripe_account import account_key

_clean_up = ExitStack()
_postgres_only = pytest.StashKey[int]()
# The key of the account that --stripe-account asks; empty without the option.
ACCOUNT_KEY = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("academy")
    group.addoption("--database", choices=("sqlite", "postgres"), default="sqlite")
    group.addoption("--stack", action="store_true", help="run the shop and the browser tests alone")
    group.addoption(
        "--stripe-account",
        action="store_true",
        help="run the contract tests alone, at a real test account",
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    options = parser.parse_known_args(args)
    early_config.stash[ACCOUNT_KEY] = ""
    if options.stripe_account:
        try:
            early_config.stash[ACCOUNT_KEY] = account_key(os.environ)
        except SetupError as error:
            raise pytest.UsageError(str(error)) from error
    var_dir = Path(_clean_up.enter_context(tempfile.TemporaryDirectory(prefix="academy-tests-")))
    database_url = _database_url(options.database)
    if options.stack:
        # Playwright runs an event loop in the thread in which the tests use the ORM.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    _set_environment(var_dir, database_url, stack=options.stack)
    return (yield)


def _database_url(database: str) -> str | None:
    if database == "sqlite":
        return None
    url = os.environ.get("DATABASE_URL", "")
    if url.startswith("postgres"):
        return url
    if importlib.util.find_spec("pgserver") is None:
        raise pytest.UsageError(
            "Para este Python no hay pgserver: indica un servidor PostgreSQL en DATABASE_URL."
        )
    with warnings.catch_warnings():
        # Where XDG_RUNTIME_DIR is not set, pgserver's package for such folders says so: no matter.
        warnings.simplefilter("ignore")
        from academy.dev.postgres import temporary_postgres

    return _clean_up.enter_context(temporary_postgres())


def _set_environment(var_dir: Path, database_url: str | None, *, stack: bool) -> None:
    """The settings of a shop in an empty folder: the developer's own have no say in a test."""
    for name in documented_settings():
        os.environ.pop(name, None)
    env = shop_environment({}, var_dir=var_dir, port=free_port(), sandbox_port=free_port())
    os.environ.update(env, ENV_FILE=os.devnull)
    if stack:
        # One address does in a minute what a visitor does in a week.
        os.environ["RATE_LIMIT_SCALE"] = "0"
    if database_url:
        os.environ["DATABASE_URL"] = database_url


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[_postgres_only] = 0
    config.addinivalue_line("markers", "postgres: about locks and parallelism, which SQLite lacks")
    config.addinivalue_line("markers", "stripe_account: can ask a real account (--stripe-account)")
    config.addinivalue_line("markers", "browser: needs the whole shop and Chromium (--stack)")
    if threading.current_thread() is threading.main_thread():
        # As Ctrl-C: whoever ends the run also ends the servers that it has started.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not config.getoption("stack"):
        from django.conf import settings
        from django_tasks_db.management.commands import db_worker

        # A worker that a test calls runs in the test's transaction and must not close it, which
        # Django's test client sees to for requests.
        db_worker.close_old_connections = lambda: None
        # Slow by design in the shop; the tests make hundreds of passwords.
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

        from academy.tests.mail_contract import hold_samples_to_builders

        hold_samples_to_builders()


def pytest_unconfigure(config: pytest.Config) -> None:
    _clean_up.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from django.db import connection

    chosen: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        wanted = (item.get_closest_marker("browser") is not None) == config.getoption("stack")
        if wanted and item.get_closest_marker("postgres") and connection.vendor != "postgresql":
            config.stash[_postgres_only] += 1
            wanted = False
        if config.getoption("--stripe-account") and not item.get_closest_marker("stripe_account"):
            wanted = False
        (chosen if wanted else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Under pytest-xdist the tests are counted in the workers and the summary is the parent's.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["postgres_only"] = session.config.stash[_postgres_only]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    # Every worker collects everything, so one worker's number is the number.
    node.config.stash[_postgres_only] = getattr(node, "workeroutput", {}).get("postgres_only", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if count := config.stash[_postgres_only]:
        terminalreporter.write_line(
            f"{count} pruebas de bloqueos y paralelismo se ejecutan solo en PostgreSQL."
        )
