"""Concurrent calls, for tests about locks."""

from collections.abc import Callable
from threading import Barrier, Thread
from types import ModuleType
from typing import Any, TypeVar

import pytest
from django.db import connection, transaction

from tests.helpers.commands import somebody_waits_for_a_lock
from tools.stripe_sandbox.testing import wait_until

T = TypeVar("T")


def in_parallel(function: Callable[[], T], times: int) -> list[T | Exception]:
    """Call a function from that many threads that start together.

    Returns what each call returned or raised, in no particular order. Each thread has a database
    connection of its own, so the test needs `django_db(transaction=True)`.
    """
    barrier = Barrier(times)
    results: list[T | Exception] = []

    def run() -> None:
        try:
            barrier.wait(timeout=60)
            results.append(function())
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    threads = [Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(results) == times, "a thread did not come to its end"
    return results


def in_the_same_instant(now: Callable[[], T], then: Callable[[], T]) -> list[T]:
    """Call both; `then` waits for a lock in a thread until the transaction of `now` has ended.

    Returns their results, or raises what one of them raised. Needs PostgreSQL and
    `django_db(transaction=True)`.
    """
    results: list[T | Exception] = []

    def run() -> None:
        try:
            results.append(then())
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    second = Thread(target=run)
    with transaction.atomic():
        first = now()
        second.start()
        wait_until(somebody_waits_for_a_lock)
    second.join(timeout=60)
    [result] = results
    if isinstance(result, Exception):
        raise result
    return [first, result]


def while_it_waits(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, act: Callable[[], object]
) -> Callable[[], list[Exception]]:
    """Let this function of the module run once `act`, in a thread, waits for a lock.

    Returns what waits for the end of `act` and returns what that has raised. Needs PostgreSQL and
    `django_db(transaction=True)`.
    """
    found = getattr(module, name)
    errors: list[Exception] = []

    def run() -> None:
        try:
            act()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    second = Thread(target=run)

    def slow(*args: Any, **more: Any) -> Any:
        second.start()
        wait_until(somebody_waits_for_a_lock)
        return found(*args, **more)

    def end() -> list[Exception]:
        second.join(timeout=60)
        assert not second.is_alive()
        return errors

    monkeypatch.setattr(module, name, slow)
    return end
