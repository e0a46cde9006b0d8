"""The database's settings: connections, time-outs, and what a PgBouncer changes."""

import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from django.core.exceptions import ImproperlyConfigured

from academy.environment import IS_COMMAND, env

# Seconds. A page or an API call that waits longer than these has lost its visitor.
TIMEOUTS = {
    "statement_timeout": env.int("DATABASE_STATEMENT_TIMEOUT", default=20),
    "lock_timeout": env.int("DATABASE_LOCK_TIMEOUT", default=10),
    "idle_in_transaction_session_timeout": env.int("DATABASE_IDLE_TIMEOUT", default=60),
}
# Seconds for the statements and transactions of commands: workers, the clock, migrations.
COMMAND_TIMEOUT = env.int("DATABASE_COMMAND_TIMEOUT", default=900)
LONGEST_TIMEOUT = 86_400
if not all(0 <= seconds <= LONGEST_TIMEOUT for seconds in (*TIMEOUTS.values(), COMMAND_TIMEOUT)):
    raise ImproperlyConfigured(
        f"Los ajustes DATABASE_…_TIMEOUT solo admiten de 0 a {LONGEST_TIMEOUT} segundos."
    )
# How long a command waits for a lock, as a multiple of LOCK_TIMEOUT. It is retried if it fails.
COMMAND_LOCK_SCALE = 6
# Whether connections go through a PgBouncer that assigns a server connection per transaction.
PGBOUNCER = env.bool("PGBOUNCER", default=False)


def database(var_dir: Path) -> dict[str, Any]:
    """The value of DATABASES["default"], from DATABASE_URL."""
    config: dict[str, Any] = env.db_url(
        "DATABASE_URL", default=f"sqlite:///{var_dir / 'db.sqlite3'}"
    )
    if config["ENGINE"] == "django.db.backends.sqlite3":
        # Web process, worker and commands share the file. With WAL readers never wait; with
        # IMMEDIATE writers queue at the start of their transaction instead of failing in the middle
        # of it.
        # Opening the file and its settings takes longer than a query: an idle worker spent three
        # quarters of its time on it.
        config.setdefault("CONN_MAX_AGE", 10)
        config["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
        return config
    return _postgresql(config)


def databases(var_dir: Path, *, with_replica: bool = True) -> dict[str, dict[str, Any]]:
    """The value of DATABASES: the database, and its replica if DATABASE_REPLICA_URL names one."""
    found = {"default": database(var_dir)}
    if with_replica and env.str("DATABASE_REPLICA_URL", default=""):
        replica = _postgresql(env.db_url("DATABASE_REPLICA_URL"))
        if replica["ENGINE"] != found["default"]["ENGINE"] or "postgresql" not in replica["ENGINE"]:
            raise ImproperlyConfigured(
                "DATABASE_REPLICA_URL solo vale con PostgreSQL, también en DATABASE_URL."
            )
        # Tests have one database.
        found["replica"] = {**replica, "TEST": {"MIRROR": "default"}}
    return found


def _postgresql(config: dict[str, Any]) -> dict[str, Any]:
    config.setdefault("CONN_MAX_AGE", 60)
    # After a restart of the database the next request gets a new connection instead of an error.
    config.setdefault("CONN_HEALTH_CHECKS", True)
    # The folder of a Unix socket is given as a quoted host: postgres://me@%2Frun%2Fpg/db
    config["HOST"] = unquote(config["HOST"])
    # Without it, a process waits for minutes for a host that answers nothing.
    config.setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)
    if PGBOUNCER:
        # A server-side cursor outlives its transaction, and the next transaction may run on another
        # server connection. PgBouncer accepts no `options`: the role has these settings instead
        # (docs/operations.md, "PgBouncer").
        config["DISABLE_SERVER_SIDE_CURSORS"] = True
    else:
        config["OPTIONS"].setdefault("options", server_options())
    return config


def server_options() -> str:
    """PostgreSQL's settings of each connection. `?options=…` in DATABASE_URL overrides them."""
    timeouts = dict(TIMEOUTS)
    if IS_COMMAND:
        timeouts["statement_timeout"] = COMMAND_TIMEOUT
        timeouts["idle_in_transaction_session_timeout"] = COMMAND_TIMEOUT
        # A migration that waits for a table's lock holds up every request to that table.
        if "migrate" not in sys.argv[1:2]:
            timeouts["lock_timeout"] *= COMMAND_LOCK_SCALE
    # PostgreSQL's default of 4 is for spinning disks: it would scan tables instead of using an
    # index.
    options = ["-c random_page_cost=1.1"]
    return " ".join([*options, *(f"-c {name}={seconds}s" for name, seconds in timeouts.items())])
