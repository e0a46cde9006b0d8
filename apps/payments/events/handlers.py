"""What each kind of Stripe's events changes (docs/rules.md, "Card payments").

An event's content is not trusted: the object that it names is fetched from Stripe before anything
changes.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.core.mail.outbox import queue_mail
from apps.orders.models import Payment
from apps.payments.card_testing import count_approval_asked, count_refused_cards
from apps.payments.checkout.closing import stop_card_testing
from apps.payments.models import ProviderEvent
from apps.payments.plan.change_card import record_card, stop_card_testing_in_setup
from apps.payments.refunds.at_stripe import fetch_and_record_dispute, fetch_and_record_refunds
from apps.payments.report import order_of, report
from apps.payments.stripe.charges import payment_of_charge
from apps.payments.stripe.client import PaymentNotFound
from apps.payments.stripe.declines import AUTHENTICATION
from apps.payments.stripe.events import UNREADABLE
from apps.payments.stripe.failed_charges import Refusal, refusals_of_payment, refusals_of_setup
from apps.payments.stripe.intents import PaymentIds, ProviderPayment, retrieve_payment
from apps.payments.stripe.refunds import payment_of_refund


def handle(event: ProviderEvent) -> None:
    """Process an event unless it is processed already. Raises AcademyError if Stripe fails."""
    if event.processed_at is not None:
        return
    handler = HANDLERS.get(event.kind)
    if event.kind == UNREADABLE:
        _report_unreadable(event)
        return
    if is_of_other_mode(event.livemode):
        outcome = "No se trata: es de otro modo (real o de pruebas)"
    elif handler is None:
        outcome = "Guardado; este tipo no se usa"
    else:
        outcome = handler(event.payload)
    _mark_processed(event, outcome)


def record_failure(event: ProviderEvent, error: Exception, *, is_last: bool) -> None:
    """Count an attempt that an unforeseen error ended. After the last one, give the event up."""
    name = type(error).__name__
    if is_last:
        _mark_processed(event, f"Abandonado por un error inesperado: {name}")
        return
    ProviderEvent.objects.filter(pk=event.pk).update(
        attempts=F("attempts") + 1, outcome=f"Error inesperado: {name}"
    )


def _mark_processed(event: ProviderEvent, outcome: str) -> None:
    ProviderEvent.objects.filter(pk=event.pk).update(
        processed_at=timezone.now(), attempts=F("attempts") + 1, outcome=outcome[:300]
    )


def is_of_other_mode(livemode: bool) -> bool:
    """Whether an event is of test mode in a live shop, or the other way round."""
    is_test_shop = settings.STRIPE_SANDBOX or "_test_" in settings.STRIPE_SECRET_KEY
    return livemode is is_test_shop


@transaction.atomic
def _report_unreadable(event: ProviderEvent) -> None:
    """Mark a signed body that is no event, and mail staff about it once. No other effect."""
    queue_mail(
        key=f"event-unreadable:{event.event_id}",
        template="event_unreadable",
        to=settings.STAFF_EMAIL,
        context={"event_row_id": event.pk},
    )
    _mark_processed(event, "No se puede leer: el equipo está avisado")


def _on_payment(payload: dict[str, Any]) -> str:
    return _look_up(PaymentIds(object_id(payload)))[1]


def _on_success(payload: dict[str, Any]) -> str:
    """Record a payment that has succeeded. Without a call to Stripe if that is recorded already.

    The buyer's browser has usually reported it before. A payment that has succeeded stays so.
    """
    reference = object_id(payload)
    if Payment.objects.filter(reference=reference, status=Payment.Status.SUCCEEDED).exists():
        return f"{reference}: succeeded"
    return _on_payment(payload)


def _on_session(payload: dict[str, Any]) -> str:
    return _look_up(PaymentIds.of_session(object_id(payload)))[1]


def object_id(payload: dict[str, Any]) -> str:
    """The id of the object that an event is about."""
    return str(payload["data"]["object"]["id"])


def _look_up(ids: PaymentIds) -> tuple[ProviderPayment, str]:
    payment = retrieve_payment(ids)
    report(payment, actor="Stripe")
    return payment, f"{payment.reference}: {payment.status}"


def _on_refusal(payload: dict[str, Any]) -> str:
    reference = object_id(payload)
    payment, outcome = _look_up(PaymentIds(reference))
    refusals = refusals_of_payment(reference) + ([payment.refused] if payment.refused else [])
    orders = count_refused_cards(refusals, actor="Stripe")
    for order in orders:
        stop_card_testing(order)
    return f"{outcome}; tarjeta rechazada" if orders else outcome


def _on_approval_asked(payload: dict[str, Any]) -> str:
    """Count an attempt that asks somebody to approve it, once for each event.

    Stripe sends one for each attempt. By now the attempt may be over, and another one have begun.
    """
    payment, outcome = _look_up(PaymentIds(object_id(payload)))
    order = order_of(payment)
    is_automatic = payment.refusal_code in AUTHENTICATION
    if order is not None and payment.status == "open" and not is_automatic:
        count_approval_asked(order, actor="Stripe")
        stop_card_testing(order)
    return outcome


def _on_card(payload: dict[str, Any]) -> str:
    reference = object_id(payload)
    try:
        changed = record_card(reference, actor="Stripe")
    except PaymentNotFound:
        return f"{reference}: no es de esta tienda"
    return f"{reference}: tarjeta {'cambiada' if changed else 'ya conocida'}"


def _on_refused_setup(payload: dict[str, Any]) -> str:
    reference = object_id(payload)
    orders = count_refused_cards(refusals_of_setup(reference), actor="Stripe")
    for order in orders:
        stop_card_testing_in_setup(order, reference)
    return f"{reference}: {'tarjeta rechazada' if orders else 'no es de esta tienda'}"


def _on_refund(payload: dict[str, Any]) -> str:
    return _record_refunds(payload, payment_of_refund)


def _on_refunded_charge(payload: dict[str, Any]) -> str:
    return _record_refunds(payload, payment_of_charge)


def _record_refunds(payload: dict[str, Any], payment_of: Callable[[str], str]) -> str:
    """Record the refunds of the payment that a refund or a charge belongs to."""
    # An event whose buyer was erased has only the id of its object left.
    reference = str(payload["data"]["object"].get("payment_intent") or "")
    try:
        reference = reference or payment_of(object_id(payload))
        changed = fetch_and_record_refunds(reference)
    except PaymentNotFound:
        return f"{reference}: no es de esta tienda"
    return f"{reference}: devolución {'anotada' if changed else 'ya conocida'}"


def _on_dispute(payload: dict[str, Any]) -> str:
    reference = object_id(payload)
    try:
        changed = fetch_and_record_dispute(reference)
    except PaymentNotFound:
        return f"{reference}: no es de esta tienda"
    return f"{reference}: disputa {'anotada' if changed else 'ya conocida'}"


# The lists of refused cards that Stripe has for the object of an event.
REFUSALS_OF: dict[str, Callable[[str], list[Refusal]]] = {
    "payment_intent.payment_failed": refusals_of_payment,
    "setup_intent.setup_failed": refusals_of_setup,
}
Handler = Callable[[dict[str, Any]], str]
HANDLERS: dict[str, Handler] = {
    "checkout.session.completed": _on_session,
    "checkout.session.expired": _on_session,
    "checkout.session.async_payment_succeeded": _on_session,
    "checkout.session.async_payment_failed": _on_session,
    "payment_intent.succeeded": _on_success,
    "payment_intent.processing": _on_payment,
    "payment_intent.canceled": _on_payment,
    "payment_intent.payment_failed": _on_refusal,
    "payment_intent.requires_action": _on_approval_asked,
    "setup_intent.setup_failed": _on_refused_setup,
    "setup_intent.succeeded": _on_card,
    "charge.refunded": _on_refunded_charge,
    "charge.refund.updated": _on_refund,
    "refund.created": _on_refund,
    "refund.updated": _on_refund,
    "refund.failed": _on_refund,
    "charge.dispute.created": _on_dispute,
    "charge.dispute.updated": _on_dispute,
    "charge.dispute.funds_withdrawn": _on_dispute,
    "charge.dispute.funds_reinstated": _on_dispute,
    "charge.dispute.closed": _on_dispute,
}
