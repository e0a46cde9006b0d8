"""A checkout request, and the order that answers it."""

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
from apps.orders.gifts.details import GiftDetails
from apps.orders.models import Order
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import CartQuote


@dataclass(frozen=True)
class Checkout:
    """A validated checkout request. Money in cents, phone in E.164.

    `order_id` and `token` name an order to continue. `order_key` is a UUID that the page made up:
    it finds the order if an earlier answer was lost. `signed_in_as` is the id of the signed-in
    student. `accepted` are values of `Consent.Kind`, `beside_wallet` says by which boxes.
    """

    email: str
    phone: str
    payment_type: PaymentType
    items: tuple[CheckoutItem, ...]
    expected_total_cents: int
    accepted: frozenset[str] = frozenset()
    beside_wallet: bool = False
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
    # The buyer has signed in with this address, now or earlier on this device.
    buyer_is_known: bool = False
    gift: GiftDetails | None = None
    # The request says nothing of a gift: the order stays what it is.
    keeps_gift: bool = True

    @property
    def checks_purchases(self) -> bool:
        """Whether a promo code is checked against earlier purchases of the address and phone.

        It is once the buyer wants to pay. A cart that anybody saves must not tell who has bought.
        """
        return self.buyer_is_known or not self.save_for_later


@dataclass(frozen=True)
class Placed:
    """A placed order, with the lines and prices that were stored.

    `quote_notice` is a Spanish sentence for the buyer if their quote does not bind in full.
    """

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
    """An order that is already complete, for the answer to a repeated checkout."""

    order: Order

    @property
    def as_json(self) -> dict[str, object]:
        return {
            "order_id": self.order.pk,
            "token": self.order.auth_token,
            **stored_lines_as_json(self.order),
        }


def notice_as_json(notice: str) -> dict[str, Any]:
    """The field `quote_notice`: why the quote does not bind in full. {} if there is no notice."""
    return {"quote_notice": notice} if notice else {}
