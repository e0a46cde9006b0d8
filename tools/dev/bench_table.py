"""The rows of `make bench` as one Markdown table."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import cpu_count, getloadavg
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One measurement beside its limit: what it may be at most, or `at_least`."""

    name: str
    value: float
    unit: str
    limit: float
    note: str = ""
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def table(rows: Sequence[Row]) -> str:
    lines = ["| measured | ours | limit | |", "| --- | ---: | ---: | --- |"]
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        missed = "" if row.is_met else "**missed**"
        lines.append(
            f"| {row.name} | {_number(row.value)} {row.unit} | {sign} {_number(row.limit)} "
            f"| {' '.join(filter(None, (missed, row.note)))} |"
        )
    return "\n".join(lines)


def store(rows: Sequence[Row], file: Path) -> None:
    """Write the table to a file, below a line about the machine and its load."""
    machine = (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {cpu_count()} processors, load "
        f"{getloadavg()[0]:.1f}, Python {platform.python_version()}"
    )
    file.write_text(f"{machine}\n\n{table(rows)}\n", encoding="utf-8")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
