"""Records the state of a payment at Stripe in the order that it belongs to."""

from contextlib import suppress
from dataclasses import replace

from apps.core.errors import AcademyError
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order
from apps.orders.models.payment import Payment
from apps.orders.plan.outcomes import (
    mark_instalments_canceled,
    mark_instalments_paid,
    mark_instalments_processing,
)
from apps.orders.plan.refusals import record_refusal
from apps.orders.promo import uses as promo_uses
from apps.orders.settlement.mark_paid import mark_paid
from apps.orders.settlement.open_payments import (
    mark_canceled,
    mark_open_again,
    mark_processing,
)
from apps.orders.settlement.unmatched import keep_foreign_payment, keep_unmatched_payment
from apps.payments.card_testing import count_refused_cards, give_approvals_back
from apps.payments.stripe.declines import refusal_kind
from apps.payments.stripe.intents import ProviderPayment, cancel_payment


def order_of(payment: ProviderPayment) -> Order | None:
    """The order that a payment belongs to. None if there is none.

    The payment's metadata name the order, and the payment must be of that order's customer, or be
    stored as a payment of the order. The number alone proves nothing (docs/rules.md, "Open
    payments"): another shop on the same Stripe account has orders with the same numbers, and so has
    a restored database.
    """
    return _order_and_row(payment)[0]


def _order_and_row(payment: ProviderPayment) -> tuple[Order | None, Payment | None]:
    """The payment's order, and its row in the shop if it is stored under its own id."""
    names = (payment.reference, payment.session)
    stored = Payment.objects.filter(reference__in=names).select_related("order")
    rows = {row.reference: row for row in stored}
    row = rows.get(payment.reference)
    # An order that staff have made again has another number than its payment says.
    order = next((row.order for row in rows.values() if row.order is not None), None)
    if order is None or order.pk != payment.order_id:
        named = Order.objects.filter(pk=payment.order_id or 0).first()
        if named is not None and payment.customer and payment.customer == named.customer_reference:
            order = named
    is_of_order = row is not None and order is not None and row.order_id == order.pk
    return order, row if is_of_order else None


def _keep_unmatched(payment: ProviderPayment, confirmed: ConfirmedPayment, *, actor: str) -> None:
    order_id = payment.order_id
    if order_id is None:
        reason = "Pago que no es de esta tienda"
        keep_unmatched_payment(confirmed, reason=reason, of_other_shop=True)
    elif Order.objects.filter(pk=order_id).exists():
        keep_foreign_payment(order_id, confirmed, actor=actor)
    else:
        reason = f"Pago de la tienda sin pedido (tenía el número {order_id})"
        keep_unmatched_payment(confirmed, reason=reason)


def report(payment: ProviderPayment, *, actor: str) -> Order | None:
    """Record a payment's state. Returns its order, or None if it belongs to no order here.

    Called for the browser, the webhook and reconciliation. Safe to repeat and in any order, because
    the caller has just fetched `payment`. Takes no lock if there is nothing to record. `actor` is
    shown in the order's history.
    """
    confirmed = ConfirmedPayment(
        reference=payment.reference,
        amount_cents=payment.amount_cents,
        currency=payment.currency,
        payment_method=payment.payment_method,
        session=payment.session,
        kind=payment.kind,
        succeeded_at=payment.succeeded_at,
    )
    order, row = _order_and_row(payment)
    if order is None:
        if payment.status == "succeeded":
            _keep_unmatched(payment, confirmed, actor=actor)
        return None
    payment = replace(payment, order_id=order.pk)
    if payment.refused:
        count_refused_cards([payment.refused], actor=actor)
    if _is_recorded(row, payment):
        return order
    if payment.status == "succeeded":
        give_approvals_back(order)
    if payment.instalments:
        _report_instalments(payment, confirmed, actor=actor)
    elif payment.status == "succeeded":
        order = mark_paid(order_id=order.pk, payment=confirmed, actor=actor)
        _cancel_payments_with_friend_code(order, actor=actor)
        return order
    elif payment.status == "processing":
        mark_processing(order_id=order.pk, reference=payment.reference)
    elif payment.status == "canceled":
        mark_canceled(order_id=order.pk, reference=payment.reference, actor=actor)
    else:
        mark_open_again(order_id=order.pk, reference=payment.reference, actor=actor)
    order.refresh_from_db()
    return order


def _cancel_payments_with_friend_code(order: Order, *, actor: str) -> None:
    """Cancel open payments of the buyer's other carts with a friend code.

    Reconciliation repeats what fails here.
    """
    if order.promo_code is None or not order.promo_code.is_referral_code:
        return
    for row in promo_uses.payments_with_friend_code(order):
        with suppress(AcademyError):
            report(cancel_payment(row), actor=actor)


RECORDED_AS = {
    "open": Payment.Status.OPEN,
    "processing": Payment.Status.PROCESSING,
    "succeeded": Payment.Status.SUCCEEDED,
    "canceled": Payment.Status.CANCELED,
}


def _is_recorded(row: Payment | None, payment: ProviderPayment) -> bool:
    """Whether the shop's row already has the payment's state at Stripe.

    For a payment of instalments only a success counts: otherwise the attempt's row may be older
    than the payment's.
    """
    if payment.instalments and payment.status != "succeeded":
        return False
    if row is None:
        return payment.status == "open" and not payment.session
    return row.status == RECORDED_AS[payment.status]


def _report_instalments(
    payment: ProviderPayment, confirmed: ConfirmedPayment, *, actor: str
) -> None:
    """Record the state of a payment of instalments. Safe to repeat and in any order.

    Called for the browser, the webhook, reconciliation and automatic charges. The caller has
    checked that the order exists.
    """
    order_id = payment.order_id or 0
    numbers, attempt, reference = payment.instalments, payment.attempt, payment.reference
    if payment.status == "succeeded":
        mark_instalments_paid(
            order_id=order_id, numbers=numbers, attempt=attempt, payment=confirmed, actor=actor
        )
    elif payment.status == "processing":
        mark_instalments_processing(
            order_id=order_id,
            numbers=numbers,
            attempt=attempt,
            reference=reference,
            amount_cents=payment.amount_cents,
        )
    elif payment.refusal_code and record_refusal(
        order_id=order_id,
        number=numbers[0],
        attempt=attempt,
        reference=reference,
        refusal=refusal_kind(payment.refusal_code),
        code=payment.refusal_code,
        actor=actor,
    ):
        # A declined payment by hand stays open for another card, unlike an automatic charge.
        return
    elif payment.status == "canceled":
        mark_instalments_canceled(
            order_id=order_id, numbers=numbers, attempt=attempt, reference=reference
        )
    else:
        mark_open_again(order_id=order_id, reference=reference, actor=actor)
