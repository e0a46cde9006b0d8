"""Changes of a gift: corrections by staff, and cancellation after a refund.

The rules are in docs/rules.md, "Gifts".
"""

import secrets

from apps.classroom.transfer import transfer_access
from apps.core.errors import Conflict
from apps.core.mail.outbox import queue_mail
from apps.orders.ledger.history import note
from apps.orders.models import Gift, Order
from apps.orders.models.statuses import EventKind
from apps.students.services import find_or_create_student


class CannotCorrect(Conflict):
    """The correction is not possible. The message gives the reason in Spanish."""


def correct_gift(gift: Gift, *, actor: str) -> None:
    """Follow the changed address of a gift. The caller has stored it and holds the order's lock.

    A delivered gift leaves the student who got it by mistake and goes to the one with the address,
    who gets the mail. The buyer is told in any case, and so is the student whom it leaves. Raises
    CannotCorrect for a canceled gift.
    """
    if gift.status == Gift.Status.CANCELED:
        raise CannotCorrect("El regalo está anulado: ya no se entrega a nadie.")
    if gift.status == Gift.Status.DELIVERED:
        student = find_or_create_student(email=gift.recipient_email, phone="")
        if gift.recipient is not None and gift.recipient != student:
            _mail_gift_moved(gift, gift.recipient.email, is_buyer=False)
        transfer_access(order_id=gift.order_id, to=student, reason="Regalo para otra persona")
        gift.recipient = student
        gift.save(update_fields=["recipient"])
    _mail_gift_moved(gift, gift.order.email, is_buyer=True)
    # Without the addresses: the history outlives the erasure of the recipient.
    note(
        gift.order,
        kind=EventKind.GIFT_CHANGED,
        actor=actor,
        reason="Corregido el correo de quien recibe el regalo",
    )


def _mail_gift_moved(gift: Gift, to: str, *, is_buyer: bool) -> None:
    queue_mail(
        key=f"gift-moved:{gift.pk}:{secrets.token_hex(8)}",
        template="gift_moved",
        to=to,
        context={"gift_id": gift.pk, "is_buyer": is_buyer, "order_id": gift.order_id},
    )


def cancel_gift(order: Order, *, actor: str, reason: str) -> None:
    """Cancel the gift of an order that waits for its day. The caller holds the order's lock."""
    waiting = Gift.objects.waiting().filter(order=order)
    if waiting.update(status=Gift.Status.CANCELED):
        note(order, kind=EventKind.GIFT_CANCELED, actor=actor, reason=f"Regalo anulado: {reason}")
