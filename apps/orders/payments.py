"""The one door by which an order becomes paid, and what the provider says of its payments."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.classroom.services import grant_access
from apps.core.clock import today
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders import offers, referrals
from apps.orders import promo as promo_uses
from apps.orders.models import Instalment, Order, Payment
from apps.orders.place import payment_type_of
from apps.orders.states import change_status, flag, note
from apps.pricing.rules import PRICING, split_instalments

REFUSED_CARDS_LIMIT = 8
REFUSED_CARDS_LOCK = timedelta(hours=1)


@dataclass(frozen=True)
class ConfirmedPayment:
    """Money that the provider says has moved. `reference` is its name there, or ours (`free_…`).

    `session` is the hosted page's name for it, under which it was opened.
    """

    reference: str
    amount_cents: int
    currency: str = "eur"
    payment_method: str = ""
    session: str = ""


def locked_order(order_id: int) -> Order:
    """The order's row, locked: what changes an order takes this lock first."""
    return Order.objects.select_for_update(of=("self",)).select_related("student").get(pk=order_id)


@transaction.atomic
def mark_paid(*, order_id: int, payment: ConfirmedPayment, actor: str) -> Order:
    """Record a payment once, however often and by whomever it is reported.

    A payment that does not fit (amount, currency, a second one, one for an expired order) is kept
    and flagged, never dropped (decisions.md, "Orders"). With the change of status go, in the same
    transaction, the use of the promo code, the instalments, the access and the mails, the buyer's
    own referral code and the reward of who invited them.
    """
    order = locked_order(order_id)
    row = _row_of(payment)
    if row is not None and row.status == Payment.Status.SUCCEEDED:
        return order

    free = payment.reference.startswith("free_")
    due_cents = 0 if free else first_payment_cents(order)
    problem = ""
    if order.status not in (Order.Status.CART, Order.Status.EXPIRED):
        problem = "Segundo pago de un pedido ya pagado"
    elif payment.currency != "eur" or payment.amount_cents != due_cents:
        problem = (
            f"Importe inesperado: {format_euros(payment.amount_cents)} ({payment.currency}) "
            f"en lugar de {format_euros(due_cents)}"
        )
    record_payment(order, row, payment, flag_reason=problem)
    if problem:
        flag(order, actor=actor, reason=f"{problem} ({payment.reference})")
        tell_staff(order, occasion=f"payment-{payment.reference}", reason=problem)
        return order

    late = order.status == Order.Status.EXPIRED
    in_instalments = payment_type_of(order) == "installment"
    if in_instalments:
        _start_instalments(order, payment)
    order.stripe_payment_intent_id = payment.reference
    order.stripe_session_id = payment.session or order.stripe_session_id
    order.paid_at = timezone.now()
    order.save(
        update_fields=["stripe_payment_intent_id", "stripe_session_id", "paid_at", "updated_at"]
    )
    change_status(
        order,
        Order.Status.PAYING if in_instalments else Order.Status.PAID,
        actor=actor,
        reason=f"Pago confirmado: {format_euros(payment.amount_cents)} ({payment.reference})",
    )
    if late:
        flag(order, actor=actor, reason="Pago recibido después de caducar el pedido")
        tell_staff(order, occasion=f"late-{order.pk}", reason="Pago de un pedido caducado")
    used = promo_uses.use(order)
    if not used:
        flag(order, actor=actor, reason="Pagado con un código cuya reserva ya se había liberado")
    if not offers.use(order):
        reason = f"El presupuesto n.º {order.quote_number} ya se había usado en otro pedido"
        flag(order, actor=actor, reason=reason)
        tell_staff(order, occasion=f"quote-twice-{order.pk}", reason=reason)
    referrals.give_code(order.student)
    if used:
        referrals.earn_reward(order, actor=actor)
    grant_access(
        student=order.student,
        items=[(line.subject_id, line.lesson_id) for line in order.lines.all()],
        reference=order.reference,
    )
    queue_mail(
        key=f"order-confirmation:{order.pk}",
        template="order_confirmation",
        to=order.email,
        context={"order_id": order.pk},
    )
    return order


def _row_of(payment: ConfirmedPayment) -> Payment | None:
    """The payment's row, locked: under its own reference, or still under its session's."""
    names = (payment.reference, payment.session)
    rows = Payment.objects.select_for_update().filter(reference__in=names).order_by("pk")
    by_name = {row.reference: row for row in rows}
    return by_name.get(payment.reference) or by_name.get(payment.session)


@transaction.atomic
def complete_free(*, order_id: int, revision: int, actor: str) -> str:
    """Complete an order with nothing to pay; its reference, the same however often it is asked for.

    Empty where the order has moved on since that revision: what it holds now may cost something.
    """
    order = locked_order(order_id)
    if order.status in promo_uses.BOUGHT:
        # Asked for twice at once. A second payment of nothing would be flagged as one of money.
        return order.stripe_payment_intent_id
    if order.revision != revision:
        return ""
    reference = f"free_{secrets.token_hex(16)}"
    mark_paid(order_id=order_id, payment=ConfirmedPayment(reference, amount_cents=0), actor=actor)
    return reference


def tell_staff(order: Order, *, occasion: str, reason: str) -> None:
    """Owe a mail to staff about an order, once for each occasion."""
    queue_mail(
        key=f"staff-attention:{occasion}",
        template="staff_attention",
        to=settings.STAFF_EMAIL,
        context={"order_id": order.pk, "reason": reason},
    )


def first_payment_cents(order: Order) -> int:
    """What the order's first payment takes: the total, or the first of its instalments."""
    if payment_type_of(order) == "installment":
        return split_instalments(order.total_cents)[0]
    return order.total_cents


def record_payment(
    order: Order, row: Payment | None, payment: ConfirmedPayment, *, flag_reason: str
) -> Payment:
    """Write that money has moved; `row` is the payment's own where it was opened here."""
    row = row or Payment(order=order)
    row.reference = payment.reference
    row.amount = to_euros(payment.amount_cents)
    row.currency = payment.currency
    row.payment_method = payment.payment_method
    row.status = Payment.Status.SUCCEEDED
    row.succeeded_at = timezone.now()
    row.flag = flag_reason[:200]
    row.save()
    return row


def _start_instalments(order: Order, payment: ConfirmedPayment) -> None:
    """The three instalments, the first of them paid: every 20 days, the rest on the first.

    The others are charged to the card that this payment saved (decisions.md, "Card payments").
    """
    now, first_day = timezone.now(), today()
    for index, cents in enumerate(split_instalments(order.total_cents)):
        due_on = first_day + timedelta(days=index * PRICING.instalment_every_days)
        instalment = Instalment.objects.create(
            order=order,
            number=index + 1,
            amount=to_euros(cents),
            due_on=due_on,
            charge_on=due_on if index else None,
            status=Instalment.Status.DUE if index else Instalment.Status.PAID,
            paid_at=None if index else now,
        )
        if index == 0:
            instalment.payments.set(Payment.objects.filter(reference=payment.reference))
    order.card_reference = payment.payment_method
    order.save(update_fields=["card_reference", "updated_at"])


@transaction.atomic
def open_payment(
    *, order_id: int, revision: int, reference: str, amount_cents: int, hosted: bool = False
) -> bool:
    """Keep a payment that was just opened at the provider as the order's one open payment.

    False where the order has moved on meanwhile (another revision, paid, another open payment):
    then the caller cancels it at the provider, where nobody has been given its secret. `reference`
    is the payment's, or for the `hosted` page its session's until the payment has succeeded.
    """
    order = locked_order(order_id)
    if order.status != Order.Status.CART or order.revision != revision:
        return False
    others = order.payments.open()
    if others.exists():
        return others.filter(reference=reference).exists()
    Payment.objects.create(
        order=order,
        reference=reference,
        amount=to_euros(amount_cents),
        status=Payment.Status.OPEN,
    )
    if hosted:
        order.stripe_session_id = reference
    else:
        order.stripe_payment_intent_id = reference
    order.save(update_fields=["stripe_payment_intent_id", "stripe_session_id", "updated_at"])
    return True


def keep_customer(*, order_id: int, customer: str) -> str:
    """Keep the order's customer; the one it has, where another call was faster.

    A payment of any other customer is not this order's: see `keep_foreign_payment`.
    """
    Order.objects.filter(pk=order_id, customer_reference="").update(customer_reference=customer)
    return Order.objects.values_list("customer_reference", flat=True).get(pk=order_id)


def forget_customer(*, order_id: int) -> None:
    """The provider does not know the order's customer any more: the next payment gets a new one."""
    Order.objects.filter(pk=order_id).update(customer_reference="")


@transaction.atomic
def mark_processing(*, order_id: int, reference: str) -> None:
    """The bank is still confirming: the payment stays open and the order can't be changed."""
    locked_order(order_id)
    Payment.objects.filter(reference=reference, status=Payment.Status.OPEN).update(
        status=Payment.Status.PROCESSING
    )


@transaction.atomic
def mark_open_again(*, order_id: int, reference: str) -> None:
    """A payment that was processing has been refused: it can be tried with another card."""
    locked_order(order_id)
    Payment.objects.filter(reference=reference, status=Payment.Status.PROCESSING).update(
        status=Payment.Status.OPEN
    )


@transaction.atomic
def mark_canceled(*, order_id: int, reference: str, actor: str) -> None:
    """The provider confirms that a payment can no longer succeed: its promo use is given back.

    The next checkout gets a new revision, because the canceled payment belongs to this one's key.
    """
    order = locked_order(order_id)
    changed = order.payments.open().filter(reference=reference)
    if not changed.update(status=Payment.Status.CANCELED):
        return
    if order.status in (Order.Status.CART, Order.Status.EXPIRED):
        promo_uses.release(order)
    order.revision += 1
    # No content any more that a payment was opened for: the next checkout writes it anew.
    order.content_hash = ""
    order.save(update_fields=["revision", "content_hash", "updated_at"])
    note(order, actor=actor, reason=f"Pago anulado ({reference})")


@transaction.atomic
def release_reservation(*, order_id: int) -> None:
    """Give back a promo use that was reserved for a payment which was never opened."""
    order = locked_order(order_id)
    if order.status in (Order.Status.CART, Order.Status.EXPIRED) and not order.payments.open():
        promo_uses.release(order)
        order.revision += 1
        order.content_hash = ""
        order.save(update_fields=["revision", "content_hash", "updated_at"])


@transaction.atomic
def expire(*, order_id: int) -> bool:
    """Close a cart whose 30 days are over; False where it has been paid or reopened meanwhile."""
    order = locked_order(order_id)
    if order.status != Order.Status.CART or order.is_open or order.payments.open().exists():
        return False
    promo_uses.release(order)
    change_status(
        order, Order.Status.EXPIRED, actor="sistema", reason="Carrito sin pagar durante 30 días"
    )
    return True


@transaction.atomic
def count_refused_card(*, order_id: int, event_id: str, reason: str) -> bool:
    """Count one refused card; True when the order is locked by it (8 lock it for an hour).

    Once for each event, though worker and reconciliation may act on it at the same moment.
    """
    order = locked_order(order_id)
    if order.events.filter(reason__endswith=f"({event_id})").exists():
        return False
    order.refused_cards = F("refused_cards") + 1
    order.save(update_fields=["refused_cards", "updated_at"])
    order.refresh_from_db(fields=["refused_cards"])
    note(order, actor="Stripe", reason=f"Tarjeta rechazada: {reason} ({event_id})")
    if order.refused_cards % REFUSED_CARDS_LIMIT:
        return False
    order.locked_until = timezone.now() + REFUSED_CARDS_LOCK
    order.save(update_fields=["locked_until", "updated_at"])
    return True


@transaction.atomic
def keep_stray_payment(payment: ConfirmedPayment, *, reason: str) -> None:
    """Store a payment that belongs to no order of ours, and leave it alone."""
    Payment.objects.get_or_create(
        reference=payment.reference,
        defaults={
            "amount": to_euros(payment.amount_cents),
            "currency": payment.currency,
            "status": Payment.Status.SUCCEEDED,
            "succeeded_at": timezone.now(),
            "flag": reason[:200],
        },
    )


@transaction.atomic
def keep_foreign_payment(order_id: int, payment: ConfirmedPayment, *, actor: str) -> None:
    """Store a payment that names an order of ours but is of another customer, and tell staff.

    Each order has its own customer (decisions.md, "Card payments"). So it is for an order that had
    this number before the database was restored, or in another shop on the same account: the
    order of today must not become paid by it.
    """
    order = locked_order(order_id)
    if Payment.objects.filter(reference=payment.reference).exists():
        return
    reason = f"Pago de otro cliente de Stripe con el número de este pedido ({payment.reference})"
    keep_stray_payment(payment, reason=f"Pago de otro cliente: no es del pedido {order_id}")
    note(order, actor=actor, reason=reason)
    tell_staff(order, occasion=f"payment-{payment.reference}", reason=reason)


def amount_paid_cents(order: Order) -> int:
    """What has been paid for the order so far, flagged payments included: it is real money."""
    return sum(
        to_cents(payment.amount)
        for payment in order.payments.all()
        if payment.status == Payment.Status.SUCCEEDED
    )
