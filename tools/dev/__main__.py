"""`python -m tools.dev COMMAND`: what the targets of the Makefile run."""

import sys
from collections.abc import Callable
from importlib import import_module

from tools.dev.processes import SetupError, interrupt_on_signals

COMMANDS = {
    "run": "run:run",
    "test": "suite:test",
    "test-again": "suite:test_again",
    "check": "suite:check",
    "test-py": "suite:test_py",
    "test-web": "suite:test_web",
    "test-browser": "suite:test_browser",
    "test-dates": "suite:test_dates",
    "test-stripe": "suite:test_stripe",
    "test-moodle": "suite:test_moodle",
    "test-upgrade": "upgrade:test_upgrade",
    "fuzz": "suite:fuzz",
    "lighthouse": "lighthouse:measure",
    "images": "images:draw",
    "bench": "bench:bench",
}


def main(arguments: list[str]) -> int:
    """Carry out one command and return its exit status. A SetupError is one sentence and 1."""
    if len(arguments) != 1 or arguments[0] not in COMMANDS:
        print("Órdenes: " + ", ".join(COMMANDS), file=sys.stderr)
        return 2
    interrupt_on_signals()
    module, function = COMMANDS[arguments[0]].split(":")
    command: Callable[[], int] = getattr(import_module(f"tools.dev.{module}"), function)
    try:
        return command()
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
