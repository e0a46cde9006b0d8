"""What the tests of the schema have tried, for the summary of the run."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Fuzzed:
    """Answers by operation and status, and how many of them the schema does not name."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    undocumented: int = 0

    def summary(self) -> str:
        """One Spanish line; empty if nothing was tried."""
        if not self.answers:
            return ""
        failures = sum(times for (_, status), times in self.answers.items() if status >= 500)
        return (
            f"Peticiones según el esquema: {self.answers.total()}. Respuestas 5xx: {failures}. "
            f"Sin documentar: {self.undocumented}."
        )


FUZZED = Fuzzed()
