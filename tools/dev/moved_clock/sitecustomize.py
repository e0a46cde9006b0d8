"""Python runs this file at the start of each process that has its folder on PYTHONPATH.

MOVED_CLOCK says by how many seconds the process's clock is ahead, or names a file with them. The
process sees its time jump when the file changes. Only wall time moves, as on a machine.
"""

import os
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import time_machine

EVERY_S = 0.2


class _Clock:
    def __init__(self) -> None:
        self._seconds = 0.0
        self._travel: time_machine.travel | None = None

    def move(self, seconds: float) -> None:
        """Put this process's clock ahead of the machine's by that much."""
        if seconds == self._seconds:
            return
        if self._travel is not None:
            self._travel.stop()
            self._travel = None
        self._seconds = seconds
        if seconds:
            moment = datetime.now(UTC) + timedelta(seconds=seconds)
            self._travel = time_machine.travel(moment, tick=True)
            self._travel.start()
            time.time()  # The clock starts when it is read for the first time.

    def read(self, file: Path) -> None:
        """Move the clock by the seconds in the file. It is empty while it is being written."""
        self.move(float(file.read_text(encoding="ascii") or self._seconds))

    def follow(self, file: Path) -> None:
        while True:
            self.read(file)
            time.sleep(EVERY_S)


def _start_following() -> None:
    threading.Thread(target=_clock.follow, args=[_file], daemon=True).start()


_clock = _Clock()
_file = Path(os.environ["MOVED_CLOCK"])
with suppress(ValueError):
    _clock.move(float(os.environ["MOVED_CLOCK"]))
if _file.is_absolute():
    _clock.read(_file)
    _start_following()
    # gunicorn's workers are forks, which inherit no threads.
    os.register_at_fork(after_in_child=_start_following)
