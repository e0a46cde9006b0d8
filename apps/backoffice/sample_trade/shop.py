"""The state of the invented shop while a year of sales is played through."""

import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random
from typing import Any

from apps.backoffice.sample_trade.insertion import Rows
from apps.backoffice.sample_trade.names import FIRST_NAMES, LAST_NAMES
from apps.backoffice.sample_trade.prices import PriceBook
from apps.catalogue.models import Lesson, Subject
from apps.classroom.models import Provisioning
from apps.core.models import LegalText
from apps.core.random_codes import ALPHABET
from apps.leads.models import LeadEntry, Quote
from apps.orders.models import Instalment, Order, OrderEvent, OrderLine, Payment, Refund
from apps.orders.models.statuses import EventKind
from apps.pricing.instalment_plan import InstalmentPlan
from apps.pricing.models import Campaign, PromoCode
from apps.students.models import Student

# Payments with such a reference are unknown to Stripe; the money audit does not look for them.
REFERENCE = "ejemplo"


class Case(StrEnum):
    """What an owner should find on every day. The other orders have the story of their place."""

    LOST_DISPUTE = "lost dispute"
    WON_DISPUTE = "won dispute"
    OPEN_DISPUTE = "open dispute"
    FRIEND = "friend's code"


@dataclass
class Buyer:
    student: Student
    owned: set[int] = field(default_factory=set)
    first_paid_at: datetime | None = None
    friend_code: PromoCode | None = None
    has_account: bool = False


@dataclass
class Sale:
    """One order with its rows. `items` are the bought (subject id, lesson id or None)."""

    buyer: Buyer
    order: Order
    at: datetime
    items: list[tuple[int, int | None]] = field(default_factory=list)
    withdrawn: list[tuple[int, int | None]] = field(default_factory=list)
    paused_for: list[str] = field(default_factory=list)
    lines: list[OrderLine] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    refunds: list[Refund] = field(default_factory=list)
    instalments: list[Instalment] = field(default_factory=list)
    # Each declined automatic charge: the instalment, the moment, and how many were before it.
    refusals: list[tuple[Instalment, datetime, int]] = field(default_factory=list)
    provisioning: Provisioning | None = None
    bounced: bool = False


@dataclass
class Shop:
    rng: Random
    now: datetime
    rows: Rows
    subjects: list[Subject]
    lessons: dict[int, list[Lesson]]
    book: PriceBook
    campaigns: list[Campaign]
    plan: InstalmentPlan
    texts: dict[str, LegalText]
    user: Any
    codes: list[PromoCode] = field(default_factory=list)
    buyers: list[Buyer] = field(default_factory=list)
    sales: list[Sale] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    entries: list[LeadEntry] = field(default_factory=list)
    plans: int = 0
    _people: int = 0
    _references: int = 0

    def person(self) -> dict[str, str]:
        """A new name with an address at example.com, which receives no mail."""
        first = FIRST_NAMES[self.rng.randrange(len(FIRST_NAMES))]
        last = " ".join(self.rng.sample(LAST_NAMES, 2))
        self._people += 1
        return {
            "first_name": first,
            "last_name": last,
            "email": f"{_plain(first)}.{_plain(last.split()[0])}{self._people}@example.com",
            "phone": f"+34600{self._people:06d}",
        }

    def reference(self, prefix: str) -> str:
        self._references += 1
        return f"{prefix}_{REFERENCE}_{self._references:05d}"

    def code(self, prefix: str, length: int) -> str:
        """Like `random_code`, but the same codes every time."""
        return prefix + "".join(self.rng.choice(ALPHABET) for _ in range(length))

    def later(self, moment: datetime, *, most: timedelta) -> datetime:
        """A moment after this one, within `most` and not after now."""
        seconds = self.rng.randrange(60, int(most.total_seconds()))
        return min(moment + timedelta(seconds=seconds), self.now)

    def note(
        self,
        sale: Sale,
        moment: datetime,
        kind: EventKind,
        reason: str,
        *,
        actor: str = "Stripe",
        to: str = "",
    ) -> None:
        """Add an entry to the order's history. With `to` the order changes to that status."""
        order = sale.order
        self.rows.add(
            OrderEvent(
                order=order,
                at=moment,
                kind=kind,
                actor=actor,
                from_status=order.status if to else "",
                to_status=to,
                reason=reason,
            )
        )
        if to:
            order.status = to
        order.updated_at = max(order.updated_at, moment)


def _plain(name: str) -> str:
    text = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return text.lower().replace(" ", "")
