"""A bar for commands that take a while: on a terminal, and nowhere else."""

import sys
from typing import Never

from tqdm import tqdm


def bar(total: int, what: str) -> "tqdm[Never]":
    """A progress bar on the standard error, counting up to `total`; silent in logs and pipes."""
    return tqdm(total=total, desc=what, unit="", file=sys.stderr, disable=None, leave=False)
