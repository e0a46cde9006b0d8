"""Concurrent calls, for tests about locks."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import TypeVar

from django.db import connection

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
            barrier.wait(timeout=20)
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
