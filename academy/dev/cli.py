"""The commands behind `make`, by name."""

import sys
from collections.abc import Callable, Sequence

from academy.dev import bench, images, lighthouse, run, suite
from academy.dev.bootstrap import SetupError
from academy.dev.processes import StopSignals

COMMANDS: dict[str, Callable[[StopSignals], int]] = {
    "run": run.run,
    "test": suite.test,
    "check": suite.check,
    "test-py": suite.test_py,
    "test-web": suite.test_web,
    "test-browser": suite.test_browser,
    "test-stripe": suite.test_stripe,
    "format": suite.format_code,
    "lock": suite.lock,
    "lighthouse": lighthouse.measure,
    "images": images.draw,
    "bench": bench.bench,
}


def main(arguments: Sequence[str]) -> int:
    """Carry out one command and return its exit status; a SetupError is one sentence and 1."""
    if len(arguments) != 1 or arguments[0] not in COMMANDS:
        print("Órdenes: " + ", ".join(COMMANDS), file=sys.stderr)
        return 2
    signals = StopSignals()
    signals.install()
    try:
        return COMMANDS[arguments[0]](signals)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
