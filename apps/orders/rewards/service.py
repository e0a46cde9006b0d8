"""Friend codes and their rewards (docs/rules.md, "Friend codes and rewards").

Every student gets a friend code with their first paid order. When a friend buys with it for the
first time, the code's owner earns a reward. It is held for 30 days and until nothing of the order
remains to be paid, then owed, then marked as paid by staff. A refund of the friend's order cancels
it.
"""

from collections.abc import Iterable
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.core.database import insert_new
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.random_codes import random_code
from apps.core.text_links import FRIEND_CODE
from apps.orders.ledger.balance import balance_of
from apps.orders.ledger.disputed_credit import disputed_credit_cents
from apps.orders.ledger.history import flag, note
from apps.orders.models import Gift, Order, ReferralReward, TransferReceipt
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.statuses import EVER_PAID, EventKind
from apps.orders.promo.uses import Standing
from apps.pricing.models import PromoCode
from apps.pricing.reads import current_terms
from apps.students.models import Student

HOLD = timedelta(days=30)
CODE_LENGTH = 8
# No instalment is to come. A partial refund that leaves no complete subject cancels the reward.
SETTLED = (Order.Status.PAID, Order.Status.PARTIALLY_REFUNDED)


def give_code(student: Student) -> PromoCode:
    """The student's friend code. Creates and mails it if the student has none.

    Called in the transaction that marks an order as paid. If two orders are paid at the same
    moment, the unique constraint lets one create the code; the other reads it.
    """
    code = PromoCode(
        student=student,
        is_referral_code=True,
        code=random_code(FRIEND_CODE, CODE_LENGTH),
        kind=PromoCode.Kind.FIXED,
        value=to_euros(current_terms().invited_cents),
        note="Código de amigo, tras la primera compra",
    )
    if not insert_new(code):
        return PromoCode.objects.get(student=student, is_referral_code=True)
    _mail_code(code, student)
    return code


def earn_reward(order: Order, code: Standing | None, *, actor: str) -> ReferralReward | None:
    """Create the reward for an order that was just paid with a friend code.

    Returns None if the order has no friend code or earns no reward. The reason goes into the
    order's history (docs/rules.md, "Friend codes and rewards"). The caller holds the order's lock.
    The conditions were checked when the order was placed. They are checked again in `code`, which
    was read under the code's lock, because two carts of one buyer may be paid at the same moment.
    """
    if code is None or not code.promo.is_referral_code:
        return None
    promo, buyer = code.promo, code.buyer
    if promo.student is None or buyer is None:
        return None
    owner = promo.student.merged_into or promo.student
    reason = ""
    if buyer.owns_code or owner.pk == order.student_id:
        reason = "el código es del propio comprador"
    elif code.gives_to_owner:
        reason = "el código es de quien recibe el regalo"
    elif owner.erased_at is not None:
        reason = "quien invitó ya no tiene cuenta"
    elif buyer.has_bought:
        reason = "no es la primera compra"
    elif _has_rewarded(order.student):
        reason = "este amigo ya ha dado una recompensa"
    elif not order.lines.filter(lesson=None).exists():
        reason = "no hay ninguna asignatura completa"
    elif order.total_cents < CARD_MINIMUM_CENTS:
        reason = "el pedido no ha costado nada"
    elif order.total_cents < to_cents(order.promised_reward):
        reason = "el pedido ha costado menos que la recompensa"
    if reason:
        note(
            order,
            kind=EventKind.REWARD_WITHHELD,
            actor=actor,
            reason=f"Sin recompensa por el código {promo}: {reason}",
        )
        return None
    reward = ReferralReward.objects.create(
        student=owner,
        friend=order.student,
        order=order,
        promo_code=promo,
        amount=order.promised_reward,
        held_until=timezone.now() + HOLD,
    )
    # Names the code, not its owner's address: the owner may ask for erasure later.
    note(
        order,
        kind=EventKind.REWARD_EARNED,
        actor=actor,
        reason=f"Recompensa de {format_euros(to_cents(reward.amount))} por el código {promo}",
    )
    return reward


def _has_rewarded(friend: Student) -> bool:
    rewards = ReferralReward.objects.filter(friend=friend)
    return rewards.exclude(status=ReferralReward.Status.CANCELED).exists()


def move_rewards_of(order: Order, *, before: Student, to: Student, actor: str) -> None:
    """Give `to` the friend code and the reward that come from an order which was the other's.

    The code moves if the order has given it and `to` has none; otherwise it is switched off. The
    reward for inviting the buyer is canceled if `to` is no new buyer, or is who invited, and so is
    a reward for which `to` has bought with the code. The caller holds the locks of both students'
    orders and codes.
    """
    code = PromoCode.objects.filter(
        student=before, is_referral_code=True, created_at__gte=order.paid_at
    ).first()
    if code is not None:
        _move_code(code, to, actor=actor)
    reward = ReferralReward.objects.filter(order=order).first()
    if reward is None:
        return
    has_bought = to.orders.filter(status__in=EVER_PAID).exclude(pk=order.pk).exists()
    if reward.student_id == to.pk or has_bought or _has_rewarded(to):
        reason = "Quien compró tenía ya otra cuenta: no es la primera compra"
        cancel_reward(order, reason, actor=actor)
    else:
        ReferralReward.objects.filter(pk=reward.pk).update(friend=to)


def _move_code(code: PromoCode, to: Student, *, actor: str) -> None:
    rewards = ReferralReward.objects.filter(promo_code=code)
    for reward in rewards.filter(friend=to).select_related("order"):
        cancel_reward(reward.order, "El código es del propio comprador", actor=actor)
    rewards.exclude(friend=to).update(student=to)
    if PromoCode.objects.filter(student=to, is_referral_code=True).exists():
        PromoCode.objects.filter(pk=code.pk).update(active=False)
        return
    PromoCode.objects.filter(pk=code.pk).update(student=to)
    _mail_code(code, to)


def _mail_code(code: PromoCode, to: Student) -> None:
    queue_mail(
        key=f"referral-code:{to.pk}:{code.pk}",
        template="referral_code",
        to=to.email,
        context={"student_id": to.pk},
    )


def release_due_rewards() -> int:
    """Change rewards that were held for 30 days to owed. Returns how many changed.

    While an order has instalments to come, or is disputed, its reward stays held: what was paid of
    a plan may be less than the reward. So it does until a gift is delivered: its buyer may withdraw
    from the purchase until then. It is one UPDATE statement: safe to repeat and to run in
    parallel.
    """
    now = timezone.now()
    in_order = Order.objects.filter(status__in=SETTLED, disputed_at=None)
    in_order = in_order.exclude(gift__status=Gift.Status.WAITING)
    return ReferralReward.objects.filter(
        status=ReferralReward.Status.HELD, held_until__lte=now, order__in=in_order
    ).update(status=ReferralReward.Status.OWED, owed_at=now)


@transaction.atomic
def cancel_reward(order: Order, reason: str, *, actor: str = "sistema") -> ReferralReward | None:
    """Cancel the reward that an order earned. Returns the reward, or None if there is none.

    Part of the transaction of a refund or dispute. The caller holds the order's lock. A reward that
    was paid out stays paid, and the order is flagged for staff. `reason` is Spanish, for staff.
    """
    reward = ReferralReward.objects.select_for_update(no_key=True).filter(order=order).first()
    if reward is None or reward.status == ReferralReward.Status.CANCELED:
        return reward
    amount = format_euros(to_cents(reward.amount))
    if reward.status == ReferralReward.Status.PAID:
        flag(
            order,
            kind=EventKind.REWARD_PAID_BEFORE_REFUND,
            actor=actor,
            reason=f"La recompensa de {amount} por este pedido ya se pagó",
        )
        return reward
    reward.status = ReferralReward.Status.CANCELED
    reward.canceled_at = timezone.now()
    reward.cancel_reason = reason[:200]
    reward.save(update_fields=["status", "canceled_at", "cancel_reason"])
    note(
        order,
        kind=EventKind.REWARD_CANCELED,
        actor=actor,
        reason=f"Recompensa de {amount} anulada: {reason}",
    )
    return reward


def move_reward(order: Order, *, to: Order, actor: str) -> None:
    """Move the reward that an order earned to the one that its buyer exchanged it for.

    A refund of that one cancels it. The caller holds the locks of both orders.
    """
    reward = ReferralReward.objects.select_for_update(no_key=True).filter(order=order).first()
    if reward is None or reward.status == ReferralReward.Status.CANCELED:
        return
    reward.order = to
    reward.save(update_fields=["order"])
    to.promised_reward = reward.amount
    to.save(update_fields=["promised_reward", "updated_at"])
    reason = f"La recompensa pasa al pedido {to.pk}, por el que se ha cambiado"
    note(order, kind=EventKind.REWARD_WITHHELD, actor=actor, reason=reason)
    reason = f"Recompensa de {format_euros(to_cents(reward.amount))}, del pedido {order.pk}"
    note(to, kind=EventKind.REWARD_EARNED, actor=actor, reason=reason)


def payable(rewards: QuerySet[ReferralReward], *, by: str) -> QuerySet[ReferralReward]:
    """Those of the rewards that are owed and whose order is wholly paid and not disputed.

    None for a gift that waits for its day, nor for an order of a buyer of whom the clerk `by` has
    recorded a transfer, unless they may do everything: nobody else has seen that it arrived, and an
    exchange gives the reward another order. Some are owed since a version that did not wait for the
    last instalment.
    """
    own = TransferReceipt.objects.filter(actor=by)
    if get_user_model().objects.filter(username=by, is_superuser=True).exists():
        own = own.none()
    buyers = Order.objects.filter(pk__in=own.values("order")).values("student")
    return rewards.filter(
        status=ReferralReward.Status.OWED, order__status__in=SETTLED, order__disputed_at=None
    ).exclude(Q(order__gift__status=Gift.Status.WAITING) | Q(order__student__in=buyers))


@transaction.atomic
def pay_out(reward_ids: Iterable[int], *, by: str) -> list[ReferralReward]:
    """Mark owed rewards as paid by the clerk `by`. Returns the rewards that changed.

    Row locks make sure that two clerks who press at once mark each reward once. A reward is not
    paid while its order is disputed, instalments are to come, or less than it is left of what was
    paid for the order.
    """
    rewards = list(
        payable(ReferralReward.objects.filter(pk__in=list(reward_ids)), by=by)
        .select_for_update(no_key=True, of=("self",))
        .select_related("order")
        .order_by("pk")
    )
    rewards = [reward for reward in rewards if is_earned(reward)]
    for reward in rewards:
        reward.status = ReferralReward.Status.PAID
        reward.paid_at = timezone.now()
        reward.paid_by = by
        reward.save(update_fields=["status", "paid_at", "paid_by"])
        amount = format_euros(to_cents(reward.amount))
        note(
            reward.order,
            kind=EventKind.REWARD_PAID,
            actor=by,
            reason=f"Recompensa de {amount} pagada",
        )
    return rewards


def is_earned(reward: ReferralReward) -> bool:
    """Whether at least the reward is left of what was paid for its order, and is not in dispute."""
    balance = balance_of(reward.order)
    left = balance.paid - balance.returned - disputed_credit_cents(reward.order)
    return left >= to_cents(reward.amount)
