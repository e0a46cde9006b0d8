"""The mail that brings a gift, and what the buyer's mail says of it.

- `gift_received` {"provisioning_id"}: to the recipient, once the access is there. It takes the
  place of `classroom_access`, with the same link.
- `gift_moved` {"gift_id", "is_buyer", "order_id"}: to the buyer, and to the student who had the
  gift, after staff have changed the recipient's address
"""

from typing import Any

from apps.classroom.mails import access_context, access_origin, student_of_access
from apps.classroom.models import Provisioning
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import BuyersText, NoLongerDue, register_mail
from apps.orders.ledger.payments import amount_paid_cents
from apps.orders.models import Gift, Order


def register() -> None:
    register_mail(
        "gift_received",
        "Tienes un regalo en {{ brand }}",
        gift_received_context,
        origin=access_origin,
        student=student_of_access,
        texts={
            "heading": "Tienes un regalo, {nombre}",
            "closing": "No tienes que pagar nada. ¿Ya tenías alguna de estas asignaturas, o no "
            "conoces a quien te lo envía? Responde a este correo y te ayudamos.",
        },
    )
    register_mail(
        "gift_moved",
        "Ha cambiado el correo de un regalo",
        gift_moved_context,
        origin=Origin.STAFF,
        is_fixed=True,
        texts={
            "heading": "Ha cambiado el correo de un regalo",
            "greeting": "Hola:",
        },
    )


def gift_received_context(ids: dict[str, Any]) -> dict[str, Any]:
    """The variables of `classroom_access`, and from whom the gift is.

    The buyer's words are left out of a gift that cost nothing. Raises NoLongerDue if all of the
    gift was refunded since.
    """
    provisioning = Provisioning.objects.get(pk=ids["provisioning_id"])
    if all(item in provisioning.withdrawn for item in provisioning.items):
        raise NoLongerDue
    gift = Gift.objects.select_related("order").get(order=provisioning.order_id)
    return {
        **access_context(ids),
        "recipient_name": BuyersText(gift.recipient_name),
        "sender": BuyersText(gift.sender),
        "message": BuyersText(gift.message),
    }


def gift_moved_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Neither mail has a name or an address: nobody learns anything about the new recipient."""
    return {"number": Gift.objects.get(pk=ids["gift_id"]).order_id, "is_buyer": ids["is_buyer"]}


def gift_facts(order: Order) -> dict[str, Any] | None:
    """Facts of the gift for the buyer's confirmation mail. None if the order is no gift."""
    gift = Gift.objects.filter(order=order).first()
    if gift is None:
        return None
    return {
        "to": BuyersText(gift.address_for_buyer),
        "deliver_on": gift.deliver_on,
        "is_delivered": gift.status == Gift.Status.DELIVERED,
        "has_words": amount_paid_cents(order) > 0,
    }
