"""Corrections of a gift by staff, before and after its delivery (docs/rules.md, "Gifts")."""

from apps.classroom.transfer import transfer_access
from apps.core.errors import Conflict
from apps.orders.ledger.history import note
from apps.orders.models import Gift
from apps.orders.models.statuses import EventKind
from apps.students.services import find_or_create_student


class CannotCorrect(Conflict):
    """The correction is not possible. The message gives the reason in Spanish."""


def correct_gift(gift: Gift, *, actor: str) -> None:
    """Follow the changed address of a gift. The caller has stored it and holds the order's lock.

    A delivered gift leaves the student who got it by mistake and goes to the one with the address,
    who gets the mail. Raises CannotCorrect for a canceled gift.
    """
    if gift.status == Gift.Status.CANCELED:
        raise CannotCorrect("El regalo está anulado: ya no se entrega a nadie.")
    if gift.status == Gift.Status.DELIVERED:
        student = find_or_create_student(email=gift.recipient_email, phone="")
        transfer_access(order_id=gift.order_id, to=student)
        gift.recipient = student
        gift.save(update_fields=["recipient"])
    # Without the addresses: the history outlives the erasure of the recipient.
    note(
        gift.order,
        kind=EventKind.GIFT_CHANGED,
        actor=actor,
        reason="Corregido el correo de quien recibe el regalo",
    )
