import hashlib
from dataclasses import dataclass
from datetime import datetime

from apps.catalogue.text import search_form


@dataclass(frozen=True)
class Statement:
    """What a consumer declared. Either `order_number` (digits) or `details` is not empty."""

    name: str
    email: str
    order_number: str
    details: str
    # Set on one that was read from its case.
    received_at: datetime | None = None

    @property
    def contract_key(self) -> str:
        if self.order_number:
            return self.order_number
        return hashlib.sha256(search_form(self.details).encode()).hexdigest()
