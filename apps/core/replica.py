"""Reads from a replica of the database (DATABASE_REPLICA_URL), for reports alone.

A replica may be some seconds behind. Only functions with the decorator
`from_replica` read it, for staff to look at. Decisions and public pages read the main database.
"""

import logging
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections

REPLICA = "replica"
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

logger = logging.getLogger(__name__)
_reads_replica: ContextVar[bool] = ContextVar("_reads_replica", default=False)


def from_replica(read: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator for a function that only reads. It must return values, not querysets.

    Without a replica, or if it does not answer, the function reads the main database.
    """

    @wraps(read)
    def wrapper(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if REPLICA not in settings.DATABASES:
            return read(*args, **kwargs)
        token = _reads_replica.set(True)
        try:
            return read(*args, **kwargs)
        except (OperationalError, InterfaceError):
            # PostgreSQL also cancels a query that holds up changes which the replica must apply.
            logger.warning("the replica does not answer", exc_info=True)
            connections[REPLICA].close()
        finally:
            _reads_replica.reset(token)
        return read(*args, **kwargs)

    return wrapper


class ReplicaRouter:
    """Sends the reads of `from_replica` functions to the replica, and all else to the database."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return REPLICA if _reads_replica.get() else DEFAULT_DB_ALIAS

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS
