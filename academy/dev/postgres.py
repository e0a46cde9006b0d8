"""A PostgreSQL server for one test run, from the `pgserver` package: nothing else to install."""

import atexit
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from pgserver.postgres_server import PostgresServer

# Durability costs a third of the run and a database that is thrown away needs none. Two parallel
# test processes with 50 threads each want more than the 100 connections of the default. Commits
# stay synchronous, which costs nothing without fsync: VACUUM passes over what asynchronous ones
# have just written, and then no index alone answers anything.
_SETTINGS = """
max_connections = 300
fsync = off
full_page_writes = off
"""


class _TestServer(PostgresServer):
    def ensure_pgdata_inited(self) -> None:
        super().ensure_pgdata_inited()
        with (self.pgdata / "postgresql.conf").open("a", encoding="ascii") as config:
            config.write(_SETTINGS)


@contextmanager
def temporary_postgres() -> Iterator[str]:
    """Start a server in a folder of its own; yield its DATABASE_URL; remove everything again."""
    logging.getLogger("pgserver").setLevel(logging.WARNING)
    # Not below the project: run by root, pgserver opens every folder above to its own user.
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
            atexit.unregister(
                server._cleanup
            )  # Once is enough, and later there is no log any more.
    finally:
        shutil.rmtree(folder, ignore_errors=True)
