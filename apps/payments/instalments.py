"""Charging instalments, and the student's own way to pay them (decisions.md, "Card payments").

The provider is asked between the transactions of `orders.instalments`, never inside one. What keeps
an instalment from being charged twice, whoever dies where: one runner holds it (`claim`); the try
is written down before the provider is asked; before each try the payments of the order's customer
are listed, so that a charge of which no answer arrived is adopted; and the try's idempotency key
makes the provider answer a repeated one as it did the first.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from django.utils import timezone

from apps.core.errors import AcademyError
from apps.orders import instalments as plans
from apps.orders.errors import AlreadyPaid, PaymentInProgress
from apps.orders.models import Instalment, InstalmentAttempt, Order
from apps.orders.payments import count_refused_card, forget_customer, keep_customer
from apps.orders.place import OpenPaymentInTheWay
from apps.payments import stripe_gateway as gateway
from apps.payments import stripe_instalments as cards
from apps.payments.checkout import TRIES, cancel, report
from apps.payments.stripe_gateway import PaymentNotFound, ProviderPayment, RememberedFailure

logger = logging.getLogger(__name__)
RUNNER = "cobro automático"
# The clock does one thing after the other: while each call runs into its time-out, the rest waits
# for the next run.
PATIENCE_SECONDS = 240


@dataclass
class Collected:
    """What one run did, in counts."""

    charged: int = 0
    refused: int = 0
    noticed: int = 0
    problems: int = 0

    def summary(self) -> str:
        """One Spanish sentence; empty where there was nothing to do."""
        if not any((self.charged, self.refused, self.noticed, self.problems)):
            return ""
        text = (
            f"Plazos cobrados: {self.charged}. Rechazados: {self.refused}. "
            f"Avisos previos: {self.noticed}."
        )
        if self.problems:
            text += f" Sin respuesta de Stripe, se repetirán: {self.problems}."
        return text


def charge_instalments() -> Collected:
    """Charge what is due and announce what will be.

    Safe to run at any time, any number of times at once, and to be killed anywhere.
    """
    done = Collected()
    began = monotonic()
    for instalment_id in list(plans.due_instalments().values_list("pk", flat=True)):
        if monotonic() - began > PATIENCE_SECONDS:
            break
        claimed = plans.claim(instalment_id)
        if claimed is None:
            continue
        try:
            _collect(claimed, done)
        except AcademyError:
            # The outcome is not known. The lease runs out, and the next run finds out first.
            done.problems += 1
        # One instalment that nobody foresaw must not keep the others from being charged.
        except Exception:
            logger.exception("instalment %s could not be charged", claimed.pk)
            done.problems += 1
    for instalment in plans.to_be_noticed():
        if monotonic() - began <= PATIENCE_SECONDS:
            with suppress(AcademyError):
                name_card(instalment.order)
        done.noticed += plans.send_notice(instalment.pk)
    return done


def _collect(claimed: Instalment, done: Collected) -> None:
    """Find out what became of earlier payments, then charge. Raises what the provider raises."""
    if plans.is_being_paid(claimed.order):
        plans.release(claimed)
        return
    refused = _settle_earlier(claimed.order)
    charge = plans.begin_charge(claimed)
    if charge is None:
        after = Instalment.objects.get(pk=claimed.pk)
        done.charged += after.status == Instalment.Status.PAID
        done.refused += refused
        return
    # A process that was asleep for a day must not use a key that is forgotten by now.
    started_at = InstalmentAttempt.objects.get(pk=charge.attempt_id).started_at
    if timezone.now() - started_at >= plans.KEY_LIFE:
        return
    try:
        payment = cards.charge_saved_card(
            order_id=charge.order_id,
            number=charge.instalment_number,
            attempt=charge.number,
            amount_cents=charge.amount_cents,
            customer=charge.customer,
            payment_method=charge.payment_method,
            idempotency_key=charge.idempotency_key,
        )
    except RememberedFailure:
        _settle_earlier(claimed.order)
        plans.void_charge(attempt_id=charge.attempt_id, claimed=claimed)
        raise
    report(payment, actor=RUNNER)
    if payment.status == "succeeded":
        done.charged += 1
    elif payment.refusal_code:
        done.refused += 1
        _close(payment)


def _settle_earlier(order: Order) -> int:
    """Record every payment of the order's customer as it stands now; close what is still open.

    Afterwards no payment of the order can succeed but one that the bank is confirming, which
    `begin_charge` sees. Returns how many refusals were news.
    """
    if not order.customer_reference:
        return 0
    refused = 0
    try:
        payments = gateway.list_payments(order.customer_reference)
    except PaymentNotFound:
        # A customer who was deleted has no card either: the charge says so, and the student hears.
        return 0
    for payment in payments:
        if payment.order_id != order.pk or not payment.instalments:
            continue
        before = _refusals(order)
        report(payment, actor=RUNNER)
        refused += _refusals(order) > before
        if payment.status == "open":
            report(gateway.cancel_payment(payment.reference), actor=RUNNER)
    return refused


def _refusals(order: Order) -> int:
    return InstalmentAttempt.objects.filter(
        instalment__order=order, outcome=InstalmentAttempt.Outcome.REFUSED
    ).count()


def _close(refused: ProviderPayment) -> None:
    """Cancel a refused charge, so that nobody confirms it later. The next run does what is left."""
    if refused.reference:
        with suppress(AcademyError):
            gateway.cancel_payment(refused.reference)


# ---------------------------------------------------------------- by hand
def start_by_hand(*, order_id: int, first: int, everything: bool) -> ProviderPayment:
    """A payment of instalment `first`, or of it and all the rest, for the student to confirm.

    Raises PlanChanged, AlreadyPaid, PaymentInProgress, TooManyRequests, ProviderError.
    """
    gone = ""
    for _ in range(TRIES):
        try:
            by_hand = plans.begin_by_hand(order_id=order_id, first=first, everything=everything)
        except OpenPaymentInTheWay as obstacle:
            cancel(obstacle.payment)
            continue
        if by_hand.existing:
            payment = gateway.retrieve_payment(by_hand.existing)
            report(payment, actor="alumno")
        else:
            try:
                payment = cards.create_instalment_payment(
                    order_id=order_id,
                    numbers=by_hand.numbers,
                    attempt=by_hand.attempt,
                    amount_cents=by_hand.amount_cents,
                    customer=_customer_of(by_hand.order, instead_of=gone),
                    email=by_hand.order.email,
                    keep_card=by_hand.keep_card,
                    idempotency_key=by_hand.idempotency_key,
                )
            except PaymentNotFound:
                gone = _forget_customer(by_hand.order)
                continue
            if not plans.keep_by_hand(by_hand, reference=payment.reference):
                report(gateway.cancel_payment(payment.reference), actor="alumno")
                raise PaymentInProgress
        if payment.status == "succeeded":
            raise AlreadyPaid(payment_intent_id=payment.reference)
        if payment.status == "processing":
            raise PaymentInProgress(payment_intent_id=payment.reference)
        if payment.status == "open":
            return payment
    raise PaymentInProgress


def _forget_customer(order: Order) -> str:
    """Deleted at the provider, and the cards too: the student pays as a new one. Who it was."""
    forget_customer(order_id=order.pk)
    gone, order.customer_reference = order.customer_reference, ""
    return gone


def _customer_of(order: Order, *, instead_of: str = "") -> str:
    if not order.customer_reference:
        order.customer_reference = keep_customer(
            order_id=order.pk,
            customer=gateway.create_customer(
                order_id=order.pk, email=order.email, instead_of=instead_of
            ),
        )
    return order.customer_reference


# ---------------------------------------------------------------- the card
def start_card_change(order: Order) -> cards.ProviderCard:
    """A setup that the student confirms with another card.

    Raises AlreadyPaid, TooManyRequests after too many refused cards, ProviderError.
    """
    if order.status not in plans.CHARGEABLE:
        raise AlreadyPaid("Este pedido no tiene plazos pendientes.")
    plans.refuse_locked(order)
    try:
        return cards.create_card_setup(order_id=order.pk, customer=_customer_of(order))
    except PaymentNotFound:
        gone = _forget_customer(order)
        customer = _customer_of(order, instead_of=gone)
        return cards.create_card_setup(order_id=order.pk, customer=customer)


def count_refused_setup(reference: str, *, event_id: str, reason: str) -> bool:
    """Count a card that a setup was refused; False where the setup is not of this shop.

    A setup takes card after card, so one that is refused for a locked order ends: the browser
    holds its secret. Raises ProviderError where the provider can't be asked.
    """
    try:
        setup = cards.retrieve_card_setup(reference)
    except PaymentNotFound:
        return False
    order = Order.objects.filter(pk=setup.order_id, customer_reference=setup.customer).first()
    if order is None or not setup.customer:
        return False
    count_refused_card(order_id=order.pk, event_id=event_id, reason=reason)
    order.refresh_from_db(fields=["locked_until"])
    if order.locked_until and order.locked_until > timezone.now():
        with suppress(AcademyError):
            cards.cancel_card_setup(reference)
    return True


def record_card(reference: str, *, actor: str, order_id: int | None = None) -> bool:
    """Take the card of a setup for the instalments to come, once; False where there is nothing new.

    From the webhook, or from the browser for that order alone; the setup is fetched afresh. Raises
    PaymentNotFound where it is not of our order.
    """
    setup = cards.retrieve_card_setup(reference)
    order = Order.objects.filter(pk=setup.order_id, customer_reference=setup.customer).first()
    if order is None or not setup.customer or order_id not in (None, order.pk):
        raise PaymentNotFound
    if not setup.saved or order.status not in plans.CHARGEABLE:
        return False
    return plans.change_card(
        order_id=order.pk,
        payment_method=setup.payment_method,
        label=cards.card_label(setup.payment_method),
        setup_reference=setup.reference,
        actor=actor,
    )


def name_card(order: Order) -> str:
    """How the order's card is called, asked of the provider once. Raises what that raises."""
    if order.card_reference and not order.card_label:
        order.card_label = cards.card_label(order.card_reference)
        plans.describe_card(
            order_id=order.pk, payment_method=order.card_reference, label=order.card_label
        )
    return order.card_label
