"""Concurrent calls, for tests about locks."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import TypeVar

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
