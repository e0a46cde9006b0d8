import time
from collections.abc import Iterator
from contextlib import contextmanager

# Longer than either branch takes. The callers are rate-limited, so few requests wait.
MINIMUM_S = 0.2


@contextmanager
def constant_time() -> Iterator[None]:
    """Make the block take `MINIMUM_S`, so that the response time doesn't reveal whether an e-mail
    address is known. A block that takes longer is not evened out.
    """
    end = time.monotonic() + MINIMUM_S
    try:
        yield
    finally:
        time.sleep(max(0.0, end - time.monotonic()))
