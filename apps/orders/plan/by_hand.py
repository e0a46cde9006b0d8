"""Instalments that the student pays themselves."""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from apps.core.errors import Conflict
from apps.core.money import to_cents, to_euros
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
    """A payment that the student makes themselves, of one or several instalments."""

    order: Order
    numbers: tuple[int, ...]
    amount_cents: int
    keep_card: bool
    attempt: int = 0
    idempotency_key: str = ""
    open_payment: Payment | None = None


@transaction.atomic
def begin_by_hand(*, order_id: int, first: int, everything: bool) -> ByHand:
    """What the student wants to pay now: instalment `first`, the next one, or it and all the rest.

    An open payment of the very same is given back (`open_payment`); else the try is recorded.
    Raises PlanChanged where another is next: `first` may have been charged since they looked,
    OpenPaymentInTheWay where another has to be canceled first, PaymentInProgress while a charge is
    under way, AlreadyPaid where nothing is left, TooManyRequests after too many refused cards.
    """
    order = locked_order(order_id)
    unpaid = list(order.instalments.exclude(status__in=INSTALMENT_SETTLED).order_by("number"))
    if not takes_instalments(order) or not unpaid:
        raise AlreadyPaid("Este pedido no tiene plazos pendientes.")
    refuse_while_locked(order)
    refuse_while_charging(order)
    if unpaid[0].number != first:
        raise PlanChanged
    wanted = unpaid if everything else unpaid[:1]
    numbers = tuple(instalment.number for instalment in wanted)
    cents = sum(instalment.amount_cents for instalment in wanted)
    by_hand = ByHand(order, numbers, cents, keep_card=len(wanted) < len(unpaid))
    open_payment = order.payments.open().first()
    if open_payment is not None:
        if open_payment.status == Payment.Status.PROCESSING:
            raise PaymentInProgress(payment_intent_id=open_payment.reference)
        covers = tuple(open_payment.instalments.order_by("number").values_list("number", flat=True))
        if covers != numbers or to_cents(open_payment.amount) != cents:
            raise OpenPaymentInTheWay(open_payment)
        return ByHand(order, numbers, cents, keep_card=by_hand.keep_card, open_payment=open_payment)
    # A try whose answer was lost opened nothing that anybody could confirm.
    InstalmentAttempt.objects.filter(
        instalment__order=order,
        kind=InstalmentAttempt.Kind.BY_HAND,
        outcome=InstalmentAttempt.Outcome.STARTED,
    ).update(outcome=InstalmentAttempt.Outcome.VOID, finished_at=timezone.now())
    attempt = new_attempt(wanted[0], InstalmentAttempt.Kind.BY_HAND, cents=cents)
    return ByHand(
        order,
        numbers,
        cents,
        keep_card=by_hand.keep_card,
        attempt=attempt.number,
        idempotency_key=charge_key(order, wanted[0].number, attempt.number),
    )


@transaction.atomic
def keep_by_hand(by_hand: ByHand, *, reference: str) -> bool:
    """Keep a payment that was just opened as the order's one open payment.

    False where something was faster; then the caller cancels it: nobody has its secret.
    """
    order = locked_order(by_hand.order.pk)
    wanted = order.instalments.filter(number__in=by_hand.numbers)
    charging = InstalmentAttempt.objects.filter(
        instalment__order=order,
        kind=InstalmentAttempt.Kind.AUTOMATIC,
        outcome__in=ATTEMPT_UNSETTLED,
    )
    if (
        not takes_instalments(order)
        or wanted.filter(status__in=INSTALMENT_SETTLED).exists()
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
    payment.instalments.set(wanted)
    InstalmentAttempt.objects.filter(
        instalment__order=order,
        instalment__number=min(by_hand.numbers),
        number=by_hand.attempt,
    ).update(outcome=InstalmentAttempt.Outcome.OPEN, reference=reference)
    return True
