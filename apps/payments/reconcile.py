"""Reconciliation: what no event told, asked of the provider (decisions.md, "Orders")."""

import logging
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from apps.core.errors import AcademyError
from apps.orders import payments as door
from apps.orders.errors import AlreadyPaid, PaymentInProgress
from apps.orders.instalments import LEASE
from apps.orders.models import CART_LIFE, InstalmentAttempt, Order, Payment, Redemption
from apps.payments import stripe_gateway as gateway
from apps.payments.checkout import cancel, report
from apps.payments.models import ProviderEvent
from apps.payments.webhooks import act_on

logger = logging.getLogger(__name__)

# A promo use is held so long for a payment that does not come (decisions.md, "Promo codes").
RESERVATION = timedelta(minutes=30)
# The worker acts on an event within seconds; what is older has been lost on the way.
EVENT_PATIENCE = timedelta(minutes=2)
# Stripe is asked cart by cart: each of a month every five minutes would take longer than that.
RECENT = timedelta(hours=24)


@dataclass
class Findings:
    """What one run did, in counts."""

    events: int = 0
    payments: int = 0
    released: int = 0
    expired: int = 0
    problems: int = 0

    def summary(self) -> str:
        """What was found as Spanish sentences; empty where there was nothing."""
        if not any(astuple(self)):
            return ""
        sentences = (
            f"Eventos tratados: {self.events}. Pagos aclarados: {self.payments}. "
            f"Reservas liberadas: {self.released}. Carritos caducados: {self.expired}."
        )
        if self.problems:
            sentences += f" Sin respuesta, se repetirán la próxima vez: {self.problems}."
        return sentences


def reconcile(*, recent_only: bool = False) -> Findings:
    """Bring orders and provider together. Safe to run at any time, any number of times at once.

    With `recent_only` the provider is asked about what the last day has touched.
    """
    findings = Findings()
    since = timezone.now() - (RECENT if recent_only else CART_LIFE)
    _overdue_events(findings)
    _open_payments(findings, since if recent_only else None)
    _lost_answers(findings, since)
    _stale_reservations(findings)
    _old_carts(findings)
    return findings


def _overdue_events(findings: Findings) -> None:
    overdue = ProviderEvent.objects.filter(
        processed_at__isnull=True, received_at__lt=timezone.now() - EVENT_PATIENCE
    )
    for event in overdue.order_by("received_at"):
        try:
            act_on(event)
            findings.events += 1
        except AcademyError:
            findings.problems += 1
        # One event that nobody foresaw must not keep the payments from being looked at.
        except Exception:
            logger.exception("event %s could not be acted on", event.event_id)
            findings.problems += 1


def _open_payments(findings: Findings, since: datetime | None) -> None:
    """Ask how each open payment stands; what should not be payable any more is canceled."""
    rows = Payment.objects.open().select_related("order")
    if since is not None:
        rows = rows.filter(Q(created_at__gt=since) | Q(order__updated_at__gt=since))
    for row in rows:
        try:
            payment = gateway.retrieve_payment(row.reference)
            report(payment, actor="reconciliación")
            findings.payments += payment.status != "open"
            order = row.order
            # A session gives its reservation back by itself: it expires after 31 minutes.
            patient = payment.is_hosted
            if payment.status == "open" and order is not None and _is_over(order, patient=patient):
                findings.released += _cancel_quietly(row)
        except AcademyError:
            findings.problems += 1


def _is_over(order: Order, *, patient: bool) -> bool:
    now = timezone.now()
    stale = (
        not patient
        and order.redemptions.filter(
            status=Redemption.Status.RESERVED, reserved_at__lt=now - RESERVATION
        ).exists()
    )
    locked = order.locked_until is not None and order.locked_until > now
    is_cart = order.status in (Order.Status.CART, Order.Status.EXPIRED)
    refunded = order.status == Order.Status.REFUNDED
    return stale or locked or refunded or (is_cart and order.created_at + CART_LIFE < now)


def _cancel_quietly(row: Payment) -> bool:
    """Cancel; False where the payment was confirmed in the meantime, which `cancel` recorded."""
    try:
        cancel(row)
    except (AlreadyPaid, PaymentInProgress):
        return False
    return True


def _lost_answers(findings: Findings, since: datetime) -> None:
    """Payments that were opened although no answer came: found by the order's customer."""
    unpaid = Q(status__in=(Order.Status.CART, Order.Status.EXPIRED), updated_at__gt=since)
    # Who charges instalments looks at those of which no answer came, but not at those of an order
    # that was refunded or disputed since: it takes no charges any more.
    charging = InstalmentAttempt.objects.filter(
        instalment__order=OuterRef("pk"),
        kind=InstalmentAttempt.Kind.AUTOMATIC,
        outcome=InstalmentAttempt.Outcome.STARTED,
        started_at__range=(since, timezone.now() - LEASE),
    )
    for order in Order.objects.filter(unpaid | Exists(charging)).exclude(customer_reference=""):
        known = set(order.payments.values_list("reference", flat=True))
        try:
            for payment in gateway.list_payments(order.customer_reference):
                if payment.reference not in known and payment.status == "succeeded":
                    report(payment, actor="reconciliación")
                    findings.payments += 1
        except AcademyError:
            findings.problems += 1


def _stale_reservations(findings: Findings) -> None:
    """Uses held for payments that were never opened, or whose order nobody came back to."""
    stale = Order.objects.filter(
        ~Q(payments__status__in=(Payment.Status.OPEN, Payment.Status.PROCESSING)),
        redemptions__status=Redemption.Status.RESERVED,
        redemptions__reserved_at__lt=timezone.now() - RESERVATION,
    ).distinct()
    for order in stale:
        try:
            if order.customer_reference:
                for payment in gateway.list_payments(order.customer_reference):
                    if payment.status == "open":
                        payment = gateway.cancel_payment(payment.reference)
                    report(payment, actor="reconciliación")
        except AcademyError:
            # Without the provider's word a payment may still succeed: the use stays reserved.
            findings.problems += 1
            continue
        door.release_reservation(order_id=order.pk)
        findings.released += 1


def _old_carts(findings: Findings) -> None:
    """Carts of more than 30 days without an open payment expire (decisions.md, "Orders")."""
    old = Order.objects.filter(
        ~Q(payments__status__in=(Payment.Status.OPEN, Payment.Status.PROCESSING)),
        status=Order.Status.CART,
        created_at__lt=timezone.now() - CART_LIFE,
    ).distinct()
    for order_id in old.values_list("pk", flat=True):
        findings.expired += door.expire(order_id=order_id)
