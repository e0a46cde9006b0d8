"""Automatic charges of due instalments (docs/rules.md, "Instalments").

A runner takes a lease on an instalment, records an attempt and only then calls the provider
(docs/decisions/0017-instalment-attempts-with-leases.md).
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, QuerySet
from django.utils import timezone

from apps.core.dates import midnight, today
from apps.core.retries import unleased
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.plan_end import takes_instalments, unanswered_ends
from apps.orders.models import Instalment, InstalmentAttempt, Order, Payment
from apps.orders.models.statuses import (
    ATTEMPT_UNSETTLED,
    INSTALMENT_SETTLED,
    PLAN_RUNNING,
    EventKind,
    RefusalKind,
)
from apps.orders.plan.attempts import charge_key, finish_attempt, new_attempt
from apps.orders.plan.refusals import schedule_retry

# How long a runner holds an instalment. Longer than all provider calls for one charge take.
LEASE = timedelta(minutes=5)
# How long an idempotency key is reused. The provider forgets keys after 24 hours.
KEY_LIFE = timedelta(hours=23)
# How long an automatic charge waits in all for a student who has the payment form open.
WAIT_FOR_FORM = timedelta(minutes=30)


@dataclass(frozen=True)
class Charge:
    """An automatic charge to make at the provider. Its attempt is already recorded."""

    attempt_id: int
    order_id: int
    instalment_id: int
    instalment_number: int
    number: int
    amount_cents: int
    customer: str
    payment_method: str
    idempotency_key: str


def due_instalments() -> QuerySet[Instalment]:
    """Instalments that are due for an automatic charge and not under a lease, oldest first."""
    now = timezone.now()
    return (
        Instalment.objects.filter(unleased(now, LEASE))
        .filter(
            status=Instalment.Status.DUE,
            charge_on__lte=today(),
            order__status__in=PLAN_RUNNING,
            order__disputed_at=None,
        )
        .exclude(Exists(unanswered_ends()))
        .order_by("charge_on", "order_id", "number")
    )


def claim(instalment_id: int) -> Instalment | None:
    """Take the lease on a due instalment. Returns None if it is no longer due or is under a lease.

    One conditional update decides between concurrent runners. If a runner is killed, its lease
    expires after 5 minutes.
    """
    lease = timezone.now() + LEASE
    if not due_instalments().filter(pk=instalment_id).update(leased_until=lease):
        return None
    return Instalment.objects.select_related("order").get(pk=instalment_id)


def release(instalment: Instalment) -> None:
    """Give up the lease. Does nothing if it expired and another runner has taken a new one."""
    Instalment.objects.filter(pk=instalment.pk, leased_until=instalment.leased_until).update(
        leased_until=None
    )


def is_being_paid(instalment: Instalment) -> bool:
    """Whether the student opened the payment form of the plan less than 30 minutes ago.

    They may be confirming the payment with their bank. The automatic charge waits, so that the
    instalment is not paid twice. The half-hour counts from the first form of the day of the charge:
    whoever opens it anew again and again delays the charge no longer. A payment that is open then
    is canceled before the charge.
    """
    order, since = instalment.order, timezone.now() - WAIT_FOR_FORM
    if not order.payments.filter(status=Payment.Status.OPEN, created_at__gt=since).exists():
        return False
    forms = InstalmentAttempt.objects.filter(
        instalment__order=order,
        kind=InstalmentAttempt.Kind.BY_HAND,
        started_at__gte=midnight(instalment.charge_on or today()) - WAIT_FOR_FORM,
        started_at__lte=since,
    )
    return not forms.exclude(instalment__status__in=INSTALMENT_SETTLED).exists()


@transaction.atomic
def begin_charge(claimed: Instalment) -> Charge | None:
    """Record the attempt that the caller is about to make. Returns None if no charge is due now.

    `claimed` is an instalment under the caller's lease. The caller has just looked its earlier
    payments up at the provider. If the last attempt has no payment there and began less than 23
    hours ago, it is repeated under its idempotency key. An older one is marked as void, and a new
    attempt is recorded.
    """
    order = locked_order(claimed.order_id)
    instalment = Instalment.objects.select_for_update(no_key=True).get(pk=claimed.pk)
    if instalment.leased_until != claimed.leased_until:
        return None
    instalment.order = order
    attempts = InstalmentAttempt.objects.filter(
        instalment__order=order,
        kind=InstalmentAttempt.Kind.AUTOMATIC,
        outcome__in=ATTEMPT_UNSETTLED,
    )
    own = attempts.filter(instalment=instalment, outcome=InstalmentAttempt.Outcome.STARTED).first()
    if own is not None and own.started_at <= timezone.now() - KEY_LIFE:
        finish_attempt(own, InstalmentAttempt.Outcome.VOID)
        own = None
    if (
        instalment.status != Instalment.Status.DUE
        or instalment.charge_on is None
        or instalment.charge_on > today()
        or not takes_instalments(order)
        or order.disputed_at is not None
        or order.payments.open().exists()
        or attempts.exclude(pk=own.pk if own else 0).exists()
    ):
        release(claimed)
        return None
    if own is None:
        if not order.card_reference or order.card_refusal:
            schedule_retry(
                instalment, refusal=order.card_refusal or RefusalKind.CARD_MISSING, occasion=""
            )
            return None
        own = new_attempt(
            instalment,
            InstalmentAttempt.Kind.AUTOMATIC,
            cents=instalment.amount_cents,
            payment_method=order.card_reference,
        )
    return Charge(
        attempt_id=own.pk,
        order_id=order.pk,
        instalment_id=instalment.pk,
        instalment_number=instalment.number,
        number=own.number,
        amount_cents=own.amount_cents,
        customer=order.customer_reference,
        payment_method=own.payment_method,
        idempotency_key=charge_key(order, instalment.number, own.number),
    )


@transaction.atomic
def void_charge(*, attempt_id: int, claimed: Instalment) -> None:
    """Mark an attempt as void that the provider ended without a payment. The next run retries."""
    locked_order(claimed.order_id)
    attempt = InstalmentAttempt.objects.select_for_update(no_key=True).get(pk=attempt_id)
    if attempt.outcome == InstalmentAttempt.Outcome.STARTED:
        finish_attempt(attempt, InstalmentAttempt.Outcome.VOID)
    release(claimed)


def card_can_be_charged(order: Order) -> bool:
    """Whether an automatic charge of the order's card is possible at all."""
    return (
        takes_instalments(order)
        and order.disputed_at is None
        and bool(order.card_reference)
        and not order.card_refusal
    )


@transaction.atomic
def charge_again(*, instalment_id: int, actor: str) -> bool:
    """Let the next run charge an unpaid instalment again. Staff ask for this in the admin.

    Returns False, and changes nothing, if the instalment is paid or canceled, if its due date has
    not come, if the order is disputed or takes no instalments, or if its card can't be charged or
    was refused today.
    """
    instalment = Instalment.objects.get(pk=instalment_id)
    order = locked_order(instalment.order_id)
    instalment = Instalment.objects.select_for_update(no_key=True).get(pk=instalment_id)
    if (
        not card_can_be_charged(order)
        or instalment.status in INSTALMENT_SETTLED
        or instalment.due_on > today()
        or _is_refused_today(instalment, order)
    ):
        return False
    instalment.status = Instalment.Status.DUE
    instalment.charge_on = today()
    instalment.save(update_fields=["status", "charge_on"])
    note(
        order,
        kind=EventKind.CHARGE_AGAIN,
        actor=actor,
        reason=f"Cobrar otra vez el plazo {instalment.number}",
    )
    return True


def _is_refused_today(instalment: Instalment, order: Order) -> bool:
    """Whether the order's card has been refused today: each refusal counts against the shop."""
    return instalment.attempts.filter(
        outcome=InstalmentAttempt.Outcome.REFUSED,
        payment_method=order.card_reference,
        started_at__gte=midnight(today()),
    ).exists()
