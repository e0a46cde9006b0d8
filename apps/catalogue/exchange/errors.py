"""What is wrong with a file, with line and column, all of it at once."""

from dataclasses import dataclass

# Beyond it a file is wrong as a whole, and a longer list helps nobody.
MOST_LISTED = 50


@dataclass(frozen=True)
class Fault:
    message: str
    # "línea 12"; empty where the whole file is meant.
    place: str = ""
    column: str = ""

    def __str__(self) -> str:
        column = f"columna «{self.column}»" if self.column else ""
        where = ", ".join(part for part in (self.place, column) if part)
        return f"{where[0].upper()}{where[1:]}: {self.message}" if where else self.message


class BadFile(Exception):
    """A file that can't be imported; nothing of it was. `faults` has at most MOST_LISTED."""

    def __init__(self, *faults: Fault, more: int = 0) -> None:
        self.faults = faults
        self.more = more
        super().__init__("\n".join(self.lines))

    @property
    def lines(self) -> list[str]:
        listed = [str(fault) for fault in self.faults]
        return [*listed, f"… y {self.more} errores más."] if self.more else listed


class Faults:
    """Collects faults; remembers the first and counts the rest."""

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
