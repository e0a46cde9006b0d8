"""A PostgreSQL server for one test run, from the `pgserver` package: nothing else to install."""

import atexit
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pgserver
from pgserver.postgres_server import PostgresServer

# PostgreSQL's programs, such as pg_dump.
TOOLS = Path(pgserver.__file__).parent / "pginstall" / "bin"
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


class _TestServer(PostgresServer):
    def ensure_pgdata_inited(self) -> None:
        super().ensure_pgdata_inited()
        with (self.pgdata / "postgresql.conf").open("a", encoding="ascii") as config:
            config.write(_SETTINGS)


@contextmanager
def temporary_postgres() -> Iterator[str]:
    """Start a server in a new folder, yield its DATABASE_URL, and remove everything afterwards."""
    logging.getLogger("pgserver").setLevel(logging.WARNING)
    # Not inside the project: as root, pgserver makes every parent folder readable to its user.
    folder = Path(tempfile.mkdtemp(prefix="academy-postgres-"))
    try:
        data = folder / "data"
        data.mkdir()
        server = _TestServer(data, cleanup_mode="stop")
        try:
            socket_folder = quote(str(server.get_postmaster_info().socket_dir), safe="")
            yield f"postgres://postgres@{socket_folder}/postgres"
        finally:
            server.cleanup()
            # A second clean-up at exit would write to a log that is closed by then.
            atexit.unregister(server._cleanup)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
