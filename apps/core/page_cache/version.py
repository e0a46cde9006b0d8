"""The version of everything that public pages show, as this process last read it."""

import logging
from threading import Lock
from time import monotonic

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Sum

from apps.core.models import PublicChange
from apps.core.storage.assets import manifest_changed_at

logger = logging.getLogger(__name__)


class Version:
    """Reads the recorded changes at most every PAGE_CACHE_POLL_SECONDS, by one request at a time.

    Meanwhile other requests use the previous version, if it is younger than twice that time;
    otherwise they wait.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._value = ""
        self._read_at = float("-inf")

    def current(self) -> str:
        poll_s = settings.PAGE_CACHE_POLL_SECONDS
        age = monotonic() - self._read_at
        if age < poll_s:
            return self._value
        if not self._lock.acquire(blocking=age >= 2 * poll_s):
            return self._value
        try:
            started_at = monotonic()
            if started_at - self._read_at >= poll_s:
                self._value = _read() or self._value
                self._read_at = started_at
        finally:
            self._lock.release()
        return self._value


def _read() -> str:
    """Read the version, in one query. Empty if the database does not answer: then nothing changes.

    The sum finds changes that are committed in another order than that of their ids, and the number
    of rows those that come while old rows are deleted. A new build of the front end counts too.
    """
    try:
        found = PublicChange.objects.aggregate(rows=Count("pk"), ids=Sum("pk"))
    except DatabaseError:
        logger.warning("the version of the public pages could not be read", exc_info=True)
        connection.close()
        return ""
    return f"{found['rows']}-{found['ids'] or 0}-{manifest_changed_at()}"
