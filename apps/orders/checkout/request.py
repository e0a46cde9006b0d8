"""What a buyer asks for, and the order that comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.orders.checkout.cart import (
    CartLine,
    CheckoutItem,
    lines_as_json,
    stored_lines_as_json,
)
from apps.orders.models import Order
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import CartQuote


@dataclass(frozen=True)
class Checkout:
    """What a buyer asks for, its shape already checked. Money in cents, phone in E.164."""

    email: str
    phone: str
    payment_type: PaymentType
    items: tuple[CheckoutItem, ...]
    expected_total_cents: int
    accepted: frozenset[str] = frozenset()
    promo_code: str = ""
    quote_key: str = ""
    first_name: str = ""
    last_name: str = ""
    save_for_later: bool = False
    buy_again: bool = False
    order_id: int | None = None
    token: str = ""
    order_key: UUID | None = None
    signed_in_as: int | None = None


@dataclass(frozen=True)
class Placed:
    """An order as it stands after the transaction, with the quote it was stored with."""

    order: Order
    lines: Sequence[CartLine]
    quote: CartQuote
    quote_notice: str = ""

    @property
    def as_json(self) -> dict[str, object]:
        return {
            "order_id": self.order.pk,
            "token": self.order.auth_token,
            **lines_as_json(self.lines, self.quote),
            **notice_as_json(self.quote_notice),
        }

    @property
    def due_now_cents(self) -> int:
        order = self.order
        return self.quote.due_now_cents(PaymentType(order.payment_type), order.instalment_plan)


@dataclass(frozen=True)
class PlacedBefore:
    """An order as it was stored, for the answer to a checkout that is repeated."""

    order: Order

    @property
    def as_json(self) -> dict[str, object]:
        return {
            "order_id": self.order.pk,
            "token": self.order.auth_token,
            **stored_lines_as_json(self.order),
        }


def notice_as_json(notice: str) -> dict[str, Any]:
    """What a quote's buyer has to know: why its price is not theirs, or not the whole of it."""
    return {"quote_notice": notice} if notice else {}
