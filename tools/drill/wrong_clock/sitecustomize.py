"""Python runs this file at the start of each process that has its folder on PYTHONPATH.

The process then sees the time of a clock that is wrong by the seconds in the file WRONG_CLOCK, and
sees it jump when the file changes. Only wall time changes, as on a machine.
"""

import os
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import time_machine

EVERY_S = 0.2


class _Clock:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds = 0
        self._travel: time_machine.travel | None = None

    def set(self) -> None:
        """Take over the seconds of the file."""
        seconds = int(self._file.read_text(encoding="ascii") or self._seconds)
        if seconds == self._seconds:
            return
        if self._travel is not None:
            self._travel.stop()
            self._travel = None
        self._seconds = seconds
        if seconds:
            wrong = datetime.now(UTC) + timedelta(seconds=seconds)
            self._travel = time_machine.travel(wrong, tick=True)
            self._travel.start()

    def follow(self) -> None:
        while True:
            self.set()
            time.sleep(EVERY_S)


def _start() -> None:
    threading.Thread(target=_clock.follow, daemon=True).start()


_clock = _Clock(Path(os.environ["WRONG_CLOCK"]))
_clock.set()
_start()
# gunicorn's workers are forks, which inherit no threads.
os.register_at_fork(after_in_child=_start)
