"""Payments of sample orders, and what a paid order sets off: its code, its reward, friend codes."""

from datetime import datetime

from apps.backoffice.sample_trade.shop import Sale, Shop
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders.models import Order, Payment, PromoUse, ReferralReward
from apps.orders.models.statuses import EventKind
from apps.orders.rewards.service import CODE_LENGTH, HOLD
from apps.pricing.models import PromoCode
from apps.pricing.rules import PRICING

SECOND_PAYMENT = "Segundo pago de un pedido ya pagado"


def new_payment(
    shop: Shop, sale: Sale, cents: int, at: datetime, *, reference: str = "", flag: str = ""
) -> Payment:
    payment = shop.rows.add(
        Payment(
            order=sale.order,
            kind=Payment.Kind.SAMPLE if cents else Payment.Kind.FREE,
            reference=reference or shop.reference("pi"),
            amount=to_euros(cents),
            status=Payment.Status.SUCCEEDED,
            flag=flag,
            created_at=at,
            succeeded_at=at,
        )
    )
    sale.payments.append(payment)
    return payment


def pay_first(shop: Shop, sale: Sale, at: datetime, cents: int) -> Payment:
    """Pay the order, or its first instalment. A free order has a reference of the shop's own."""
    order = sale.order
    reference = "" if cents else shop.reference("free")
    payment = new_payment(shop, sale, cents, at, reference=reference)
    reason = f"Pago confirmado: {format_euros(cents)} ({payment.reference})"
    status = Order.Status.PAYING if order.in_instalments else Order.Status.PAID
    shop.note(sale, at, EventKind.PAID, reason, to=status)
    order.paid_at = at
    _use_code(shop, sale, at)
    _give_friend_code(shop, sale, at)
    return payment


def pay_twice(shop: Shop, sale: Sale, at: datetime) -> Payment:
    """A second payment of a paid order, which is kept and flagged."""
    order = sale.order
    extra = new_payment(shop, sale, order.total_cents, at, flag=SECOND_PAYMENT)
    order.flag = f"{SECOND_PAYMENT} ({extra.reference})"
    shop.note(sale, at, EventKind.PAYMENT_MISFIT, order.flag)
    return extra


def attend(shop: Shop, sale: Sale, at: datetime) -> None:
    """Clear the order's flag, as staff do after they have looked into it."""
    reason = f"Aviso atendido: {sale.order.flag}"
    shop.note(sale, at, EventKind.ATTENDED, reason, actor=shop.user.get_username())
    sale.order.flag = ""


def _use_code(shop: Shop, sale: Sale, at: datetime) -> None:
    promo = sale.order.promo_code
    if promo is None:
        return
    promo.uses_taken += 1
    shop.rows.add(
        PromoUse(
            promo_code=promo,
            order=sale.order,
            student=sale.buyer.student,
            status=PromoUse.Status.USED,
            reserved_at=sale.at,
            used_at=at,
        )
    )


def _give_friend_code(shop: Shop, sale: Sale, at: datetime) -> None:
    buyer = sale.buyer
    if buyer.first_paid_at is not None:
        return
    buyer.first_paid_at = at
    buyer.friend_code = shop.rows.add(
        PromoCode(
            code=shop.code("AMIGO-", CODE_LENGTH),
            kind=PromoCode.Kind.FIXED,
            value=to_euros(PRICING.invited_cents),
            is_referral_code=True,
            student=buyer.student,
            note="Código de amigo, tras la primera compra",
            created_at=at,
        )
    )


def earn_reward(shop: Shop, sale: Sale) -> None:
    """The reward of whoever invited the buyer, in the state that the order has led to."""
    order, promo = sale.order, sale.order.promo_code
    if promo is None or not promo.is_referral_code or order.paid_at is None:
        return
    status = ReferralReward.Status
    reward = ReferralReward(
        student=promo.student,
        friend=sale.buyer.student,
        order=order,
        promo_code=promo,
        amount=order.promised_reward,
        status=status.HELD,
        created_at=order.paid_at,
        held_until=order.paid_at + HOLD,
    )
    amount = format_euros(to_cents(reward.amount))
    reason = f"Recompensa de {amount} por el código {promo.code}"
    shop.note(sale, order.paid_at, EventKind.REWARD_EARNED, reason)
    in_order = (Order.Status.PAID, Order.Status.PAYING, Order.Status.PARTIALLY_REFUNDED)
    if order.status == Order.Status.REFUNDED:
        reward.status, reward.canceled_at = status.CANCELED, order.updated_at
        reward.cancel_reason = "pedido devuelto"
        reason = f"Recompensa de {amount} anulada: pedido devuelto"
        shop.note(sale, order.updated_at, EventKind.REWARD_CANCELED, reason)
    elif reward.held_until < shop.now and order.status in in_order and order.disputed_at is None:
        reward.status, reward.owed_at = status.OWED, reward.held_until
        paid_at = reward.held_until + HOLD
        if paid_at < shop.now:
            reward.status, reward.paid_at = status.PAID, paid_at
            reward.paid_by = shop.user.get_username()
            reason = f"Recompensa de {amount} pagada"
            shop.note(sale, paid_at, EventKind.REWARD_PAID, reason, actor=reward.paid_by)
    shop.rows.add(reward)
