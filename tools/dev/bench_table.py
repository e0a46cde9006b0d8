"""The rows of `make bench`, printed as one Markdown table and stored as JSON."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from os import cpu_count, getloadavg
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One measurement beside its limit, both of the same run.

    `goal` is what `value / limit` must reach: at least, if more is better, otherwise at most.
    """

    name: str
    value: float
    unit: str
    limit: float
    # What the limit is: "bare view", "goal".
    limit_name: str
    goal: float
    more_is_better: bool = True
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.value / self.limit if self.limit else 0.0

    @property
    def is_met(self) -> bool:
        return self.ratio >= self.goal if self.more_is_better else self.ratio <= self.goal


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| measured | ours | limit | ratio | goal | |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        sign = "≥" if row.more_is_better else "≤"
        missed = "" if row.is_met else "**missed**"
        lines.append(
            f"| {row.name} | {_number(row.value)} {row.unit} "
            f"| {_number(row.limit)} {row.unit} ({row.limit_name}) | {row.ratio:.2f} "
            f"| {sign} {row.goal:g} | {' '.join(filter(None, (missed, row.note)))} |"
        )
    return "\n".join(lines)


def store(rows: Sequence[Row], folder: Path, name: str = "bench") -> None:
    """Write NAME.md and NAME.json, with the machine and its load."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "processors": cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "load_average": getloadavg()[0],
    }
    data = [{**asdict(row), "ratio": row.ratio, "is_met": row.is_met} for row in rows]
    text = json.dumps({"machine": machine, "rows": data}, indent=2, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(table(rows) + "\n", encoding="utf-8")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
