"""Progress bars for slow commands, shown only on a terminal."""

import sys
from typing import Never

from tqdm import tqdm


def progress_bar(total: int, description: str) -> "tqdm[Never]":
    """A progress bar on standard error, counting up to `total`; silent in logs and pipes."""
    return tqdm(total=total, desc=description, unit="", file=sys.stderr, disable=None, leave=False)
