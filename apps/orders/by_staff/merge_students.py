"""Merging two students who are one person (docs/rules.md, "Students")."""

from django.db import transaction
from django.db.models import Q

from apps.classroom.move_access import lock_access, merge_access
from apps.core.errors import Conflict
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import lock_orders
from apps.orders.models import Dispute, Gift, Order, PromoUse, ReferralReward, Refund
from apps.orders.models.statuses import EventKind
from apps.orders.rewards.service import cancel_reward
from apps.orders.settlement.new_address import (
    expire_plain_carts,
    follow_student,
    orders_that_follow,
)
from apps.pricing.models import PromoCode
from apps.students.models import ErasureRequest, Student
from apps.students.services import merge_student_rows

SAME_PERSON = "Quien invitó y quien compró eran la misma persona"


class CannotMerge(Conflict):
    """The merge is not possible. The message gives the reason in Spanish."""

    code = "cannot_merge"


@transaction.atomic
def merge_students(*, merged_id: int, into_id: int, actor: str) -> bool:
    """Move everything of the student `merged_id` to `into_id`. False if that was done before.

    Raises CannotMerge.
    """
    ids = [merged_id, into_id]
    # Lock as a payment does: the orders, the codes, the access, and the students last.
    lock_orders(Order.objects.filter(student__in=ids).only("pk"))
    list(PromoCode.objects.select_for_update(no_key=True).filter(student__in=ids).order_by("pk"))
    is_idle = lock_access(ids)
    rows = Student.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk")
    by_id = {row.pk: row for row in rows}
    merged, into = by_id[merged_id], by_id[into_id]
    if merged.merged_into_id == into.pk:
        return False
    refuse_unsafe(merged=merged, into=into)
    if not is_idle:
        raise CannotMerge("Ahora mismo se está dando un acceso: vuelve a intentarlo en un minuto.")
    before = merged.email
    merge_student_rows(merged=merged, into=into)
    expire_plain_carts(student_id=merged.pk, email=before, actor=actor)
    of_merged = Order.objects.filter(student=merged)
    for order in orders_that_follow(of_merged).order_by("pk"):
        _move_order(order, before=before, merged=merged, into=into, actor=actor)
    of_merged.update(student=into)
    PromoUse.objects.filter(student=merged).update(student=into)
    _move_codes(merged, into)
    _move_rewards(merged, into, actor=actor)
    Gift.objects.filter(recipient=merged).update(recipient=into)
    merge_access(merged=merged, into=into)
    return True


def refuse_unsafe(*, merged: Student, into: Student) -> None:
    """Raise CannotMerge if something about the two students is not settled."""
    both = (merged, into)
    if merged.pk == into.pk:
        raise CannotMerge("Es el mismo alumno: escribe el correo del otro.")
    if any(student.erased_at for student in both):
        raise CannotMerge("Los datos de uno de los dos ya se han borrado o unido a otra ficha.")
    if ErasureRequest.objects.filter(student__in=both).exists():
        raise CannotMerge("Uno de los dos ha pedido que se borren sus datos: eso va primero.")
    if any(student.blocked_at for student in both):
        raise CannotMerge("Uno de los dos está bloqueado: desbloquéalo antes de unirlos.")
    of_merged = {"payment__order__student": merged}
    in_transit = Refund.objects.filter(**of_merged, status__in=("requested", "pending"))
    disputed = Dispute.objects.filter(**of_merged, status=Dispute.Status.OPEN)
    if in_transit.exists() or disputed.exists():
        raise CannotMerge(
            f"{merged.email} tiene una devolución en camino o una disputa abierta: espera a su "
            "final."
        )


def loses_friend_code(*, merged: Student, into: Student) -> bool:
    """Whether both have a friend code: a student has one, so that of `merged` is switched off."""
    own = PromoCode.objects.filter(is_referral_code=True)
    return own.filter(student=merged).exists() and own.filter(student=into).exists()


def rewards_between(*, merged: Student, into: Student) -> list[ReferralReward]:
    """The rewards, not yet paid, for an invitation of one of the two by the other."""
    one_way = Q(student=merged, friend=into)
    rewards = ReferralReward.objects.filter(one_way | Q(student=into, friend=merged))
    unpaid = (ReferralReward.Status.HELD, ReferralReward.Status.OWED)
    return list(rewards.filter(status__in=unpaid).select_related("order").order_by("order_id"))


def _move_order(order: Order, *, before: str, merged: Student, into: Student, actor: str) -> None:
    order.student = into
    order.save(update_fields=["student", "updated_at"])
    if order.email.lower() == before:
        follow_student(order, email=into.email, actor=actor)
    reason = f"Era del alumno n.º {merged.pk}, que se ha unido con el n.º {into.pk}"
    note(order, kind=EventKind.STUDENTS_MERGED, actor=actor, reason=reason)


def _move_codes(merged: Student, into: Student) -> None:
    codes = PromoCode.objects.filter(student=merged)
    if PromoCode.objects.filter(student=into, is_referral_code=True).exists():
        # The friend code of `merged` stays with the empty row. A cart that has that code already
        # rewards `into`.
        codes.filter(is_referral_code=True).update(active=False)
        codes = codes.filter(is_referral_code=False)
    codes.update(student=into)


def _move_rewards(merged: Student, into: Student, *, actor: str) -> None:
    """Move the rewards as inviter and as friend, except what the constraints of rewards refuse.

    Nobody is rewarded for themselves, and a friend gives one reward: such rows keep the empty row.
    """
    for reward in rewards_between(merged=merged, into=into):
        cancel_reward(reward.order, SAME_PERSON, actor=actor)
    ReferralReward.objects.filter(student=merged).exclude(friend=into).update(student=into)
    canceled = ReferralReward.Status.CANCELED
    as_friend = ReferralReward.objects.filter(friend=merged).exclude(student=into)
    if ReferralReward.objects.filter(friend=into).exclude(status=canceled).exists():
        as_friend = as_friend.filter(status=canceled)
    as_friend.update(friend=into)
