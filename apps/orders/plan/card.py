"""The card that the instalments of an order are charged to."""

from django.db import transaction

from apps.core.dates import today
from apps.orders.ledger.history import has_event, note
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Instalment, Order
from apps.orders.models.statuses import INSTALMENT_SETTLED, EventKind


def take_card(order: Order, payment_method: str, label: str = "") -> None:
    """Charge the remaining instalments to this card. The caller holds the order's lock.

    An earlier refusal of the same card ends: the student has just paid with it or saved it.
    """
    if label or payment_method != order.card_reference:
        order.card_label = label
    order.card_reference = payment_method
    order.card_refusal = ""
    order.save(update_fields=["card_reference", "card_label", "card_refusal", "updated_at"])


@transaction.atomic
def change_card(
    *, order_id: int, payment_method: str, label: str, setup_reference: str, actor: str
) -> bool:
    """Charge the remaining instalments to another card.

    A declined instalment is charged to the new card today (docs/rules.md, "Instalments").
    `setup_reference` is the provider's id of the card set-up. Returns False if that set-up is
    already recorded.
    """
    order = locked_order(order_id)
    if has_event(order, kind=EventKind.CARD_CHANGED, external_id=setup_reference):
        return False
    take_card(order, payment_method, label)
    refused = order.instalments.exclude(first_refused_on=None)
    refused.exclude(status__in=INSTALMENT_SETTLED).update(
        status=Instalment.Status.DUE, charge_on=today()
    )
    note(
        order,
        kind=EventKind.CARD_CHANGED,
        external_id=setup_reference,
        actor=actor,
        reason=f"Tarjeta cambiada: {label} ({setup_reference})",
    )
    return True


def describe_card(*, order_id: int, payment_method: str, label: str) -> None:
    """Store a card's label ("Visa terminada en 4242") if it is still the order's card."""
    Order.objects.filter(pk=order_id, card_reference=payment_method).update(card_label=label)
