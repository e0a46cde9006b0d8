"""Finds names that are nearly the name of another row: probably mistyped.

A difference in a number ("Estadística I" and "II", "PEC 1" and "PEC 2") is none in spelling.
"""

import re
from dataclasses import dataclass, field

from rapidfuzz import process
from rapidfuzz.distance import OSA

from apps.catalogue.search_words import FILLERS
from apps.catalogue.text import search_form

# The most mistakes in a name of at least so many letters.
_MISTAKES = ((12, 2), (4, 1))
# Pairs that are compared for mistakes, in C: a second of one processor.
MOST_PAIRS = 2_000_000
_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_NUMBER = re.compile(r"\d+|[a-z]|(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})")


@dataclass
class NearNames:
    """The names of rows by their parent, in which near names are looked for."""

    # By parent and numbers in the name: the letters of each name, and the first such name.
    _known: dict[tuple[object, str], dict[str, str]] = field(default_factory=dict)
    _pairs: int = 0

    def add(self, parent: object, name: str) -> None:
        letters, numbers = _parts(name)
        self._known.setdefault((parent, numbers), {}).setdefault(letters, name)

    def near_or_add(self, parent: object, name: str) -> str:
        """The name of another row of this parent that is nearly this one.

        Without such a name it is added, and "" is returned.
        """
        found = self.near(parent, name)
        if not found:
            self.add(parent, name)
        return found

    def near(self, parent: object, name: str) -> str:
        """The name of another row of this parent that is nearly this one, or ""."""
        letters, numbers = _parts(name)
        known = self._known.get((parent, numbers), {})
        same = known.get(letters)
        if same is not None and same != name:
            return same
        self._pairs += len(known)
        most = next((mistakes for least, mistakes in _MISTAKES if len(letters) >= least), 0)
        if not most or self._pairs > MOST_PAIRS:
            return ""
        best = process.extractOne(letters, known.keys(), scorer=OSA.distance, score_cutoff=most)
        return known[str(best[0])] if best else ""


def _parts(name: str) -> tuple[str, str]:
    """The letters of a name without accents, fillers and punctuation, and its numbers."""
    tokens = [token for token in _TOKEN.findall(search_form(name)) if token not in FILLERS]
    numbers = [token for token in tokens if _NUMBER.fullmatch(token)]
    return "".join(token for token in tokens if token not in numbers), " ".join(numbers)
