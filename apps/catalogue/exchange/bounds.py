"""How much of a file is read: rows, texts, bytes and seconds.

A file of a few kilobytes can hold millions of texts, or one long text that each row names. Raises
BadFile above a bound.
"""

import io
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import IO, Any
from xml.parsers import expat

from apps.catalogue.exchange.file_errors import BadFile, FileError
from apps.core.money import grouped

# The other parts of an .xlsx file, such as its styles, are parsed whole.
MOST_OF_OTHER_PARTS = 2_000_000
# Elements within a row, a text or another part of a sheet. The parser keeps them until its end:
# a row of empty cells in a file of 50 KB took 3.8 GB. Excel has at most 16,384 cells in a row.
MOST_ELEMENTS = 200_000
_AT_ONCE = 1 << 20
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ROW, _TEXT = f"{_MAIN}}}row", f"{_MAIN}}}si"
# The elements that the parser empties at their end, with their depths.
_EMPTIED = {(_ROW, 3), (_TEXT, 2)}


@dataclass(frozen=True)
class Bounds:
    rows: int
    texts: int
    # The unpacked size in bytes: a zip bomb of a few kilobytes unpacks to gigabytes.
    unpacked: int
    # For the reading, and once more for the comparison with the catalogue.
    seconds: float


# The command reads the largest Excel sheet: 170,000 subjects with six lessons each.
COMMAND = Bounds(rows=1_048_576, texts=5_000_000, unpacked=500_000_000, seconds=inf)
# An uploaded file: about 20,000 subjects with their lessons.
UPLOAD = Bounds(rows=200_000, texts=500_000, unpacked=150_000_000, seconds=60)


class Reading:
    """One file that is being read. `on_progress` gets the share that has been read, 0 to 1."""

    def __init__(self, bounds: Bounds, on_progress: Callable[[float], object] = lambda _: None):
        self.bounds = bounds
        self._on_progress = on_progress
        self._total = self._done = self._turns = 0
        self.start_clock()

    def start_clock(self) -> None:
        """Give the next phase all the seconds."""
        self._ends_at = monotonic() + self.bounds.seconds

    def begin(self, total: int) -> None:
        """State how many bytes there are to read."""
        self._total, self._done = max(1, total), 0

    def read(self, size: int) -> None:
        """Note that so many more bytes were read."""
        self._done += size
        self.check_time()
        self._on_progress(min(1, self._done / self._total))

    def check_row(self, number: int, unit: str) -> None:
        if number > self.bounds.rows:
            raise BadFile(
                FileError(f"El archivo tiene más de {grouped(self.bounds.rows)} {unit}s.")
            )
        self.take_turn()

    def take_turn(self) -> None:
        """Check the time at every hundredth call. Each loop over rows calls it."""
        self._turns += 1
        if self._turns % 100 == 0:
            self.check_time()

    def check_time(self) -> None:
        if monotonic() > self._ends_at:
            raise BadFile(
                FileError(
                    "El archivo tarda demasiado en leerse: divídelo en partes, o usa "
                    "«manage.py import_catalogue»."
                )
            )


class BoundedArchive(zipfile.ZipFile):
    """The parts of an .xlsx file, read within the bounds of a reading."""

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(io.BytesIO(data))
        self.reading = reading
        self._counted: set[str] = set()
        unpacked = sum(part.file_size for part in self.infolist())
        if unpacked > reading.bounds.unpacked:
            raise BadFile(FileError("El archivo es demasiado grande una vez descomprimido."))
        reading.begin(unpacked)

    def open(self, name: Any, mode: Any = "r", *arguments: Any, **options: Any) -> Any:
        part = name if isinstance(name, zipfile.ZipInfo) else self.getinfo(name)
        if part.file_size > MOST_OF_OTHER_PARTS and part.filename not in self._counted:
            # Its elements, without keeping them.
            self._counted.add(part.filename)
            with super().open(part) as file:
                _Elements(self.reading).read(file)
        file = super().open(name, mode, *arguments, **options)
        return _Part(file, self.reading)


class _Elements:
    """Counts what the parser of a sheet, or of a list of texts, keeps in memory at once.

    It empties a row, and a text, at its end, and keeps all else.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._depth = self._kept = self._before = self._texts = self._rows = 0
        self._parser = expat.ParserCreate(namespace_separator="}")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype

    def read(self, file: IO[bytes]) -> None:
        # A part that is no XML is parsed by nobody, or fails there, too.
        with suppress(expat.ExpatError, LookupError, ValueError):
            while some := file.read(_AT_ONCE):
                self._reading.check_time()
                self._parser.Parse(some)

    def _start(self, name: str, _: object) -> None:
        self._depth += 1
        if (name, self._depth) in _EMPTIED:
            self._before = self._kept
        self._rows += name == _ROW
        self._texts += name == _TEXT
        self._kept += 1
        bounds = self._reading.bounds
        if self._texts > bounds.texts:
            raise BadFile(FileError("El archivo tiene demasiados textos."))
        if self._rows > bounds.rows:
            raise BadFile(FileError(f"El archivo tiene más de {grouped(bounds.rows)} filas."))
        if self._kept > MOST_ELEMENTS:
            raise BadFile(FileError("Una fila o un texto tiene demasiadas partes."))

    def _end(self, name: str) -> None:
        if (name, self._depth) in _EMPTIED:
            self._kept = self._before
        self._depth -= 1

    def _refuse_doctype(self, *_: object) -> None:
        raise BadFile(FileError("No es una hoja de Excel: tiene una definición de tipo (DTD)."))


class _Part:
    def __init__(self, file: IO[bytes], reading: Reading) -> None:
        self._file, self._reading = file, reading

    def __enter__(self) -> "_Part":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size if size >= 0 else MOST_OF_OTHER_PARTS + 1)
        if size < 0 and len(data) > MOST_OF_OTHER_PARTS:
            raise BadFile(FileError("Una parte del archivo es demasiado grande."))
        self._reading.read(len(data))
        return data
