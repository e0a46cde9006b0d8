"""Refused cards: eight of them lock the order for an hour (docs/rules.md, "Open payments")."""

from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.core.errors import TooManyRequests
from apps.orders.ledger.history import has_event, note
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Order
from apps.orders.models.statuses import EventKind

REFUSED_CARDS_LIMIT = 8
REFUSED_CARDS_LOCK = timedelta(hours=1)


@transaction.atomic
def count_refused_card(*, order_id: int, refusal_id: str, reason: str, actor: str) -> bool:
    """Count one refused card; every eighth one locks the order. Returns False for a repetition.

    `refusal_id` is the provider's id of the refusal. It counts once, even if webhook, worker and
    reconciliation report it at the same moment. `reason` is a sentence for staff.
    """
    order = locked_order(order_id)
    if has_event(order, kind=EventKind.CARD_REFUSED, external_id=refusal_id):
        return False
    order.refused_cards = F("refused_cards") + 1
    order.save(update_fields=["refused_cards", "updated_at"])
    order.refresh_from_db(fields=["refused_cards"])
    note(
        order,
        kind=EventKind.CARD_REFUSED,
        external_id=refusal_id,
        actor=actor,
        reason=reason,
    )
    if order.refused_cards % REFUSED_CARDS_LIMIT == 0:
        order.locked_until = timezone.now() + REFUSED_CARDS_LOCK
        order.save(update_fields=["locked_until", "updated_at"])
    return True


@transaction.atomic
def lock_for_attempts(*, order_id: int, actor: str) -> None:
    """Lock the order for an hour, because too many attempts to pay it were begun."""
    order = locked_order(order_id)
    if order.is_locked:
        return
    order.locked_until = timezone.now() + REFUSED_CARDS_LOCK
    order.save(update_fields=["locked_until", "updated_at"])
    note(order, kind=EventKind.TOO_MANY_ATTEMPTS, actor=actor, reason="Más de 8 en una hora")


def refuse_while_locked(order: Order) -> None:
    """Raise TooManyRequests while too many refused cards lock the order."""
    if order.locked_until and order.is_locked:
        seconds = int((order.locked_until - timezone.now()).total_seconds()) + 1
        raise TooManyRequests(
            seconds, "Demasiados intentos de pago. Vuelve a intentarlo dentro de una hora."
        )
