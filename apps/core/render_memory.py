"""Reads that are done once for a piece of work: a request, a task, a mail, or many public pages.

`remembered` reads once for the public pages of one version, while `core.page_cache` renders them,
and once for a mail. Everywhere else each call reads anew. `read_once` also reads once for each
other request, task and job, so that all parts of a purchase are priced with the same numbers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Memory = dict[Any, Any]

_memory: ContextVar[Memory | None] = ContextVar("_memory", default=None)
_work: ContextVar[Memory | None] = ContextVar("_work", default=None)


@contextmanager
def remembering(memory: Memory) -> Iterator[None]:
    """Within the block, `remembered` functions put their results here and take them from here."""
    token = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(token)


@contextmanager
def piece_of_work() -> Iterator[None]:
    """Within the block, which is a request, a task or a job, `read_once` functions read once."""
    token = _work.set({})
    try:
        yield
    finally:
        _work.reset(token)


def in_piece_of_work() -> bool:
    return _work.get() is not None


def remembered(read: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator for a read that returns no queryset. Nobody may change what it returned."""
    return _keeping_in(_memory, read)


def read_once(read: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator like `remembered`, for a read that must not change within a piece of work."""
    return _keeping_in(_work, remembered(read))


def _keeping_in(
    variable: ContextVar[Memory | None], read: Callable[Arguments, Result]
) -> Callable[Arguments, Result]:
    @wraps(read)
    def wrapper(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        memory = variable.get()
        if memory is None:
            return read(*args, **kwargs)
        key = (read, args, *kwargs.items())
        if key not in memory:
            memory[key] = read(*args, **kwargs)
        result: Result = memory[key]
        return result

    return wrapper
