"""Instalments that the student pays by hand on `/plazos` (docs/rules.md, "Instalments")."""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from apps.core.errors import Conflict
from apps.core.money import to_cents, to_euros
from apps.core.monitoring.purchase_log import log_step
from apps.orders.errors import AlreadyPaid, OpenPaymentInTheWay, PaymentInProgress
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.plan_end import takes_instalments
from apps.orders.ledger.refused_cards import refuse_while_locked
from apps.orders.models import InstalmentAttempt, Order, Payment
from apps.orders.models.statuses import ATTEMPT_UNSETTLED, INSTALMENT_SETTLED
from apps.orders.plan.attempts import charge_key, new_attempt, refuse_while_charging


class PlanChanged(Conflict):
    code = "plan_changed"
    message = "Ese plazo ya está pagado. Mira cómo quedan tus plazos."


@dataclass(frozen=True)
class ByHand:
    """A payment of one or several instalments that the student makes by hand.

    `open_payment` is set if the student has opened the same payment before. Otherwise `attempt` and
    `idempotency_key` belong to the attempt that was just recorded. `keep_card` is true if
    instalments remain afterwards, which will be charged to the card of this payment.
    """

    order: Order
    numbers: tuple[int, ...]
    amount_cents: int
    keep_card: bool
    attempt: int = 0
    idempotency_key: str = ""
    open_payment: Payment | None = None


@transaction.atomic
def begin_by_hand(*, order_id: int, first: int, everything: bool) -> ByHand:
    """Begin a payment by hand of instalment `first`, or of it and all later ones (`everything`).

    Returns the open payment of the same instalments if there is one. Otherwise records an attempt.
    Raises:
    - PlanChanged if `first` is not the next unpaid instalment. It may have been charged since the
      student loaded the page.
    - OpenPaymentInTheWay if the caller has to cancel a payment of other instalments first.
    - PaymentInProgress while a charge or a payment of the order is being processed.
    - AlreadyPaid if the order has no unpaid instalments.
    - TooManyRequests while refused cards lock the order.
    """
    order = locked_order(order_id)
    unpaid = list(order.instalments.exclude(status__in=INSTALMENT_SETTLED).order_by("number"))
    if not takes_instalments(order) or not unpaid:
        raise AlreadyPaid("Este pedido no tiene plazos pendientes.")
    refuse_while_locked(order)
    refuse_while_charging(order)
    if unpaid[0].number != first:
        raise PlanChanged
    instalments = unpaid if everything else unpaid[:1]
    numbers = tuple(instalment.number for instalment in instalments)
    cents = sum(instalment.amount_cents for instalment in instalments)
    by_hand = ByHand(order, numbers, cents, keep_card=len(instalments) < len(unpaid))
    open_payment = order.payments.open().first()
    if open_payment is not None:
        if open_payment.status == Payment.Status.PROCESSING:
            raise PaymentInProgress(payment_intent_id=open_payment.reference)
        covers = tuple(open_payment.instalments.order_by("number").values_list("number", flat=True))
        if covers != numbers or to_cents(open_payment.amount) != cents:
            raise OpenPaymentInTheWay(open_payment)
        return ByHand(order, numbers, cents, keep_card=by_hand.keep_card, open_payment=open_payment)
    # The answers to these attempts were lost. Nobody can confirm their payments: the browser never
    # received the client secrets.
    InstalmentAttempt.objects.filter(
        instalment__order=order,
        kind=InstalmentAttempt.Kind.BY_HAND,
        outcome=InstalmentAttempt.Outcome.STARTED,
    ).update(outcome=InstalmentAttempt.Outcome.VOID, finished_at=timezone.now())
    attempt = new_attempt(instalments[0], InstalmentAttempt.Kind.BY_HAND, cents=cents)
    return ByHand(
        order,
        numbers,
        cents,
        keep_card=by_hand.keep_card,
        attempt=attempt.number,
        idempotency_key=charge_key(order, instalments[0].number, attempt.number),
    )


@transaction.atomic
def store_opened_payment(by_hand: ByHand, *, reference: str) -> bool:
    """Store a payment that was just opened at the provider as the order's one open payment.

    Returns False if the order changed since `begin_by_hand`. Then the caller cancels the payment at
    the provider. That is safe: no browser has received its client secret.
    """
    order = locked_order(by_hand.order.pk)
    instalments = order.instalments.filter(number__in=by_hand.numbers)
    charging = InstalmentAttempt.objects.filter(
        instalment__order=order,
        kind=InstalmentAttempt.Kind.AUTOMATIC,
        outcome__in=ATTEMPT_UNSETTLED,
    )
    if (
        not takes_instalments(order)
        or instalments.filter(status__in=INSTALMENT_SETTLED).exists()
        or order.payments.open().exists()
        or charging.exists()
    ):
        return False
    payment = Payment.objects.create(
        order=order,
        reference=reference,
        amount=to_euros(by_hand.amount_cents),
        status=Payment.Status.OPEN,
    )
    log_step(order.pk, "payment_opened", reference)
    payment.instalments.set(instalments)
    InstalmentAttempt.objects.filter(
        instalment__order=order,
        instalment__number=min(by_hand.numbers),
        number=by_hand.attempt,
    ).update(outcome=InstalmentAttempt.Outcome.OPEN, reference=reference)
    return True
