"""The instalments of a plan: their amounts and dates, and their cancellation."""

from collections.abc import Sequence
from datetime import timedelta

from django.utils import timezone

from apps.core.dates import today
from apps.core.money import format_euros, to_euros
from apps.orders.ledger.history import note
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Instalment, Order, Payment
from apps.orders.models.statuses import INSTALMENT_SETTLED, EventKind


def first_payment_cents(order: Order) -> int:
    """The amount in cents of the order's first payment: the total, or the first instalment."""
    if order.in_instalments:
        return order.instalment_plan.split(order.total_cents)[0]
    return order.total_cents


def start_plan(order: Order, payment: ConfirmedPayment) -> None:
    """Create the instalments of the order's plan. `payment` has paid the first of them.

    The others are charged to the card that this payment saved (docs/rules.md, "Instalments").
    """
    now, first_day = timezone.now(), today()
    plan = order.instalment_plan
    for number, cents in enumerate(plan.split(order.total_cents), start=1):
        due_on = first_day + timedelta(days=plan.days_until(number))
        instalment = Instalment.objects.create(
            order=order,
            number=number,
            amount=to_euros(cents),
            due_on=due_on,
            charge_on=None if number == 1 else due_on,
            status=Instalment.Status.PAID if number == 1 else Instalment.Status.DUE,
            paid_at=now if number == 1 else None,
        )
        if number == 1:
            instalment.payments.set(Payment.objects.filter(reference=payment.reference))
    order.card_reference = payment.payment_method
    order.save(update_fields=["card_reference", "updated_at"])


def preview_cancellation(order: Order, *, ends: bool) -> list[str]:
    """One Spanish sentence: does a refund cancel the remaining instalments? [] if none remain."""
    left = order.instalments.exclude(status__in=INSTALMENT_SETTLED).order_by("number")
    if not left:
        return []
    names = " y ".join(f"el {row.number}.º ({format_euros(row.amount_cents)})" for row in left)
    return [
        f"Se anulan los plazos que quedan: {names}."
        if ends
        else f"Los plazos que quedan se siguen cobrando: {names}."
    ]


def cancel_plan(order: Order, *, actor: str) -> None:
    """Cancel the remaining instalments. The caller holds the order's lock."""
    left = order.instalments.exclude(status__in=INSTALMENT_SETTLED)
    numbers = [str(number) for number in left.order_by("number").values_list("number", flat=True)]
    if numbers:
        left.update(status=Instalment.Status.CANCELED, charge_on=None, leased_until=None)
        note(
            order,
            kind=EventKind.PLAN_CANCELED,
            actor=actor,
            reason=f"Plazos anulados: {', '.join(numbers)}",
        )


def name_instalments(numbers: Sequence[int]) -> str:
    """The instalments as staff read them: "Plazo 2", "Plazos 2 y 3"."""
    if len(numbers) == 1:
        return f"Plazo {numbers[0]}"
    *first, last = [str(number) for number in sorted(numbers)]
    return f"Plazos {', '.join(first)} y {last}"
