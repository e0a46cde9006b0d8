"""Reads that are done once for many public pages, or for the parts of one mail.

`core.page_cache` opens the memory while it renders pages of one version, and `core.mail.outbox`
while it renders a mail. Everywhere else each call reads anew.
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


@contextmanager
def remembering(memory: Memory) -> Iterator[None]:
    """Within the block, `remembered` functions put their results here and take them from here."""
    token = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(token)


def remembered(read: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator for a read that returns no queryset. Nobody may change what it returned."""

    @wraps(read)
    def wrapper(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        memory = _memory.get()
        if memory is None:
            return read(*args, **kwargs)
        key = (read, args, *kwargs.items())
        if key not in memory:
            memory[key] = read(*args, **kwargs)
        result: Result = memory[key]
        return result

    return wrapper
