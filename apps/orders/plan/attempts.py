"""Attempts to charge or pay an instalment (docs/rules.md, "Instalments")."""

from collections.abc import Sequence

from django.db.models import Max
from django.utils import timezone

from apps.core.money import to_euros
from apps.orders.errors import PaymentInProgress
from apps.orders.models import Instalment, InstalmentAttempt, Order
from apps.orders.models.statuses import ATTEMPT_UNSETTLED, AttemptKind, AttemptOutcome


def new_attempt(
    instalment: Instalment, kind: AttemptKind, *, cents: int, payment_method: str = ""
) -> InstalmentAttempt:
    """Record the next attempt, before the provider is called. The caller holds the order's lock."""
    last = instalment.attempts.aggregate(last=Max("number"))["last"] or 0
    return InstalmentAttempt.objects.create(
        instalment=instalment,
        number=last + 1,
        kind=kind,
        amount=to_euros(cents),
        payment_method=payment_method,
    )


def charge_key(order: Order, number: int, attempt: int) -> str:
    """The idempotency key of attempt number `attempt` of instalment `number`."""
    return f"instalment-{order.idempotency_id}-{number}-{attempt}"


def finish_attempt(attempt: InstalmentAttempt, outcome: AttemptOutcome, *, code: str = "") -> None:
    """Store the outcome of an attempt. `code` is the provider's decline code, if any."""
    attempt.outcome = outcome
    attempt.error_code = code[:60]
    attempt.finished_at = timezone.now()
    attempt.save()


def settle_attempt(
    order: Order, numbers: Sequence[int], attempt: int, reference: str
) -> InstalmentAttempt | None:
    """Mark the attempt of a succeeded payment as succeeded, and return it.

    `numbers` are the paid instalments; the attempt belongs to the first of them. Returns None if
    the shop has no such attempt.
    """
    row = (
        InstalmentAttempt.objects.select_for_update(no_key=True)
        .filter(instalment__order=order, instalment__number=min(numbers), number=attempt)
        .first()
    )
    if row is not None:
        row.reference = reference
        finish_attempt(row, InstalmentAttempt.Outcome.SUCCEEDED)
    return row


def refuse_while_charging(order: Order) -> None:
    """Raise PaymentInProgress if an automatic charge of the order may still succeed."""
    charging = InstalmentAttempt.objects.filter(
        instalment__order=order,
        kind=InstalmentAttempt.Kind.AUTOMATIC,
        outcome__in=ATTEMPT_UNSETTLED,
    )
    if charging.exists():
        raise PaymentInProgress(
            "Estamos cobrando este plazo en tu tarjeta. Vuelve a mirar dentro de unos minutos."
        )
