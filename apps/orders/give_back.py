"""What goes with the money: the access and the instalments to come; and what of it is said before.

The part that refunds and lost disputes have in common. The caller holds the order's lock.
"""

from collections.abc import Sequence

from apps.classroom.access import withdraw_access
from apps.core.money import format_euros, to_cents
from apps.orders.models import Instalment, Order, OrderLine, ReferralReward
from apps.orders.states import note


def withdraw(order: Order, lines: Sequence[OrderLine] | None = None) -> None:
    """Take back the access that these lines opened, or all of the order's."""
    items = None if lines is None else [(line.subject_id, line.lesson_id) for line in lines]
    withdraw_access(reference=order.reference, items=items)


def preview_plan(order: Order, *, ends: bool) -> list[str]:
    left = order.instalments.exclude(status__in=Instalment.SETTLED).order_by("number")
    if not left:
        return []
    names = " y ".join(f"el {row.number}.º ({format_euros(row.amount_cents)})" for row in left)
    return [
        f"Se anulan los plazos que quedan: {names}."
        if ends
        else f"Los plazos que quedan se siguen cobrando: {names}."
    ]


def cancel_plan(order: Order, *, actor: str) -> None:
    """Nobody pays the instalments that are left."""
    left = order.instalments.exclude(status__in=Instalment.SETTLED)
    numbers = [str(number) for number in left.order_by("number").values_list("number", flat=True)]
    if numbers:
        left.update(status=Instalment.Status.CANCELED, charge_on=None, leased_until=None)
        note(order, actor=actor, reason=f"Plazos anulados: {', '.join(numbers)}")


def preview_reward(order: Order, *, lost: bool) -> list[str]:
    reward = ReferralReward.objects.filter(order=order).select_related("student").first()
    if reward is None or reward.status == ReferralReward.Status.CANCELLED:
        return []
    what = f"La recompensa de {format_euros(to_cents(reward.amount))} para {reward.student.email}"
    if not lost:
        return [f"{what} se mantiene."]
    if reward.status == ReferralReward.Status.PAID:
        return [f"{what} ya se pagó: el pedido queda con un aviso."]
    return [f"{what} se anula."]
