"""A checkout request, and the order that answers it."""

from dataclasses import dataclass
from uuid import UUID

from apps.core.mail.recipient_limits import Origin
from apps.core.money import as_json, to_cents
from apps.orders.gifts.details import GiftDetails
from apps.orders.models import Order
from apps.orders.offer.cart import CheckoutItem
from apps.orders.offer.offer import Offer
from apps.pricing.instalments import InstalmentPlan
from apps.pricing.payment_type import PaymentType


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
    # The plan that the buyer was shown, if the page says it.
    expected_plan: InstalmentPlan | None = None
    accepted: frozenset[str] = frozenset()
    beside_wallet: bool = False
    promo_code: str = ""
    quote_key: str = ""
    first_name: str = ""
    last_name: str = ""
    save_for_later: bool = False
    by_transfer: bool = False
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
    # The gift's address on the page, "" if it showed no gift. None if the request says neither.
    shown_gift_email: str | None = None

    @property
    def checks_purchases(self) -> bool:
        """Whether a promo code is checked against earlier purchases of the address and phone.

        It is once the buyer wants to pay. A cart that anybody saves must not tell who has bought.
        """
        return self.buyer_is_known or not self.save_for_later

    @property
    def origin_of_mail(self) -> Origin:
        """The origin of the mail of a saved cart, or of an order by transfer."""
        if self.save_for_later:
            return Origin.OWNER_FORM if self.buyer_is_known else Origin.FORM
        return Origin.OWNER_ORDER if self.buyer_is_known else Origin.ORDER


@dataclass(frozen=True)
class Placed:
    """A placed order, with the offer that it was stored with."""

    order: Order
    offer: Offer

    @property
    def as_json(self) -> dict[str, object]:
        return {
            "order_id": self.order.pk,
            "token": self.order.auth_token,
            **self.offer.as_json,
        }


@dataclass(frozen=True)
class CompletedOrder:
    """An order that is already complete, for the answer to a repeated checkout."""

    order: Order

    @property
    def as_json(self) -> dict[str, object]:
        return {
            "order_id": self.order.pk,
            "token": self.order.auth_token,
            "lines": [
                {
                    "subject_id": row.subject_id,
                    "lesson_id": row.lesson_id,
                    "name": row.name,
                    "list_price": as_json(to_cents(row.list_price)),
                    "price": as_json(to_cents(row.price)),
                }
                for row in self.order.lines.all()
            ],
            "discounts": [
                {"name": row.name, "amount": as_json(to_cents(row.amount))}
                for row in self.order.discounts.all()
            ],
            "total_amount": as_json(self.order.total_cents),
        }
