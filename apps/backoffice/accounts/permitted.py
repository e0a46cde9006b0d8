from typing import Any, Protocol


class Permitted(Protocol):
    """A user, of whom only the number and the permissions are read."""

    @property
    def pk(self) -> Any: ...
    def has_perm(self, perm: str) -> bool: ...
