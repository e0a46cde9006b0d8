from typing import NamedTuple


class Crumb(NamedTuple):
    """A step of the path to a page: its name and its address."""

    name: str
    path: str
