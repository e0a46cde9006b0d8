"""The mail that brings a gift, and what the buyer's mail says of it.

- `gift_received` {"provisioning_id"}: to the recipient, once the access is there. It takes the
  place of `classroom_access`, with the same link.
"""

from typing import Any

from apps.classroom.mails import access_context
from apps.classroom.models import Provisioning
from apps.core.mail.registry import NoLongerDue, register_mail
from apps.orders.ledger.payments import amount_paid_cents
from apps.orders.models import Gift, Order


def register() -> None:
    register_mail("gift_received", "Tienes un regalo en {{ brand }}", gift_received_context)


def gift_received_context(ids: dict[str, Any]) -> dict[str, Any]:
    """The variables of `classroom_access`, and from whom the gift is.

    The buyer's words are left out of a gift that cost nothing: a stranger could otherwise send a
    message of their own to anybody. Raises NoLongerDue if all of the gift was refunded since.
    """
    provisioning = Provisioning.objects.get(pk=ids["provisioning_id"])
    if all(item in provisioning.withdrawn for item in provisioning.items):
        raise NoLongerDue
    gift = Gift.objects.select_related("order").get(order=provisioning.order_id)
    paid = amount_paid_cents(gift.order) > 0
    return {
        **access_context(ids),
        "recipient_name": gift.recipient_name if paid else "",
        "sender": gift.sender if paid else "",
        "message": gift.message if paid else "",
    }


def gift_facts(order: Order) -> dict[str, Any] | None:
    """Facts of the gift for the buyer's confirmation mail. None if the order is no gift."""
    gift = Gift.objects.filter(order=order).first()
    if gift is None:
        return None
    return {
        "to": gift.recipient_email,
        "deliver_on": gift.deliver_on,
        "is_delivered": gift.status == Gift.Status.DELIVERED,
        "has_words": amount_paid_cents(order) > 0,
    }
