"""Python processes whose clock is moved. Their environment has what `moved_clock` returns."""

import os
from datetime import timedelta
from pathlib import Path


def moved_clock(by: timedelta | Path) -> dict[str, str]:
    """Variables for processes whose clock is that far ahead of this process's own.

    With a file the clock is ahead by the seconds in the file, and follows its changes. Only wall
    time moves. Processes that these start inherit their clock, as all of them inherit variables.
    """
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]
    own = float(os.environ.get("MOVED_CLOCK", 0))
    value = own + by.total_seconds() if isinstance(by, timedelta) else by
    return {"PYTHONPATH": os.pathsep.join(filter(None, folders)), "MOVED_CLOCK": str(value)}
