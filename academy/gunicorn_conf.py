"""gunicorn's log, and how its processes share memory. The `Procfile` has the other options."""

import gc
from datetime import timedelta
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

# No proxy sets a prefix of the shop's addresses. Otherwise a visitor's header could, behind a proxy
# on the same host.
forwarder_headers = ""


def when_ready(server: Any) -> None:
    """Keep what is loaded out of the garbage collector, before the first worker is forked.

    The collector writes to each object that it visits, and pages that are written to are copied.
    """
    gc.collect()
    gc.freeze()


class RequestLogger(Logger):  # type: ignore[misc]
    """Logs one line per request: without its query, its headers and the visitor's address.

    The proxy logs addresses, if they are needed.
    """

    def access(self, resp: Any, req: Any, environ: Any, request_time: timedelta) -> None:
        if not _ACCESS_LOG:
            return
        headers = {name.lower(): value for name, value in resp.headers}
        method, path, status = req.method, environ.get("PATH_INFO", ""), resp.status_code
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
