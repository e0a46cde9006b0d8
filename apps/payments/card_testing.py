"""Limits on refused cards across orders (docs/rules.md, "Card testing").

Somebody who tests stolen cards opens one order after the other. So refused cards are counted by
visitor, by buyer and by card, as soon as Stripe reports them. A visitor or buyer with too many of
them gets no further payment to confirm.
"""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.core.errors import TooManyRequests
from apps.core.identity import email_identity
from apps.core.mail.outbox import queue_mail
from apps.core.throttle import Limit, Mark, Wait, digest_of, seconds_until_free
from apps.orders.ledger.refused_cards import count_refused_card
from apps.orders.models import Order
from apps.payments.stripe.declines import refusal_text

HOUR = 3600
BY_VISITOR = Limit("refused-cards-visitor", times=20, seconds=HOUR)
BY_BUYER = Limit("refused-cards-buyer", times=8, seconds=HOUR)
# A card that is refused in more orders than this in a day blocks its visitors and buyers at once.
ORDERS_PER_CARD = 5
ORDERS_OF_CARD = Mark("refused-card-orders", seconds=24 * HOUR)
# The visitors who opened a payment of an order in the last day.
VISITORS = Mark("payment-visitors", seconds=24 * HOUR)
ALL = "all"


class PaymentsPaused(TooManyRequests):
    code = "payments_paused"
    message = "Los pagos con tarjeta están en pausa."


def _refusals_of_all() -> Limit:
    return Limit("refused-cards", times=settings.REFUSED_CARDS_PER_MINUTE, seconds=60)


def _pause_seconds() -> int:
    """Seconds for which no payments are opened, at least. 0 if payments are opened.

    The refusals of the previous minute count, too. Otherwise the pause would end with each minute.
    """
    return _refusals_of_all().seconds_until_free(ALL, windows=2)


def refuse_card_testing(order: Order, *, visitor: str) -> None:
    """Raise TooManyRequests if no payment may be opened for this visitor or buyer.

    `visitor` is their network. Raises PaymentsPaused while too many cards are refused over all
    visitors. Call it before the browser gets the payment's client secret.
    """
    by_visitor, by_buyer, pause = seconds_until_free(
        Wait(BY_VISITOR, visitor),
        Wait(BY_BUYER, email_identity(order.email)),
        Wait(_refusals_of_all(), ALL, windows=2),
    )
    if by_visitor or by_buyer:
        raise TooManyRequests(
            max(by_visitor, by_buyer),
            "Demasiadas tarjetas rechazadas. Vuelve a intentarlo dentro de una hora.",
        )
    if pause:
        raise PaymentsPaused(
            pause,
            "Ahora mismo no podemos abrir pagos con tarjeta. No se ha cobrado nada y tu compra se "
            "conserva: vuelve a intentarlo dentro de unos minutos.",
        )
    if visitor:
        VISITORS.add(str(order.pk), visitor)


def is_testing_cards(order: Order) -> bool:
    """Whether the order's payment has to be canceled because of refused cards."""
    visitors = VISITORS.digests(str(order.pk))
    return (
        order.is_locked
        or bool(_buyer_seconds(order))
        or any(BY_VISITOR.seconds_until_free(digest, is_digest=True) for digest in visitors)
    )


def count_refusal(
    order: Order, *, refusal_id: str, code: str, fingerprint: str, actor: str
) -> None:
    """Count one refused card of the order, once for each `refusal_id`.

    `code` is Stripe's code of the decline. `fingerprint` is Stripe's digest of the card's number,
    empty if unknown.
    """
    counted = count_refused_card(
        order_id=order.pk, event_id=refusal_id, reason=refusal_text(code), actor=actor
    )
    if not counted:
        return
    buyer = email_identity(order.email)
    is_hot = bool(fingerprint) and _is_refused_everywhere(fingerprint, order)
    BY_BUYER.add(buyer, by=BY_BUYER.times if is_hot else 1)
    for digest in VISITORS.digests(str(order.pk)):
        BY_VISITOR.add(digest, by=BY_VISITOR.times if is_hot else 1, is_digest=True)
    _refusals_of_all().add(ALL)
    if _pause_seconds():
        _mail_staff()


def _is_refused_everywhere(fingerprint: str, order: Order) -> bool:
    """Store that the card was refused in this order. True if it was refused in too many orders."""
    card = digest_of(fingerprint)
    ORDERS_OF_CARD.add(card, str(order.pk))
    return len(ORDERS_OF_CARD.digests(card)) > ORDERS_PER_CARD


def count_refusal_event(kind: str, payload: dict[str, Any]) -> None:
    """Count the refused card of an event that was just stored. Other events are ignored."""
    if kind not in ("payment_intent.payment_failed", "setup_intent.setup_failed"):
        return
    sent = payload["data"]["object"]
    refusal = refusal_of(payload)
    order = _order_of(sent)
    if order is None or _part(sent, "metadata").get("automatic"):
        # Declined automatic charges do not count as refused cards: nobody is trying cards.
        return
    count_refusal(order, actor="Stripe", **refusal)


def refusal_of(payload: dict[str, Any]) -> dict[str, str]:
    """The id, code and card of a refusal, from Stripe's event."""
    sent = payload["data"]["object"]
    error = _part(sent, "last_payment_error") or _part(sent, "last_setup_error")
    card = _part(_part(error, "payment_method"), "card")
    return {
        # A payment that is fetched later names the charge, too. A setup has none.
        "refusal_id": str(error.get("charge") or payload["id"]),
        "code": str(error.get("decline_code") or error.get("code") or ""),
        "fingerprint": str(card.get("fingerprint") or ""),
    }


def _buyer_seconds(order: Order) -> int:
    return BY_BUYER.seconds_until_free(email_identity(order.email))


def _order_of(sent: dict[str, Any]) -> Order | None:
    """The order of the payment or set-up in an event, found by its customer or its payment."""
    customer = sent.get("customer")
    if isinstance(customer, str) and customer:
        order = Order.objects.filter(customer_reference=customer).first()
        if order is not None:
            return order
    return Order.objects.filter(payments__reference=sent["id"]).first()


def _part(value: dict[str, Any], name: str) -> dict[str, Any]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}


@transaction.atomic
def _mail_staff() -> None:
    """Mail staff, once an hour, that no payments are opened because of refused cards."""
    now = timezone.now()
    queue_mail(
        key=f"card-testing:{int(now.timestamp()) // HOUR}",
        template="card_testing",
        to=settings.STAFF_EMAIL,
        context={"per_minute": settings.REFUSED_CARDS_PER_MINUTE, "since": now.isoformat()},
    )
