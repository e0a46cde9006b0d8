"""Asks Stripe about payments that no event reported (docs/rules.md, "Open payments")."""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import TypeVar

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.core.errors import AcademyError
from apps.orders.checkout.by_transfer import ARRIVES_WITHIN
from apps.orders.errors import AlreadyPaid, PaymentInProgress
from apps.orders.ledger.plan_end import takes_no_payments
from apps.orders.models import (
    CART_LIFE,
    InstalmentAttempt,
    Order,
    Payment,
    PromoUse,
    StaffOrder,
)
from apps.orders.models.staff_order import TRANSFER_LIFE
from apps.orders.models.statuses import UNPAID
from apps.orders.offer.again import changes_since_placed
from apps.orders.plan.charging import LEASE
from apps.orders.promo import uses as promo_uses
from apps.orders.settlement.open_payments import expire, release_reservation
from apps.payments.audit.charges_without_order import (
    RECORDING_TIME,
    find_unrecorded_charges,
    report_charges_without_order,
)
from apps.payments.card_testing import HOUR, count_refused_cards
from apps.payments.checkout.closing import cancel_open_payment, stop_card_testing
from apps.payments.events.handlers import handle, record_failure
from apps.payments.models import ProviderEvent
from apps.payments.report import report
from apps.payments.stripe.client import ProviderBusy
from apps.payments.stripe.failed_charges import refusals_since
from apps.payments.stripe.intents import cancel_payment, list_payments, retrieve_payment
from apps.payments.stripe.transport import stripe_time_limit

logger = logging.getLogger(__name__)
Row = TypeVar("Row", Payment, Order)

# How long a promo use stays reserved for an open payment (docs/rules.md, "Promo codes").
RESERVATION = timedelta(minutes=30)
# The worker processes an event within seconds. An older unprocessed one has lost its task.
LOST_EVENT_AFTER = timedelta(minutes=2)
# An event that meets an unforeseen error is repeated for so long: until a new release mends it.
EVENT_REPEATED_FOR = timedelta(days=7)
# Refused cards lock an order, a buyer or a visitor for an hour.
REFUSALS_COUNT_FOR = timedelta(seconds=HOUR)
# Each cart takes one call to Stripe. All carts of a month would take longer than the 5 minutes
# between two runs, so most runs look at recent ones only.
RECENT = timedelta(hours=24)


@dataclass
class ReconcileCounts:
    """The counts of one run."""

    events: int = 0
    payments: int = 0
    released: int = 0
    expired: int = 0
    without_order: int = 0
    problems: int = 0
    errors: int = 0
    postponed: int = 0

    def summary(self) -> str:
        """The counts as Spanish sentences. Empty if nothing was done."""
        if not any(astuple(self)):
            return ""
        sentences = (
            f"Eventos tratados: {self.events}. Pagos aclarados: {self.payments}. "
            f"Reservas liberadas: {self.released}. Carritos caducados: {self.expired}."
        )
        if self.without_order:
            sentences += f" Cobros sin pedido, avisados por correo: {self.without_order}."
        if self.problems:
            sentences += f" Sin respuesta, se repetirán la próxima vez: {self.problems}."
        if self.errors:
            sentences += f" Con un error inesperado, que está en el registro: {self.errors}."
        if self.postponed:
            sentences += f" Sin tiempo, quedan para la próxima vez: {self.postponed}."
        return sentences


class TimeShare:
    """The time limit of one part of a run. The part also ends if Stripe does not answer."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = monotonic() + seconds

    def seconds_left(self) -> float:
        return self._ends_at - monotonic()

    def is_over(self) -> bool:
        return self.seconds_left() <= 0

    def count_problem(self, error: AcademyError, findings: ReconcileCounts) -> None:
        findings.problems += 1
        if isinstance(error, ProviderBusy):
            self._ends_at = monotonic()


def reconcile(
    *,
    recent_only: bool = False,
    seconds: float = math.inf,
    recording_time: timedelta = RECORDING_TIME,
) -> ReconcileCounts:
    """Bring the shop's orders up to date with Stripe. Safe to run any time, also in parallel.

    With `recent_only` Stripe is asked only about orders and payments that changed in the last day.
    The run stops after `seconds`. The next one begins with the rows that were checked longest ago.
    Charges without an order are reported once they are older than `recording_time`.
    """
    findings = ReconcileCounts()
    ends_at = monotonic() + seconds
    since = timezone.now() - (RECENT if recent_only else CART_LIFE)

    def share(parts_left: int) -> TimeShare:
        return TimeShare((ends_at - monotonic()) / parts_left)

    _refused_cards(findings, share(5))
    _overdue_events(findings, share(4))
    _open_payments(findings, share(3), since if recent_only else None)
    _lost_answers(findings, share(2), since)
    _stale_reservations(findings, share(1))
    _old_carts(findings)
    _charges_without_order(findings, since, recording_time)
    return findings


def _refused_cards(findings: ReconcileCounts, share: TimeShare) -> None:
    """Count the refused cards that no event has reported. Older ones count for no limit."""
    try:
        # Pages of a list, and canceled payments: as many calls as cards were refused.
        with stripe_time_limit(share.seconds_left()):
            refusals = refusals_since(timezone.now() - REFUSALS_COUNT_FOR)
            orders = count_refused_cards(refusals, actor="reconciliación")
            for position, order in enumerate(orders):
                if share.is_over():
                    findings.postponed += len(orders) - position
                    return
                stop_card_testing(order)
    except AcademyError:
        findings.problems += 1


def _in_turn(rows: QuerySet[Row], share: TimeShare, findings: ReconcileCounts) -> Iterator[Row]:
    """These payments or orders, least recently checked first, until the time limit is reached."""
    waiting = list(rows.order_by(F("checked_at").asc(nulls_first=True), "pk"))
    for position, row in enumerate(waiting):
        if share.is_over():
            findings.postponed += len(waiting) - position
            return
        # Not `save()`: it would change an order's `updated_at`.
        type(row)._default_manager.filter(pk=row.pk).update(checked_at=timezone.now())
        yield row


def _overdue_events(findings: ReconcileCounts, share: TimeShare) -> None:
    now = timezone.now()
    overdue = ProviderEvent.objects.filter(
        processed_at__isnull=True, received_at__lt=now - LOST_EVENT_AFTER
    )
    waiting = list(overdue.order_by("attempts", "received_at"))
    for position, event in enumerate(waiting):
        if share.is_over():
            findings.postponed += len(waiting) - position
            return
        try:
            handle(event)
            findings.events += 1
        except AcademyError as error:
            share.count_problem(error, findings)
        # An unforeseen error with one event must not keep the payments from being checked.
        except Exception as error:
            logger.exception("event %s could not be acted on", event.event_id)
            findings.errors += 1
            record_failure(event, error, is_last=event.received_at < now - EVENT_REPEATED_FOR)


def _open_payments(findings: ReconcileCounts, share: TimeShare, since: datetime | None) -> None:
    """Record the state of each open payment. Cancel those that must not be paid any more."""
    rows = Payment.objects.open().select_related("order")
    if since is not None:
        rows = rows.filter(Q(created_at__gt=since) | Q(order__updated_at__gt=since))
    for row in _in_turn(rows, share, findings):
        try:
            payment = retrieve_payment(row)
            report(payment, actor="reconciliación")
            findings.payments += payment.status != "open"
            order = row.order
            if payment.status != "open" or order is None:
                continue
            if _is_over(order, is_hosted=payment.is_hosted) or _is_outdated(row, order):
                findings.released += _cancel_quietly(row)
        except AcademyError as error:
            share.count_problem(error, findings)
        # An unforeseen error with one payment or order must not keep the others from being checked.
        except Exception:
            logger.exception("payment %s could not be checked", row.reference)
            findings.errors += 1


def _is_outdated(row: Payment, order: Order) -> bool:
    """Whether an open payment has timed out, or the order would be placed differently now."""
    if row.is_past_its_time or promo_uses.has_lost_code(order):
        return True
    return order.status in UNPAID and bool(changes_since_placed(order))


def _is_over(order: Order, *, is_hosted: bool) -> bool:
    now = timezone.now()
    # A hosted page expires by itself after 31 minutes, which releases the reservation.
    stale = (
        not is_hosted
        and order.promo_uses.filter(
            status=PromoUse.Status.RESERVED, reserved_at__lt=now - RESERVATION
        ).exists()
    )
    is_cart = order.status in (Order.Status.CART, Order.Status.EXPIRED)
    is_expired = is_cart and order.created_at + CART_LIFE < now
    return stale or order.is_locked or takes_no_payments(order) or is_expired


def _cancel_quietly(row: Payment) -> bool:
    """Cancel a payment. False if it was confirmed in the meantime, which is then recorded."""
    try:
        cancel_open_payment(row)
    except (AlreadyPaid, PaymentInProgress):
        return False
    return True


def _lost_answers(findings: ReconcileCounts, share: TimeShare, since: datetime) -> None:
    """Record payments whose answer was lost, by listing the payments of the order's customer."""
    unpaid = Q(status__in=(Order.Status.CART, Order.Status.EXPIRED), updated_at__gt=since)
    # The job that charges instalments looks up its own lost answers, except for orders that were
    # refunded or disputed since, because it charges nothing there.
    charging = InstalmentAttempt.objects.filter(
        instalment__order=OuterRef("pk"),
        kind=InstalmentAttempt.Kind.AUTOMATIC,
        outcome=InstalmentAttempt.Outcome.STARTED,
        started_at__range=(since, timezone.now() - LEASE),
    )
    orders = Order.objects.filter(unpaid | Exists(charging)).exclude(customer_reference="")
    for order in _in_turn(orders, share, findings):
        known = set(order.payments.values_list("reference", flat=True))
        try:
            for payment in list_payments(order.customer_reference):
                if payment.reference not in known and payment.status == "succeeded":
                    report(payment, actor="reconciliación")
                    findings.payments += 1
        except AcademyError as error:
            share.count_problem(error, findings)
        except Exception:
            logger.exception("the payments of order %s could not be checked", order.pk)
            findings.errors += 1


@contextmanager
def _counted_error(findings: ReconcileCounts, order_id: int) -> Iterator[None]:
    """Keep an unforeseen error of one order from the others."""
    try:
        yield
    except Exception:
        logger.exception("order %s could not be changed", order_id)
        findings.errors += 1


def _stale_reservations(findings: ReconcileCounts, share: TimeShare) -> None:
    """Release promo uses that were reserved more than 30 minutes ago and have no open payment."""
    stale = Order.objects.filter(
        ~Q(payments__status__in=(Payment.Status.OPEN, Payment.Status.PROCESSING)),
        # A use is kept for a transfer, until the order expires.
        Q(by_staff=None) | ~Q(by_staff__paid_by=StaffOrder.PaidBy.TRANSFER),
        promo_uses__status=PromoUse.Status.RESERVED,
        promo_uses__reserved_at__lt=timezone.now() - RESERVATION,
    ).distinct()
    for order in _in_turn(stale, share, findings):
        try:
            if order.customer_reference:
                for payment in list_payments(order.customer_reference):
                    if payment.status == "open":
                        payment = cancel_payment(payment)
                    report(payment, actor="reconciliación")
        except AcademyError as error:
            # Stripe did not answer, so a payment may still succeed: the use stays reserved.
            share.count_problem(error, findings)
            continue
        except Exception:
            logger.exception("the payments of order %s could not be checked", order.pk)
            findings.errors += 1
            continue
        with _counted_error(findings, order.pk):
            release_reservation(order_id=order.pk)
            findings.released += 1


def _charges_without_order(
    findings: ReconcileCounts, since: datetime, recording_time: timedelta
) -> None:
    """Mail staff about charges without an order. They appear after a database was restored."""
    try:
        charges = find_unrecorded_charges(since, recording_time=recording_time).without_order
    except AcademyError:
        findings.problems += 1
        return
    findings.without_order += report_charges_without_order(charges)


def _old_carts(findings: ReconcileCounts) -> None:
    """Expire carts of 30 days without open payments (docs/rules.md, "Recovery and reminders").

    A transfer that the buyer has chosen late keeps the days that the buyer was told.
    """
    chosen_lately = Q(
        by_staff__by_buyer=True,
        by_staff__created_at__gt=timezone.now() - TRANSFER_LIFE - ARRIVES_WITHIN,
    )
    old = Order.objects.filter(
        ~Q(payments__status__in=(Payment.Status.OPEN, Payment.Status.PROCESSING)),
        ~chosen_lately,
        status=Order.Status.CART,
        created_at__lt=timezone.now() - CART_LIFE,
    ).distinct()
    for order_id in old.values_list("pk", flat=True):
        with _counted_error(findings, order_id):
            findings.expired += expire(order_id=order_id)
