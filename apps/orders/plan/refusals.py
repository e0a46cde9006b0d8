"""Declined automatic charges: their retries, and when the order becomes overdue."""

from datetime import timedelta

from django.db import transaction

from apps.classroom.access import Cause, pause_access
from apps.core.dates import today
from apps.core.mail.outbox import queue_mail
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.states import change_status
from apps.orders.models import Instalment, InstalmentAttempt, Order, Payment
from apps.orders.models.statuses import ATTEMPT_UNSETTLED, CARD_UNUSABLE, EventKind, RefusalKind
from apps.orders.plan.attempts import finish_attempt

# Days after the first decline on which a charge is retried (docs/rules.md, "Instalments").
RETRY_DAYS = (3, 5, 7)


@transaction.atomic
def record_refusal(
    *,
    order_id: int,
    number: int,
    attempt: int,
    reference: str,
    refusal: RefusalKind,
    code: str,
    actor: str,
) -> bool:
    """Record a declined automatic charge and schedule the retry. False if already recorded.

    `code` is the provider's own decline code, kept for staff. Retries follow 3, 5 and 7 days after
    the first decline. A card that can't be charged any more is not retried, but the student is
    mailed on these days. After the last one the order is overdue (docs/rules.md, "Instalments").
    """
    order = locked_order(order_id)
    row = (
        InstalmentAttempt.objects.select_for_update(no_key=True, of=("self",))
        .select_related("instalment")
        .filter(
            instalment__order=order,
            instalment__number=number,
            number=attempt,
            kind=InstalmentAttempt.Kind.AUTOMATIC,
            outcome__in=ATTEMPT_UNSETTLED,
        )
        .first()
    )
    if row is None:
        return False
    row.reference = reference
    row.refusal = refusal
    finish_attempt(row, InstalmentAttempt.Outcome.REFUSED, code=code)
    Payment.objects.open().filter(reference=reference).update(status=Payment.Status.CANCELED)
    note(
        order,
        kind=EventKind.CHARGE_REFUSED,
        actor=actor,
        reason=f"Plazo {number} rechazado: {code} ({reference or '–'})"[:300],
    )
    if order.card_reference == row.payment_method and refusal in CARD_UNUSABLE:
        order.card_refusal = refusal
        order.save(update_fields=["card_refusal", "updated_at"])
    row.instalment.order = order
    if row.instalment.status == Instalment.Status.DUE:
        schedule_retry(row.instalment, refusal=refusal, occasion=f"{row.pk}")
    return True


def schedule_retry(instalment: Instalment, *, refusal: str, occasion: str) -> None:
    """Set the day of the next attempt and mail the student. After the last the order is overdue.

    `occasion` identifies the decline in the key of the mail; today's date is used if it is empty.
    """
    order, now = instalment.order, today()
    instalment.first_refused_on = instalment.first_refused_on or now
    days = (instalment.first_refused_on + timedelta(days=days) for days in RETRY_DAYS)
    instalment.charge_on = next((day for day in days if day > now), None)
    instalment.leased_until = None
    if instalment.charge_on is None:
        instalment.status = Instalment.Status.FAILED
    instalment.save()
    queue_mail(
        key=f"instalment-unpaid:{instalment.pk}:{occasion or now}",
        template="instalment_unpaid",
        to=order.email,
        context={
            "instalment_id": instalment.pk,
            "order_id": order.pk,
            "refusal": refusal,
            "again_on": instalment.charge_on.isoformat() if instalment.charge_on else "",
            "same_card": not order.card_refusal,
        },
    )
    if instalment.charge_on is None and order.status == Order.Status.PAYING:
        change_status(
            order,
            Order.Status.OVERDUE,
            kind=EventKind.OVERDUE,
            actor="sistema",
            reason=f"Plazo {instalment.number} sin pagar tras el último intento",
        )
        pause_access(order_id=order.pk, cause=Cause.OVERDUE)
        alert_staff(
            order,
            occasion=f"overdue-{instalment.pk}",
            reason=f"Plazo {instalment.number} sin pagar: acceso en pausa",
        )
