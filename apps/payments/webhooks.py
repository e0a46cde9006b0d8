"""Stripe's webhook events: stored once when they arrive, processed by the worker.

What each kind changes: `apps/payments/events/handlers.py`.
"""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django_tasks import task

from apps.core.database import insert_new
from apps.core.errors import AcademyError
from apps.payments.card_testing import count_refused_cards
from apps.payments.events.handlers import REFUSALS_OF, handle, is_of_other_mode, object_id
from apps.payments.models import ProviderEvent
from apps.payments.stripe.events import SignedEvent
from apps.payments.stripe.transport import stripe_time_limit

# Minutes until a failed event is retried. After the last retry reconciliation takes over.
RETRY_MINUTES = (1, 5, 15, 60, 240)
# How long the request that brings an event may ask Stripe about refused cards.
COUNTING_SECONDS = 2
HIDDEN = "(oculto)"


def receive(event: SignedEvent) -> None:
    """Store an event for the worker, and count the refused card that it is about at once.

    Counting cannot wait for the worker, because card testing takes seconds. If Stripe does not
    answer in time, the worker counts the card.
    """
    list_refusals = REFUSALS_OF.get(event.kind)
    if not store(event) or list_refusals is None or is_of_other_mode(event.livemode):
        return
    with suppress(AcademyError), stripe_time_limit(COUNTING_SECONDS):
        count_refused_cards(list_refusals(object_id(event.payload)), actor="Stripe")


@transaction.atomic
def store(event: SignedEvent) -> bool:
    """Store an event and queue it for the worker. False if it was stored before."""
    row = ProviderEvent(
        event_id=event.event_id,
        kind=event.kind,
        livemode=event.livemode,
        payload=without_secrets(event.payload),
    )
    is_new = insert_new(row)
    if is_new:
        process_event.enqueue(event_row_id=row.pk)
    return is_new


# Queued rows name the task by its path, and two releases share the queue: it stays here.
@task(queue_name="provider", priority=10)
def process_event(event_row_id: int) -> None:
    """Process a stored event. If Stripe can't be reached, retry later (RETRY_MINUTES)."""
    event = ProviderEvent.objects.get(pk=event_row_id)
    try:
        handle(event)
    except AcademyError as error:
        ProviderEvent.objects.filter(pk=event.pk).update(
            attempts=F("attempts") + 1, outcome=f"Pendiente: {error.message}"[:300]
        )
        if event.attempts < len(RETRY_MINUTES):
            later = timezone.now() + timedelta(minutes=RETRY_MINUTES[event.attempts])
            process_event.using(run_after=later).enqueue(event_row_id=event.pk)


def without_secrets(value: Any) -> Any:
    """A provider's object without its client secrets, as it is stored and as staff may read it.

    With client secrets somebody could act as the buyer.
    """
    if isinstance(value, dict):
        return {
            key: HIDDEN if "secret" in key and inner else without_secrets(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(inner) for inner in value]
    return value
