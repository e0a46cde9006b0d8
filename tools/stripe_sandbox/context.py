"""What a handler works with: the transaction, the request's base URL and id, and the time."""

import time
from dataclasses import dataclass, field
from typing import Any

from .errors import missing
from .ids import new_id
from .store import Transaction

API_VERSION = "2026-10-28.endive"


@dataclass
class Context:
    """One request, or one piece of background work, on its way through the handlers."""

    tx: Transaction
    base_url: str
    request_id: str | None = None
    idempotency_key: str | None = None
    is_publishable: bool = False
    now: int = field(default_factory=lambda: int(time.time()))

    def require(self, kind: str, id: str, *, param: str | None = None) -> dict[str, Any]:
        """The object with this id.

        Raises ApiError `resource_missing`: 404 for an id in the path, 400 for an id in the
        parameter `param`.
        """
        stored = self.tx.get(kind, id)
        if stored is None:
            raise missing(kind, id, param or "id", status=400 if param else 404)
        return stored

    def new_id(self, prefix: str, length: int = 24) -> str:
        """An id such as `pi_…`, in the style that `POST /_sandbox/ids` has set."""
        return new_id(self.tx.setting("id_style", "plain"), prefix, length)
