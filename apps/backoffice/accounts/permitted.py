from typing import Protocol


class Permitted(Protocol):
    """A user, of whom only the permissions are read."""

    def has_perm(self, perm: str) -> bool: ...
