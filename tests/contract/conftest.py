from typing import Any

from tests.contract.fuzzed import FUZZED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what the tests of the schema have tried (`make fuzz`)."""
    if line := FUZZED.summary():
        terminalreporter.write_line(line)
