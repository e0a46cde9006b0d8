"""The only function that changes an unpaid order to paid, or to paying in instalments."""

import secrets

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Sum

from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_cents
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.balance import cents_of
from apps.orders.ledger.history import flag
from apps.orders.ledger.locks import lock_buyer, locked_order
from apps.orders.ledger.payments import ConfirmedPayment, record_payment
from apps.orders.ledger.states import change_status
from apps.orders.models import Gift, Order, Payment
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.statuses import EVER_PAID, UNPAID, EventKind, PaymentKind
from apps.orders.offer import binding_quotes
from apps.orders.offer.again import changes_since_placed
from apps.orders.offer.bought_before import names_bought_twice
from apps.orders.offer.lesson_credit import lock_credited_orders
from apps.orders.offer.renewed import lock_renewed_orders
from apps.orders.plan.schedule import first_payment_cents, start_plan
from apps.orders.promo import uses as promo_uses
from apps.orders.promo.uses import Standing
from apps.orders.refunds.exchanges import carry_out, locked_exchange, problem_of
from apps.orders.rewards import service as rewards
from apps.orders.settlement.gift_delivery import open_access
from apps.orders.settlement.new_address import address_at_payment
from apps.students.services import name_unconfirmed


@transaction.atomic
def mark_paid(*, order_id: int, payment: ConfirmedPayment, actor: str) -> Order:
    """Record a confirmed payment and complete its order; return the order.

    A payment is recorded once, however often and by whomever it is reported. A payment that does
    not fit its order is kept and flagged, never dropped. `actor` is who reported the payment, for
    the order's history. The rules are in docs/rules.md, "Orders and their states"
    and "Card payments".

    One transaction changes the status, uses the promo code and the quote, starts the instalments,
    grants access, gives the buyer a friend code, earns the reward of whoever invited the buyer, and
    queues the mails.
    """
    order = locked_order(order_id)
    row = _row_of(payment)
    if row is not None and row.status == Payment.Status.SUCCEEDED:
        return order
    exchange = locked_exchange(order)
    if order.status in UNPAID:
        lock_credited_orders(order)
        lock_renewed_orders(order)
    lost_exchange = problem_of(exchange) if exchange is not None else ""
    problem = _misfit(order, payment) or lost_exchange
    row = record_payment(order, row, payment, flag_reason=problem)
    if problem:
        reason = f"{problem} ({payment.reference})"
        flag(order, kind=EventKind.PAYMENT_MISFIT, actor=actor, reason=reason)
        alert_staff(order, occasion=f"payment-{row.pk}", reason=problem)
        if lost_exchange and order.is_open:
            # Nobody must pay again for an exchange that is not possible any more.
            change_status(
                order, Order.Status.EXPIRED, kind=EventKind.EXPIRED, actor=actor, reason=problem
            )
        return order
    if order.student.merged_into is not None:
        # The order was placed in the instant in which its student was merged.
        order.student = order.student.merged_into
        order.save(update_fields=["student", "updated_at"])
    _change_to_paid(order, payment, row, actor=actor)
    code = promo_uses.standing_of_payment(order)
    code_used = _settle_conditions(order, code, is_free=row.is_free, actor=actor)
    if exchange is not None:
        carry_out(exchange, order, actor=actor)
    if code_used:
        rewards.earn_reward(order, code, actor=actor)
    open_access(order)
    _name_student(order)
    _flag_if_bought_twice(order, actor=actor)
    # Mails come last: those of free orders lock a count that others wait for.
    rewards.give_code(order.student)
    queue_mail(
        key=f"order-confirmation:{order.pk}",
        template="order_confirmation",
        to=order.email,
        context={"order_id": order.pk},
    )
    return order


def _misfit(order: Order, payment: ConfirmedPayment) -> str:
    """Why the payment does not fit the order, as a Spanish sentence; empty if it fits."""
    if order.status not in UNPAID:
        return "Segundo pago de un pedido ya pagado"
    due_cents = _due_cents(order, payment)
    if payment.currency != "eur" or payment.amount_cents != due_cents:
        return (
            f"Importe inesperado: {format_euros(payment.amount_cents)} ({payment.currency}) "
            f"en lugar de {format_euros(due_cents)}"
        )
    return ""


def _due_cents(order: Order, payment: ConfirmedPayment) -> int:
    """What a first payment of the order has to be. Transfers may arrive in several parts."""
    if payment.kind == PaymentKind.FREE:
        return 0
    if payment.kind == PaymentKind.CREDIT:
        return to_cents(order.by_staff.credit) if not order.total_cents else 0
    if payment.kind == PaymentKind.TRANSFER:
        kept = order.payments.transfers().aggregate(sum=Sum(F("amount") - F("refunded")))["sum"]
        return first_payment_cents(order) - cents_of(kept)
    return first_payment_cents(order)


def _change_to_paid(order: Order, payment: ConfirmedPayment, row: Payment, *, actor: str) -> None:
    """Change the order's status, start its instalments, and flag a payment of an expired order."""
    is_late = order.status == Order.Status.EXPIRED
    if order.in_instalments:
        start_plan(order, payment)
    order.paid_at = row.succeeded_at
    order.email = address_at_payment(order)
    change_status(
        order,
        Order.Status.PAYING if order.in_instalments else Order.Status.PAID,
        kind=EventKind.PAID,
        actor=actor,
        reason=f"Pago confirmado: {format_euros(payment.amount_cents)} ({payment.reference})",
        also=("email", "paid_at"),
    )
    if is_late:
        reason = "Pago recibido después de caducar el pedido"
        flag(order, kind=EventKind.PAYMENT_LATE, actor=actor, reason=reason)
        alert_staff(order, occasion=f"late-{order.pk}", reason="Pago de un pedido caducado")


def _name_student(order: Order) -> None:
    """Give a student the name and phone of the first order that they paid with money.

    Before it, anybody may have typed the address into a cart, with words of their own for a name.
    Whoever has confirmed the address keeps what they have written. Gifts don't count: `open_access`
    has locked their recipient alone, and two gifts for one another must not wait for each other.
    """
    if order.total_cents < CARD_MINIMUM_CENTS:
        return
    is_gift = Exists(Gift.objects.filter(order=order))
    with_money = Order.objects.money_was_paid().filter(gift=None).exclude(pk=order.pk)
    name_unconfirmed(
        order.student,
        unless=Q(is_gift) | Q(Exists(with_money.filter(student=OuterRef("pk")))),
        phone=order.phone,
        first_name=order.first_name,
        last_name=order.last_name,
    )


def _settle_conditions(order: Order, code: Standing | None, *, is_free: bool, actor: str) -> bool:
    """Use the order's promo code and quote, and flag what no longer holds of its price.

    False if the use of the promo code was already released. A misused friend code or a quote that
    another order has used explains a changed price, so the change is not flagged a second time.
    """
    changes = [] if is_free else changes_since_placed(order, code)
    code_used = promo_uses.use(order, code)
    if not code_used:
        reason = "Pagado con un código cuya reserva ya se había liberado"
        flag(order, kind=EventKind.CODE_USE_RELEASED, actor=actor, reason=reason)
    misuse = code.misuse if code is not None and code_used else ""
    if misuse:
        reason = f"Descuento del código de amigo {order.promo_code} sin derecho a él: {misuse}"
        flag(order, kind=EventKind.FRIEND_CODE_MISUSED, actor=actor, reason=reason)
        alert_staff(order, occasion=f"friend-code-{order.pk}", reason=reason)
    quote_used = binding_quotes.use(order)
    if not quote_used:
        reason = f"El presupuesto n.º {order.quote_number} ya se había usado en otro pedido"
        flag(order, kind=EventKind.QUOTE_ALREADY_USED, actor=actor, reason=reason)
        alert_staff(order, occasion=f"quote-twice-{order.pk}", reason=reason)
    if changes and quote_used and not misuse:
        reason = f"Pagado con condiciones que ya habían cambiado: {'; '.join(changes)}"
        flag(order, kind=EventKind.OFFER_CHANGED, actor=actor, reason=reason)
        alert_staff(order, occasion=f"offer-changed-{order.pk}", reason=reason)
    return code_used


def _flag_if_bought_twice(order: Order, *, actor: str) -> None:
    """Flag an order that gave its student something they had, and tell the student what to do.

    Two carts may have been paid at the same moment, in two tabs. Opening the access has locked the
    student, so that the second of them sees the first.
    """
    names = names_bought_twice(order)
    if not names:
        return
    reason = f"Comprado dos veces: {', '.join(names)}"
    flag(order, kind=EventKind.BOUGHT_TWICE, actor=actor, reason=reason)
    queue_mail(
        key=f"bought-twice:{order.pk}",
        template="bought_twice",
        to=order.email,
        context={"order_id": order.pk},
    )


def _row_of(payment: ConfirmedPayment) -> Payment | None:
    """The stored payment, locked, or None. It may still have its session's id as reference."""
    names = (payment.reference, payment.session)
    rows = Payment.objects.select_for_update(no_key=True).filter(reference__in=names).order_by("pk")
    by_name = {row.reference: row for row in rows}
    return by_name.get(payment.reference) or by_name.get(payment.session)


@transaction.atomic
def complete_free(*, order_id: int, revision: int, actor: str) -> str:
    """Complete an order with nothing to pay and return the reference of its payment.

    A repeated call returns the same reference. Returns "" if the order was changed after
    `revision`, or if another cart has taken its code over: it may cost something now.
    """
    order = locked_order(order_id)
    if order.status in EVER_PAID:
        # Two identical requests arrived at once. A second payment of 0 € would be flagged.
        return order.stripe_payment_intent_id
    if order.revision != revision:
        return ""
    if order.promo_code is not None:
        if order.promo_code.is_referral_code:
            # In the order in which a checkout locks them.
            lock_buyer(email=order.email, phone=order.phone, order=order)
        promo_uses.lock(order.promo_code)
        if promo_uses.has_lost_code(order):
            return ""
    reference = f"free_{secrets.token_hex(16)}"
    payment = ConfirmedPayment(reference, amount_cents=0, kind=PaymentKind.FREE)
    mark_paid(order_id=order_id, payment=payment, actor=actor)
    return reference
