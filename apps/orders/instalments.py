"""The instalments of an order: what is due, each try, and the door by which it is paid.

Nothing here talks to the provider; `payments.instalments` does, between these transactions. Locks
are taken in one order: the order's row first, then its instalments.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from apps.classroom.access import Cause, PauseNotice, pause_access, resume_access
from apps.core.clock import today
from apps.core.errors import Conflict, NotFound, TooManyRequests
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders.errors import AlreadyPaid, PaymentInProgress
from apps.orders.models import Instalment, InstalmentAttempt, Order, Payment
from apps.orders.payments import ConfirmedPayment, locked_order, record_payment, tell_staff
from apps.orders.place import OpenPaymentInTheWay
from apps.orders.refunds import keep_partly_refunded
from apps.orders.states import change_status, flag, note

Kind = InstalmentAttempt.Kind
Outcome = InstalmentAttempt.Outcome

# How long a runner may hold an instalment: longer than the provider is ever waited for.
LEASE = timedelta(minutes=5)
# A refused charge is tried again so many days after the first refusal (decisions.md).
RETRY_DAYS = (3, 5, 7)
# The provider forgets idempotency keys after 24 hours.
KEY_LIFE = timedelta(hours=23)
NOTICE_DAYS = 2
BY_HAND_PATIENCE = timedelta(minutes=30)
CHARGEABLE = (Order.Status.PAYING, Order.Status.OVERDUE)
UNSETTLED = (Outcome.STARTED, Outcome.PROCESSING)

# Refusals that no second try with the same card can mend
# (https://docs.stripe.com/declines/codes and /error-codes).
HARD_DECLINES = frozenset(
    {
        "card_not_supported",
        "currency_not_supported",
        "do_not_try_again",
        "expired_card",
        "fraudulent",
        "incorrect_number",
        "invalid_account",
        "invalid_expiry_month",
        "invalid_expiry_year",
        "invalid_number",
        "lost_card",
        "merchant_blacklist",
        "new_account_information_available",
        "no_action_taken_permanent",
        "pickup_card",
        "restricted_card",
        "revocation_of_all_authorizations",
        "revocation_of_authorization",
        "security_violation",
        "service_not_allowed",
        "stolen_card",
        "stop_payment_order",
        "transaction_not_allowed",
        # The saved card is gone at the provider: detached, or its customer deleted.
        "card_missing",
    }
)
# The bank wants the student themselves: only a payment with them present helps.
AUTHENTICATION = frozenset({"authentication_required", "authentication_not_handled"})


class PlanChanged(Conflict):
    code = "plan_changed"
    message = "Ese plazo ya está pagado. Mira cómo quedan tus plazos."


class PlanNotFound(NotFound):
    message = "El enlace no es válido o ha caducado."


@dataclass(frozen=True)
class Charge:
    """An automatic charge to make at the provider, recorded before it is asked."""

    attempt_id: int
    order_id: int
    instalment_id: int
    instalment_number: int
    number: int
    amount_cents: int
    customer: str
    payment_method: str

    @property
    def idempotency_key(self) -> str:
        return f"instalment-{self.instalment_id}-{self.number}"


# ---------------------------------------------------------------- the student's link
def plan_token(order: Order) -> str:
    """What opens this order's plan without signing in: made of the order's own 256 random bits.

    Another value than the recovery token, which opens nothing once the order is paid; kept nowhere.
    """
    return salted_hmac(
        "orders.instalments", f"{order.pk}:{order.auth_token}", algorithm="sha256"
    ).hexdigest()


def plan_url(order: Order) -> str:
    return f"{reverse('plazos')}?pedido={order.pk}&clave={plan_token(order)}"


def open_plan(*, order_id: int, token: str) -> Order:
    """The order in instalments that id and token open together; raises PlanNotFound."""
    order = Order.objects.filter(pk=order_id).first()
    if (
        order is None
        or not hmac.compare_digest(plan_token(order).encode(), token.encode())
        or not order.instalments.exists()
    ):
        raise PlanNotFound
    return order


def tell_overdue(reference: str) -> PauseNotice:
    """What the classroom says of an order whose instalment is late."""
    order = Order.objects.get(pk=int(reference.removeprefix("pedido-")))
    return PauseNotice(
        "Tienes un plazo sin pagar, y por eso el acceso a estas asignaturas está en pausa. "
        "Volverá en cuanto lo pagues.",
        url=plan_url(order),
        label="Pagar el plazo",
    )


# ---------------------------------------------------------------- what is due
def due_instalments() -> QuerySet[Instalment]:
    """Instalments to be charged now that nobody holds, oldest first."""
    now = timezone.now()
    return (
        Instalment.objects.filter(Q(leased_until=None) | Q(leased_until__lte=now))
        .filter(
            status=Instalment.Status.DUE,
            charge_on__lte=today(),
            order__status__in=CHARGEABLE,
            order__disputed_at=None,
        )
        .order_by("charge_on", "order", "number")
    )


def claim(instalment_id: int) -> Instalment | None:
    """The instalment for this runner alone; None where it is not due any more, or in other hands.

    One conditional update decides. Who dies with it holds it until the lease is over.
    """
    lease = timezone.now() + LEASE
    if not due_instalments().filter(pk=instalment_id).update(leased_until=lease):
        return None
    return Instalment.objects.select_related("order").get(pk=instalment_id)


def release(instalment: Instalment) -> None:
    """Let go, unless the lease ran out and somebody else holds it."""
    Instalment.objects.filter(pk=instalment.pk, leased_until=instalment.leased_until).update(
        leased_until=None
    )


def is_being_paid(order: Order) -> bool:
    """Whether the student has a payment form open, perhaps with their bank's question before them.

    They are not overtaken: the charge waits half an hour.
    """
    since = timezone.now() - BY_HAND_PATIENCE
    return order.payments.filter(status=Payment.Status.OPEN, created_at__gt=since).exists()


@transaction.atomic
def begin_charge(claimed: Instalment) -> Charge | None:
    """Record the try that is about to be made; None where nothing is to be charged now.

    To be called with a claimed instalment whose earlier payments have just been looked up at the
    provider. A try that began less than 23 hours ago and of which the provider knows nothing is
    made again under its own key; an older one has had no effect and gives way to a new one.
    """
    order = locked_order(claimed.order_id)
    instalment = Instalment.objects.select_for_update().get(pk=claimed.pk)
    if instalment.leased_until != claimed.leased_until:
        return None
    instalment.order = order
    attempts = InstalmentAttempt.objects.filter(
        instalment__order=order, kind=Kind.AUTOMATIC, outcome__in=UNSETTLED
    )
    own = attempts.filter(instalment=instalment, outcome=Outcome.STARTED).first()
    if own is not None and own.started_at <= timezone.now() - KEY_LIFE:
        _finish(own, Outcome.VOID)
        own = None
    if (
        instalment.status != Instalment.Status.DUE
        or instalment.charge_on is None
        or instalment.charge_on > today()
        or order.status not in CHARGEABLE
        or order.disputed_at is not None
        or order.payments.open().exists()
        or attempts.exclude(pk=own.pk if own else 0).exists()
    ):
        release(claimed)
        return None
    if own is None:
        if not order.card_reference or order.card_refusal:
            _next_step(instalment, code=order.card_refusal or "card_missing", occasion="")
            return None
        own = _new_attempt(
            instalment,
            Kind.AUTOMATIC,
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
    )


def _new_attempt(
    instalment: Instalment, kind: InstalmentAttempt.Kind, *, cents: int, payment_method: str = ""
) -> InstalmentAttempt:
    last = instalment.attempts.aggregate(last=Max("number"))["last"] or 0
    return InstalmentAttempt.objects.create(
        instalment=instalment,
        number=last + 1,
        kind=kind,
        amount=to_euros(cents),
        payment_method=payment_method,
    )


def _finish(
    attempt: InstalmentAttempt, outcome: InstalmentAttempt.Outcome, *, code: str = ""
) -> None:
    attempt.outcome = outcome
    attempt.error_code = code[:60]
    attempt.finished_at = timezone.now()
    attempt.save()


@transaction.atomic
def void_charge(*, attempt_id: int, claimed: Instalment) -> None:
    """Give up a try that the provider has ended without any payment: the next run makes another."""
    locked_order(claimed.order_id)
    attempt = InstalmentAttempt.objects.select_for_update().get(pk=attempt_id)
    if attempt.outcome == Outcome.STARTED:
        _finish(attempt, Outcome.VOID)
    release(claimed)


# ---------------------------------------------------------------- what came of a try
@transaction.atomic
def record_refusal(
    *, order_id: int, number: int, attempt: int, reference: str, code: str, actor: str
) -> bool:
    """Record that an automatic charge was refused, once; False where it is known already.

    `code` is the provider's decline code. The next try is on day 3, 5 or 7 after the first
    refusal; a card that can't be charged any more is not tried again, but the student is reminded
    on those days all the same. After the last the order is overdue.
    """
    order = locked_order(order_id)
    row = (
        InstalmentAttempt.objects.select_for_update(of=("self",))
        .select_related("instalment")
        .filter(
            instalment__order=order,
            instalment__number=number,
            number=attempt,
            kind=Kind.AUTOMATIC,
            outcome__in=UNSETTLED,
        )
        .first()
    )
    if row is None:
        return False
    row.reference = reference
    _finish(row, Outcome.REFUSED, code=code)
    Payment.objects.open().filter(reference=reference).update(status=Payment.Status.CANCELED)
    note(order, actor=actor, reason=f"Plazo {number} rechazado: {code} ({reference or '–'})"[:300])
    if order.card_reference == row.payment_method and (
        code in HARD_DECLINES or code in AUTHENTICATION
    ):
        order.card_refusal = code[:60]
        order.save(update_fields=["card_refusal", "updated_at"])
    row.instalment.order = order
    if row.instalment.status == Instalment.Status.DUE:
        _next_step(row.instalment, code=code, occasion=f"{row.pk}")
    return True


def _next_step(instalment: Instalment, *, code: str, occasion: str) -> None:
    """After a try that brought nothing: the day of the next, or none and the order is overdue."""
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
            "code": code,
            "again_on": instalment.charge_on.isoformat() if instalment.charge_on else "",
            "same_card": not order.card_refusal,
        },
    )
    if instalment.charge_on is None and order.status == Order.Status.PAYING:
        change_status(
            order,
            Order.Status.OVERDUE,
            actor="sistema",
            reason=f"Plazo {instalment.number} sin pagar tras el último intento",
        )
        pause_access(reference=order.reference, cause=Cause.OVERDUE)
        tell_staff(
            order,
            occasion=f"overdue-{instalment.pk}",
            reason=f"Plazo {instalment.number} sin pagar: acceso en pausa",
        )


@transaction.atomic
def mark_instalments_paid(
    *,
    order_id: int,
    numbers: Sequence[int],
    attempt: int,
    payment: ConfirmedPayment,
    actor: str,
) -> Order:
    """Record a payment of these instalments once, however often and by whomever it is reported.

    What does not fit (amount, currency, an instalment that is paid already, an order that takes no
    payments) is kept and flagged, never dropped. With it go, in the same transaction, the order's
    status, the classroom access, the receipt, and the card where the student paid with another.
    """
    order = locked_order(order_id)
    row = Payment.objects.select_for_update().filter(reference=payment.reference).first()
    if row is not None and row.status == Payment.Status.SUCCEEDED:
        return order
    instalments = list(
        order.instalments.select_for_update().filter(number__in=numbers).order_by("number")
    )
    due_cents = sum(instalment.amount_cents for instalment in instalments)
    names = _names(numbers)
    problem = ""
    if order.status not in CHARGEABLE or len(instalments) != len(set(numbers)):
        problem = f"Pago de {names} de un pedido que no los espera"
    elif any(instalment.status == Instalment.Status.PAID for instalment in instalments):
        problem = f"Segundo pago de {names}"
    elif any(instalment.status == Instalment.Status.CANCELED for instalment in instalments):
        problem = f"Pago de {names}, que se anuló"
    elif payment.currency != "eur" or payment.amount_cents != due_cents:
        problem = (
            f"Importe inesperado de {names}: {format_euros(payment.amount_cents)} "
            f"({payment.currency}) en lugar de {format_euros(due_cents)}"
        )
    kept = record_payment(order, row, payment, flag_reason=problem)
    tried = _settle_attempt(order, numbers, attempt, payment.reference)
    if problem:
        kept.instalments.clear()
        flag(order, actor=actor, reason=f"{problem} ({payment.reference})"[:300])
        tell_staff(order, occasion=f"payment-{payment.reference}", reason=problem)
        return order

    kept.instalments.set(instalments)
    now = timezone.now()
    for instalment in instalments:
        instalment.status = Instalment.Status.PAID
        instalment.paid_at = now
        instalment.charge_on = None
        instalment.leased_until = None
        instalment.save()
    by_hand = tried is not None and tried.kind == Kind.BY_HAND
    if by_hand and payment.payment_method and payment.payment_method != order.card_reference:
        _take_card(order, payment.payment_method)
    _go_on(order, actor=actor, reason=f"{names} pagado: {format_euros(payment.amount_cents)}")
    queue_mail(
        key=f"instalment-paid:{payment.reference}",
        template="instalment_paid",
        to=order.email,
        context={"payment_id": kept.pk},
    )
    return order


def _settle_attempt(
    order: Order, numbers: Sequence[int], attempt: int, reference: str
) -> InstalmentAttempt | None:
    row = (
        InstalmentAttempt.objects.select_for_update()
        .filter(instalment__order=order, instalment__number=min(numbers), number=attempt)
        .first()
    )
    if row is not None:
        row.reference = reference
        _finish(row, Outcome.SUCCEEDED)
    return row


def _go_on(order: Order, *, actor: str, reason: str) -> None:
    """The status that follows from what is paid now; access comes back with it."""
    unpaid = order.instalments.exclude(status__in=Instalment.SETTLED)
    # A late one that another card has been given for stays late until that card has paid it.
    last_try = today() - timedelta(days=RETRY_DAYS[-1])
    late = unpaid.filter(Q(status=Instalment.Status.FAILED) | Q(first_refused_on__lte=last_try))
    if not unpaid.exists():
        change_status(order, Order.Status.PAID, actor=actor, reason=f"{reason}. Todo pagado")
        keep_partly_refunded(order, actor=actor)
    elif order.status == Order.Status.OVERDUE and not late.exists():
        change_status(order, Order.Status.PAYING, actor=actor, reason=reason)
    else:
        note(order, actor=actor, reason=reason)
    if order.status != Order.Status.OVERDUE:
        resume_access(reference=order.reference, cause=Cause.OVERDUE)


@transaction.atomic
def mark_processing(
    *, order_id: int, numbers: Sequence[int], attempt: int, reference: str, amount_cents: int
) -> None:
    """The bank is still confirming: the payment counts as the order's open one until it settles."""
    order = locked_order(order_id)
    row = Payment.objects.select_for_update().filter(reference=reference).first()
    if row is None and not order.payments.open().exists():
        row = Payment.objects.create(
            order=order,
            reference=reference,
            amount=to_euros(amount_cents),
            status=Payment.Status.PROCESSING,
        )
        row.instalments.set(order.instalments.filter(number__in=numbers))
    elif row is not None and row.status == Payment.Status.OPEN:
        row.status = Payment.Status.PROCESSING
        row.save(update_fields=["status"])
    InstalmentAttempt.objects.filter(
        instalment__order=order,
        instalment__number=min(numbers),
        number=attempt,
        outcome__in=(Outcome.STARTED, Outcome.OPEN),
    ).update(outcome=Outcome.PROCESSING, reference=reference)


@transaction.atomic
def mark_canceled(*, order_id: int, numbers: Sequence[int], attempt: int, reference: str) -> None:
    """The provider confirms that a payment can no longer succeed."""
    order = locked_order(order_id)
    order.payments.open().filter(reference=reference).update(status=Payment.Status.CANCELED)
    InstalmentAttempt.objects.filter(
        instalment__order=order,
        instalment__number=min(numbers),
        number=attempt,
        outcome__in=(Outcome.STARTED, Outcome.OPEN, Outcome.PROCESSING),
    ).update(outcome=Outcome.VOID, reference=reference, finished_at=timezone.now())


# ---------------------------------------------------------------- paying by hand
@dataclass(frozen=True)
class ByHand:
    """A payment that the student makes themselves, of one or several instalments."""

    order: Order
    numbers: tuple[int, ...]
    amount_cents: int
    keep_card: bool
    attempt: int = 0
    idempotency_key: str = ""
    existing: str = ""


@transaction.atomic
def begin_by_hand(*, order_id: int, first: int, everything: bool) -> ByHand:
    """What the student wants to pay now: instalment `first`, the next one, or it and all the rest.

    Gives the open payment of the very same back (`existing`), else records the try. Raises
    PlanChanged where another is next: `first` may have been charged since they looked. Raises
    OpenPaymentInTheWay where another has to be canceled first, PaymentInProgress while a charge is
    under way, AlreadyPaid where nothing is left, TooManyRequests after too many refused cards.
    """
    order = locked_order(order_id)
    unpaid = list(order.instalments.exclude(status__in=Instalment.SETTLED).order_by("number"))
    if order.status not in CHARGEABLE or not unpaid:
        raise AlreadyPaid("Este pedido no tiene plazos pendientes.")
    refuse_locked(order)
    _refuse_while_charging(order)
    if unpaid[0].number != first:
        raise PlanChanged
    wanted = unpaid if everything else unpaid[:1]
    numbers = tuple(instalment.number for instalment in wanted)
    cents = sum(instalment.amount_cents for instalment in wanted)
    by_hand = ByHand(order, numbers, cents, keep_card=len(wanted) < len(unpaid))
    open_payment = order.payments.open().first()
    if open_payment is not None:
        if open_payment.status == Payment.Status.PROCESSING:
            raise PaymentInProgress(payment_intent_id=open_payment.reference)
        covers = tuple(open_payment.instalments.order_by("number").values_list("number", flat=True))
        if covers != numbers or to_cents(open_payment.amount) != cents:
            raise OpenPaymentInTheWay(open_payment)
        return ByHand(
            order, numbers, cents, keep_card=by_hand.keep_card, existing=open_payment.reference
        )
    # A try whose answer was lost opened nothing that anybody could confirm.
    InstalmentAttempt.objects.filter(
        instalment__order=order, kind=Kind.BY_HAND, outcome=Outcome.STARTED
    ).update(outcome=Outcome.VOID, finished_at=timezone.now())
    attempt = _new_attempt(wanted[0], Kind.BY_HAND, cents=cents)
    return ByHand(
        order,
        numbers,
        cents,
        keep_card=by_hand.keep_card,
        attempt=attempt.number,
        idempotency_key=f"instalment-{wanted[0].pk}-{attempt.number}",
    )


@transaction.atomic
def keep_by_hand(by_hand: ByHand, *, reference: str) -> bool:
    """Keep a payment that was just opened as the order's one open payment.

    False where something was faster; then the caller cancels it: nobody has its secret.
    """
    order = locked_order(by_hand.order.pk)
    wanted = order.instalments.filter(number__in=by_hand.numbers)
    charging = InstalmentAttempt.objects.filter(
        instalment__order=order, kind=Kind.AUTOMATIC, outcome__in=UNSETTLED
    )
    if (
        order.status not in CHARGEABLE
        or wanted.filter(status__in=Instalment.SETTLED).exists()
        or order.payments.open().exists()
        or charging.exists()
    ):
        return False
    payment = Payment.objects.create(
        order=order,
        reference=reference,
        amount=to_euros(by_hand.amount_cents),
        status=Payment.Status.OPEN,
    )
    payment.instalments.set(wanted)
    InstalmentAttempt.objects.filter(
        instalment__order=order,
        instalment__number=min(by_hand.numbers),
        number=by_hand.attempt,
    ).update(outcome=Outcome.OPEN, reference=reference)
    return True


def refuse_locked(order: Order) -> None:
    """Raise TooManyRequests while too many refused cards lock the order."""
    if order.locked_until and order.locked_until > timezone.now():
        seconds = int((order.locked_until - timezone.now()).total_seconds()) + 1
        raise TooManyRequests(
            seconds, "Demasiadas tarjetas rechazadas. Vuelve a intentarlo dentro de una hora."
        )


def _refuse_while_charging(order: Order) -> None:
    charging = InstalmentAttempt.objects.filter(
        instalment__order=order, kind=Kind.AUTOMATIC, outcome__in=UNSETTLED
    )
    if charging.exists():
        raise PaymentInProgress(
            "Estamos cobrando este plazo en tu tarjeta. Vuelve a mirar dentro de unos minutos."
        )


# ---------------------------------------------------------------- the card
def _take_card(order: Order, payment_method: str, label: str = "") -> None:
    order.card_reference = payment_method
    order.card_label = label
    order.card_refusal = ""
    order.save(update_fields=["card_reference", "card_label", "card_refusal", "updated_at"])


@transaction.atomic
def change_card(
    *, order_id: int, payment_method: str, label: str, setup_reference: str, actor: str
) -> bool:
    """Charge the instalments to come to another card, once for each setup; False where known.

    An instalment that was refused is charged to it today.
    """
    order = locked_order(order_id)
    if order.events.filter(reason__endswith=f"({setup_reference})").exists():
        return False
    _take_card(order, payment_method, label)
    refused = order.instalments.exclude(first_refused_on=None)
    refused.exclude(status__in=Instalment.SETTLED).update(
        status=Instalment.Status.DUE, charge_on=today()
    )
    note(order, actor=actor, reason=f"Tarjeta cambiada: {label} ({setup_reference})"[:300])
    return True


def describe_card(*, order_id: int, payment_method: str, label: str) -> None:
    """Keep how a card is called, learnt from the provider, while it is still the order's card."""
    Order.objects.filter(pk=order_id, card_reference=payment_method).update(card_label=label)


@transaction.atomic
def charge_again(*, instalment_id: int, actor: str) -> bool:
    """For staff: let a refused instalment be charged with the next run; False where none is due.

    Nothing is charged before its day, and nothing to a card that can't be charged.
    """
    instalment = Instalment.objects.get(pk=instalment_id)
    order = locked_order(instalment.order_id)
    instalment = Instalment.objects.select_for_update().get(pk=instalment_id)
    if (
        order.status not in CHARGEABLE
        or order.disputed_at is not None
        or order.card_refusal
        or not order.card_reference
        or instalment.status in Instalment.SETTLED
        or instalment.due_on > today()
    ):
        return False
    instalment.status = Instalment.Status.DUE
    instalment.charge_on = today()
    instalment.save(update_fields=["status", "charge_on"])
    note(order, actor=actor, reason=f"Cobrar otra vez el plazo {instalment.number}")
    return True


# ---------------------------------------------------------------- the notice before a charge
def to_be_noticed() -> QuerySet[Instalment]:
    """Instalments whose charge is at most two days away and has not been announced yet."""
    return Instalment.objects.filter(
        status=Instalment.Status.DUE,
        noticed_at=None,
        first_refused_on=None,
        charge_on__gt=today(),
        charge_on__lte=today() + timedelta(days=NOTICE_DAYS),
        order__status__in=CHARGEABLE,
        order__disputed_at=None,
    ).select_related("order")


@transaction.atomic
def send_notice(instalment_id: int) -> bool:
    """Owe the notice of a charge, once."""
    if not to_be_noticed().filter(pk=instalment_id).update(noticed_at=timezone.now()):
        return False
    instalment = Instalment.objects.select_related("order").get(pk=instalment_id)
    return bool(
        queue_mail(
            key=f"instalment-notice:{instalment.pk}",
            template="instalment_notice",
            to=instalment.order.email,
            context={"instalment_id": instalment.pk},
        )
    )


# ---------------------------------------------------------------- what the page shows
def next_charge(order: Order) -> date | None:
    """The day on which the next instalment is charged by itself; None where none will be."""
    if order.card_refusal or not order.card_reference:
        return None
    dues = order.instalments.filter(status=Instalment.Status.DUE).exclude(charge_on=None)
    return dues.order_by("charge_on").values_list("charge_on", flat=True).first()


def _names(numbers: Sequence[int]) -> str:
    """ "Plazo 2", "Plazos 2 y 3"."""
    if len(numbers) == 1:
        return f"Plazo {numbers[0]}"
    *first, last = [str(number) for number in sorted(numbers)]
    return f"Plazos {', '.join(first)} y {last}"
