"""gunicorn's log. The `Procfile` has its other options."""

from datetime import timedelta
from typing import Any

from gunicorn.glogging import Logger

from academy.environment import env
from academy.log_settings import logging_config

_DEBUG = env.bool("DEBUG", default=False)
_ACCESS_LOG = env.bool("ACCESS_LOG", default=not _DEBUG)

logconfig_dict = logging_config(debug=_DEBUG)


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
