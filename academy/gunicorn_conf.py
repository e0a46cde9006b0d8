"""gunicorn's log, and how its processes share memory. The `Procfile` has the other options."""

import atexit
import gc
import os
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from gunicorn.glogging import Logger

from academy.environment import env
from academy.log_settings import logging_config

_DEBUG = env.bool("DEBUG", default=False)
_ACCESS_LOG = env.bool("ACCESS_LOG", default=not _DEBUG)

logconfig_dict = logging_config(debug=_DEBUG)

# The master loads the shop once, and its workers share that memory. A new worker answers at once.
# A reload (SIGHUP) starts workers with the code that the master has: new code takes a restart.
preload_app = True

# nginx closes an idle connection after 60 s. If gunicorn closed it first, nginx could send a POST
# on it at that moment, which nginx never repeats: the visitor would be told that the shop is busy.
keepalive = 75

# No proxy sets a prefix of the shop's addresses. Otherwise a visitor's header could, behind a proxy
# on the same host.
forwarder_headers = ""


def when_ready(server: Any) -> None:
    """Keep what is loaded out of the garbage collector, before the first worker is forked.

    The collector writes to each object that it visits, and pages that are written to are copied.
    """
    gc.collect()
    gc.freeze()


def _delete_in_main_process(folder: str, main: int) -> None:
    """Delete the counts at the end of gunicorn. Its workers end with the same handlers."""
    if os.getpid() == main:
        shutil.rmtree(folder, ignore_errors=True)


class RequestLogger(Logger):  # type: ignore[misc]
    """Counts each request, and logs one line: without its query, headers and the visitor's address.

    The proxy logs addresses, if they are needed.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        # In memory: on a full disk, a worker that writes to its mapped file is killed. systemd's
        # RuntimeDirectory is in memory, too.
        memory = Path(os.environ.get("RUNTIME_DIRECTORY", "/dev/shm"))  # noqa: S108
        folder = tempfile.mkdtemp(prefix="academy-", dir=memory if memory.is_dir() else None)
        atexit.register(_delete_in_main_process, folder, os.getpid())
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        from academy.request_metrics import count_request  # Reads the variable.

        self._count = count_request

    def access(self, resp: Any, req: Any, environ: Any, request_time: timedelta) -> None:
        method, path, status = req.method, environ.get("PATH_INFO", ""), resp.status_code
        self._count(path, status, request_time)
        if not _ACCESS_LOG:
            return
        headers = {name.lower(): value for name, value in resp.headers}
        milliseconds = round(request_time.total_seconds() * 1000)
        self.access_log.info(
            "%s %s %s, %s ms",
            method,
            path,
            status,
            milliseconds,
            extra={
                "method": method,
                "path": path,
                "status": status,
                "bytes": resp.sent,
                "milliseconds": milliseconds,
                "request_id": headers.get("x-request-id"),
            },
        )


logger_class = RequestLogger
