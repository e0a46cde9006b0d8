"""The errors of a file, each with its line and column. They are reported all at once."""

from dataclasses import dataclass

# More errors mean that the whole file is wrong. A longer list would not help.
MOST_LISTED = 50


@dataclass(frozen=True)
class Fault:
    message: str
    # "línea 12", or empty for an error of the whole file.
    place: str = ""
    column: str = ""

    def __str__(self) -> str:
        column = f"columna «{self.column}»" if self.column else ""
        where = ", ".join(part for part in (self.place, column) if part)
        return f"{where[0].upper()}{where[1:]}: {self.message}" if where else self.message


class BadFile(Exception):
    """The file can't be imported, and nothing of it was. `faults` has at most MOST_LISTED."""

    def __init__(self, *faults: Fault, more: int = 0) -> None:
        self.faults = faults
        self.more = more
        super().__init__("\n".join(self.lines))

    @property
    def lines(self) -> list[str]:
        listed = [str(fault) for fault in self.faults]
        return [*listed, f"… y {self.more} errores más."] if self.more else listed


class Faults:
    """Collects errors: keeps the first MOST_LISTED and counts the others."""

    def __init__(self) -> None:
        self._listed: list[Fault] = []
        self._more = 0

    def add(self, message: str, *, place: str = "", column: str = "") -> None:
        if len(self._listed) < MOST_LISTED:
            self._listed.append(Fault(message, place, column))
        else:
            self._more += 1

    def check(self) -> None:
        if self._listed:
            raise BadFile(*self._listed, more=self._more)
