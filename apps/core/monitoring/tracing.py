"""Each task carries the id of the request that queued it (docs/rules.md, "Logs")."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django_guid.context import guid
from django_guid.utils import generate_guid
from django_tasks_db.models import DBTaskResult

# The key beside "args" and "kwargs", which are all that django-tasks-db reads.
REQUEST_ID = "request_id"
# Digits of a request's id that error pages show.
SUPPORT_CODE = 8


def add_request_id(sender: Any, instance: DBTaskResult[..., Any], **kwargs: Any) -> None:
    """Store the id with a new task (pre_save handler)."""
    if instance._state.adding and guid.get():
        instance.args_kwargs = {**instance.args_kwargs, REQUEST_ID: guid.get()}


@contextmanager
def traced(row: DBTaskResult[..., Any]) -> Iterator[None]:
    """Give log lines inside the block, and tasks queued there, the id that the task carries.

    A task that no request has queued, such as one of the clock, gets an id of its own.
    """
    with _id(row.args_kwargs.get(REQUEST_ID) or generate_guid()):
        yield


@contextmanager
def new_id() -> Iterator[None]:
    """Give log lines inside the block, and tasks queued there, an id of their own."""
    with _id(generate_guid()):
        yield


def support_code() -> str:
    """The beginning of the request's id, by which support finds its lines in the log."""
    return (guid.get() or "")[:SUPPORT_CODE]


@contextmanager
def _id(value: str) -> Iterator[None]:
    token = guid.set(value)
    try:
        yield
    finally:
        guid.reset(token)
