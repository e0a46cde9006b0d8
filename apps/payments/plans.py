"""What the provider says of a payment of instalments, brought to the one door in `orders`."""

from apps.orders import instalments as plans
from apps.orders import payments as door
from apps.orders.payments import ConfirmedPayment
from apps.payments.stripe_gateway import ProviderPayment


def report_instalments(
    payment: ProviderPayment, confirmed: ConfirmedPayment, *, actor: str
) -> None:
    """Record how a payment of instalments stands: from browser, webhook, reconciliation or charge.

    Safe to repeat and in any order. The caller has looked that the order exists.
    """
    order_id = payment.order_id or 0
    numbers, attempt, reference = payment.instalments, payment.attempt, payment.reference
    if payment.status == "succeeded":
        plans.mark_instalments_paid(
            order_id=order_id, numbers=numbers, attempt=attempt, payment=confirmed, actor=actor
        )
    elif payment.status == "processing":
        plans.mark_processing(
            order_id=order_id,
            numbers=numbers,
            attempt=attempt,
            reference=reference,
            amount_cents=payment.amount_cents,
        )
    elif payment.refusal_code and plans.record_refusal(
        order_id=order_id,
        number=numbers[0],
        attempt=attempt,
        reference=reference,
        code=payment.refusal_code,
        actor=actor,
    ):
        # An automatic charge. What the student confirms themselves stays open for another card.
        return
    elif payment.status == "canceled":
        plans.mark_canceled(
            order_id=order_id, numbers=numbers, attempt=attempt, reference=reference
        )
    else:
        door.mark_open_again(order_id=order_id, reference=reference)
