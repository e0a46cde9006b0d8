"""The errors of a file, each with its line and column. They are reported all at once."""

from dataclasses import dataclass

# More errors mean that the whole file is wrong. A longer list would not help.
MOST_LISTED = 50
# Letters of a cell that an error repeats.
MOST_QUOTED = 80


def quoted(text: object) -> str:
    """The text of a cell in an error: «Microeconomía», and only the beginning of a long one."""
    shown = str(text)
    return f"«{shown[:MOST_QUOTED]}…»" if len(shown) > MOST_QUOTED else f"«{shown}»"


@dataclass(frozen=True)
class FileError:
    message: str
    # "línea 12", or empty for an error of the whole file.
    place: str = ""
    column: str = ""

    def __str__(self) -> str:
        column = f"columna «{self.column}»" if self.column else ""
        where = ", ".join(part for part in (self.place, column) if part)
        return f"{where[0].upper()}{where[1:]}: {self.message}" if where else self.message


class BadFile(Exception):
    """The file can't be imported. No row was imported. `errors` has at most MOST_LISTED."""

    def __init__(self, *errors: FileError, more: int = 0) -> None:
        self.errors = errors
        self.more = more
        super().__init__("\n".join(self.lines))

    @property
    def lines(self) -> list[str]:
        listed = [str(error) for error in self.errors]
        return [*listed, f"… y más errores: {self.more}."] if self.more else listed


class FileErrors:
    """Collects errors: keeps the first MOST_LISTED and counts the others."""

    def __init__(self) -> None:
        self._listed: list[FileError] = []
        self._more = 0

    def add(self, message: str, *, place: str = "", column: str = "") -> None:
        if len(self._listed) < MOST_LISTED:
            self._listed.append(FileError(message, place, column))
        else:
            self._more += 1

    def check(self) -> None:
        if self._listed:
            raise BadFile(*self._listed, more=self._more)
