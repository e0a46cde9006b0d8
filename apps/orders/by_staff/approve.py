"""A second person approves, or refuses, what an order of staff gives away.

The rules are in docs/rules.md, "Limits of staff".
"""

from typing import Any

from django.db import transaction

from apps.core.identity import email_identity
from apps.core.money import format_euros, to_cents
from apps.core.staff.limits import limits_of
from apps.orders.by_staff.create import OrderRefused, have_paid
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Order, StaffOrder
from apps.orders.models.statuses import EventKind


@transaction.atomic
def approve_order(order_id: int, *, user: Any, seen: str) -> str:
    """Approve what an order gives away, and mail its buyer. Returns a Spanish sentence for staff.

    `seen` is the version of the order that the user has read. Nobody approves what they buy, and
    who has a limit nothing that they have made, edited or led to another address. Raises
    OrderRefused.
    """
    order, row = _waiting(order_id, user=user, seen=seen)
    row.awaits_approval, row.approved_by = False, user.get_username()
    row.save(update_fields=["awaits_approval", "approved_by"])
    reason = f"{_what(row)} aprobado"
    note(order, kind=EventKind.APPROVED, actor=user.get_username(), reason=reason)
    # After a change of its address an order is approved again, and mailed to that one.
    occasion = order.events.filter(kind=EventKind.APPROVED).count()
    have_paid(order, row, again=f":approved-{occasion}")
    return f"{reason}. {order.email} recibe un correo."


@transaction.atomic
def refuse_order(order_id: int, *, user: Any, seen: str, reason: str) -> str:
    """Refuse to approve what an order gives away. Returns a Spanish sentence for staff.

    The order stays open, and can't be paid until it is edited. Its buyer gets no mail. Raises
    OrderRefused, for the same persons as `approve_order`.
    """
    order, row = _waiting(order_id, user=user, seen=seen)
    row.refused_by, row.refusal = user.get_username(), reason
    row.save(update_fields=["refused_by", "refusal"])
    told = f"{_what(row)} rechazado"
    note(
        order,
        kind=EventKind.APPROVAL_REFUSED,
        actor=user.get_username(),
        reason=f"{told}: {reason}",
    )
    return f"{told}. {row.actor} lo ve en Hoy y en el pedido."


# Staff with a limit who have done one of these approve nothing of the order.
OWN_ACTS = (
    EventKind.MADE_BY_STAFF,
    EventKind.EDITED,
    EventKind.EMAIL_CHANGED,
    EventKind.STUDENTS_MERGED,
)


def may_approve(row: StaffOrder, user: Any) -> bool:
    """Whether the user has neither agreed the order nor buys it.

    Nor have they ever made or edited it: otherwise a colleague's edit would let them approve what
    they asked for. Nor have they led it to another address: a discount for a friend needs two
    persons, too. Only for their own purchase does this hold for who has no limit, and may give all
    of it alone.
    """
    is_buyer = email_identity(row.order.email) == email_identity(user.email)
    if limits_of(user).discount_cents is None:
        return not is_buyer
    own_acts = row.order.events.filter(kind__in=OWN_ACTS, actor=user.get_username()[:80])
    return row.user_id != user.pk and not is_buyer and not own_acts.exists()


def _waiting(order_id: int, *, user: Any, seen: str) -> tuple[Order, StaffOrder]:
    order = locked_order(order_id)
    row = StaffOrder.objects.select_for_update(no_key=True).filter(order=order).first()
    if row is None or not row.awaits_approval or row.refused_by or not order.is_open:
        raise OrderRefused("Este pedido no espera ninguna aprobación.")
    row.order = order
    if not may_approve(row, user):
        raise OrderRefused(
            "Lo has pedido o editado tú, o es para ti, o le has cambiado el correo: lo tiene que "
            "aprobar otra persona."
        )
    if row.version != seen:
        raise OrderRefused("El pedido ha cambiado desde que lo abriste: léelo otra vez.")
    return order, row


def _what(row: StaffOrder) -> str:
    if not row.discount:
        return "Cambio"
    return f"Descuento de {format_euros(to_cents(row.discount))}"
