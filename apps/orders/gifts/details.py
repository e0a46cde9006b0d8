"""Details of a gift as the buyer gives them, stored with the order (docs/rules.md, "Gifts")."""

from dataclasses import dataclass
from datetime import date, timedelta

from django.core.exceptions import ValidationError

from apps.core.dates import today
from apps.orders.models import Gift, Order

LATEST_DELIVERY = timedelta(days=90)


@dataclass(frozen=True)
class GiftDetails:
    """A gift as the buyer describes it: checked texts, and a day in Europe/Madrid."""

    email: str
    sender: str
    deliver_on: date
    name: str = ""
    message: str = ""

    @property
    def content(self) -> list[str]:
        """The gift's part of the digest of an order's content."""
        day = self.deliver_on.isoformat()
        return [self.email.strip().lower(), self.name, self.sender, day, self.message]


def check_day(day: date) -> None:
    """Raise ValidationError for a day of delivery that is over or too far away."""
    if day < today():
        raise ValidationError("Ese día ya ha pasado.")
    if day > today() + LATEST_DELIVERY:
        raise ValidationError(f"Como mucho, {LATEST_DELIVERY.days} días desde hoy.")


def stored_details(order: Order | None) -> GiftDetails | None:
    """Read the gift of an order as its buyer has described it. None if the order is no gift."""
    gift = Gift.objects.filter(order=order).first() if order is not None else None
    if gift is None:
        return None
    return GiftDetails(
        email=gift.recipient_email,
        sender=gift.sender,
        deliver_on=gift.deliver_on,
        name=gift.recipient_name,
        message=gift.message,
    )


def store_details(order: Order, details: GiftDetails | None) -> None:
    """Make the unpaid order this gift, or no gift. The caller holds the order's lock."""
    if details is None:
        Gift.objects.filter(order=order).delete()
        return
    Gift.objects.update_or_create(
        order=order,
        defaults={
            "recipient_email": details.email.strip(),
            "recipient_name": details.name,
            "sender": details.sender,
            "message": details.message,
            "deliver_on": details.deliver_on,
        },
    )
