"""Runs a command with the machine's clock at another moment: `-m tests.helpers.another_day`.

    python -m tests.helpers.another_day 2025-08-15T12:00:00+02:00 -m gunicorn academy.wsgi …

The shop needs no setting or code for it.
Time goes on from that moment, for this process and those that it forks.
"""

import runpy
import sys
from datetime import datetime

import time_machine


def main(moment: str, command: list[str]) -> None:
    """`command` is what would follow `python`: a file, or `-m` and a module, and its arguments."""
    time_machine.travel(datetime.fromisoformat(moment), tick=True).start()
    if command[0] == "-m":
        sys.argv = command[1:]
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = command
        runpy.run_path(command[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
