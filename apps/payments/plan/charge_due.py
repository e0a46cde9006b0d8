"""The scheduled job that charges instalments to saved cards (docs/rules.md, "Instalments")."""

import logging
from contextlib import suppress
from dataclasses import astuple, dataclass
from time import monotonic

from django.utils import timezone

from apps.core.errors import AcademyError
from apps.orders.models import Instalment, InstalmentAttempt, Order
from apps.orders.plan.charging import (
    KEY_LIFE,
    begin_charge,
    claim,
    due_instalments,
    is_being_paid,
    release,
    void_charge,
)
from apps.orders.plan.notices import charges_to_announce, send_notice
from apps.payments.plan.change_card import name_card
from apps.payments.report import report
from apps.payments.stripe import cards
from apps.payments.stripe.client import PaymentNotFound, ProviderBusy, SpentKey
from apps.payments.stripe.intents import ProviderPayment, cancel_payment, list_intents

logger = logging.getLogger(__name__)
RUNNER = "cobro automático"
# Jobs run one after the other. If Stripe hangs, each call takes its full time-out: then the run
# stops after this time, and the next run does the rest.
MAX_RUN_SECONDS = 240


@dataclass
class ChargeCounts:
    """The counts of one run."""

    charged: int = 0
    refused: int = 0
    noticed: int = 0
    problems: int = 0
    errors: int = 0

    def summary(self) -> str:
        """The counts as a Spanish sentence. Empty if there was nothing to do."""
        if not any(astuple(self)):
            return ""
        text = (
            f"Plazos cobrados: {self.charged}. Rechazados: {self.refused}. "
            f"Avisos previos: {self.noticed}."
        )
        if self.problems:
            text += f" Sin respuesta de Stripe, se repetirán: {self.problems}."
        if self.errors:
            text += f" Con un error inesperado, que está en el registro: {self.errors}."
        return text


def charge_instalments() -> ChargeCounts:
    """Charge the instalments that are due, and announce those that will be charged in 2 days.

    Safe to run at any time, several times in parallel, and to be killed at any point.
    """
    done = ChargeCounts()
    began = monotonic()
    for instalment_id in list(due_instalments().values_list("pk", flat=True)):
        if monotonic() - began > MAX_RUN_SECONDS:
            break
        claimed = claim(instalment_id)
        if claimed is None:
            continue
        try:
            _collect(claimed, done)
        except ProviderBusy:
            # No request was sent. The next run, in a few minutes, charges this and the others.
            release(claimed)
            done.problems += 1
            break
        except AcademyError:
            # The outcome is unknown. After the lease expires, the next run looks it up first.
            done.problems += 1
        # An unforeseen error with one instalment must not keep the others from being charged.
        except Exception:
            logger.exception("instalment %s could not be charged", claimed.pk)
            done.errors += 1
    for instalment in charges_to_announce():
        if monotonic() - began <= MAX_RUN_SECONDS:
            with suppress(AcademyError):
                name_card(instalment.order)
        done.noticed += send_notice(instalment.pk)
    return done


def _collect(claimed: Instalment, done: ChargeCounts) -> None:
    """Look up earlier payments, then charge the instalment. Raises ProviderError."""
    if is_being_paid(claimed):
        release(claimed)
        return
    refused = _settle_earlier(claimed.order)
    charge = begin_charge(claimed)
    if charge is None:
        after = Instalment.objects.get(pk=claimed.pk)
        done.charged += after.status == Instalment.Status.PAID
        done.refused += refused
        return
    # A process that was suspended for a day must not use an idempotency key that Stripe forgot.
    started_at = InstalmentAttempt.objects.get(pk=charge.attempt_id).started_at
    if timezone.now() - started_at >= KEY_LIFE:
        return
    try:
        payment = cards.charge_saved_card(
            order_id=charge.order_id,
            number=charge.instalment_number,
            attempt=charge.number,
            amount_cents=charge.amount_cents,
            customer=charge.customer,
            email=claimed.order.email,
            payment_method=charge.payment_method,
            idempotency_key=charge.idempotency_key,
        )
    except SpentKey:
        _settle_earlier(claimed.order)
        void_charge(attempt_id=charge.attempt_id, claimed=claimed)
        raise
    report(payment, actor=RUNNER)
    if payment.status == "succeeded":
        done.charged += 1
    elif payment.refusal_code:
        done.refused += 1
        _close(payment)


def _settle_earlier(order: Order) -> int:
    """Record the state of each payment of instalments at Stripe, and cancel the open ones.

    Afterwards no payment of the order can succeed, except one that the bank is confirming, which
    `begin_charge` takes into account. Returns how many declines were new.
    """
    if not order.customer_reference:
        return 0
    refused = 0
    try:
        payments = list_intents(order.customer_reference)
    except PaymentNotFound:
        # A deleted customer has no cards. The charge will be declined, and the student mailed.
        return 0
    for payment in payments:
        if payment.order_id != order.pk or not payment.instalments:
            continue
        before = _refusals(order)
        report(payment, actor=RUNNER)
        refused += _refusals(order) > before
        if payment.status == "open":
            report(cancel_payment(payment), actor=RUNNER)
    return refused


def _refusals(order: Order) -> int:
    return InstalmentAttempt.objects.filter(
        instalment__order=order, outcome=InstalmentAttempt.Outcome.REFUSED
    ).count()


def _close(refused: ProviderPayment) -> None:
    """Cancel a declined charge, so that nobody confirms it later. The next run retries."""
    if refused.reference:
        with suppress(AcademyError):
            cancel_payment(refused)
