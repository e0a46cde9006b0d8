import time
from collections.abc import Iterator
from contextlib import contextmanager

# Longer than either way through takes; few ask, as these answers are rate-limited.
ANSWER_S = 0.2


@contextmanager
def same_pace() -> Iterator[None]:
    """Take the same time whatever is found: who asks may not learn from the clock whose address is
    known. What takes longer than `ANSWER_S` is not evened out.
    """
    end = time.monotonic() + ANSWER_S
    try:
        yield
    finally:
        time.sleep(max(0.0, end - time.monotonic()))
