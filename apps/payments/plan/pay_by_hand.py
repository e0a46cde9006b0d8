"""Opens the payment of instalments that the student pays by hand."""

from apps.core.web.throttle import Networks
from apps.orders.errors import AlreadyPaid, OpenPaymentInTheWay, PaymentInProgress
from apps.orders.plan.by_hand import begin_by_hand, store_opened_payment
from apps.payments.card_testing import refuse_card_testing
from apps.payments.checkout.closing import cancel_open_payment, close_missing_payment
from apps.payments.checkout.customers import customer_of, drop_customer
from apps.payments.checkout.start import TRIES
from apps.payments.report import report
from apps.payments.stripe import cards
from apps.payments.stripe.client import PaymentNotFound
from apps.payments.stripe.intents import ProviderPayment, cancel_payment, retrieve_payment


def start_by_hand(
    *, order_id: int, first: int, everything: bool, networks: Networks
) -> ProviderPayment:
    """Open a payment of instalment `first`, or with `everything` of all later ones too.

    The student confirms it in the browser.

    Raises the errors of `begin_by_hand` (PlanChanged, AlreadyPaid, PaymentInProgress,
    TooManyRequests) and ProviderError.
    """
    for _ in range(TRIES):
        try:
            by_hand = begin_by_hand(order_id=order_id, first=first, everything=everything)
        except OpenPaymentInTheWay as obstacle:
            cancel_open_payment(obstacle.payment)
            continue
        # The order's own lock counts the cards refused through the plan's link.
        refuse_card_testing(by_hand.order, networks=networks, buyer_is_known=True)
        if by_hand.open_payment is not None:
            try:
                payment = retrieve_payment(by_hand.open_payment)
            except PaymentNotFound:
                close_missing_payment(by_hand.open_payment)
                continue
            report(payment, actor="alumno")
        else:
            try:
                payment = cards.create_instalment_payment(
                    order_id=order_id,
                    numbers=by_hand.numbers,
                    attempt=by_hand.attempt,
                    amount_cents=by_hand.amount_cents,
                    customer=customer_of(by_hand.order),
                    email=by_hand.order.email,
                    keep_card=by_hand.keep_card,
                    idempotency_key=by_hand.idempotency_key,
                )
            except PaymentNotFound:
                drop_customer(by_hand.order)
                continue
            if not store_opened_payment(by_hand, reference=payment.reference):
                report(cancel_payment(payment), actor="alumno")
                raise PaymentInProgress
        if payment.status == "succeeded":
            raise AlreadyPaid(payment_intent_id=payment.reference)
        if payment.status == "processing":
            raise PaymentInProgress(payment_intent_id=payment.reference)
        if payment.status == "open":
            return payment
    raise PaymentInProgress
