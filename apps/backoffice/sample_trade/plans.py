"""Instalments of sample orders: charged on their day, declined and retried, paid by hand."""

from datetime import date, datetime, timedelta

from django.utils import timezone

from apps.backoffice.sample_trade.calendar import at_hour
from apps.backoffice.sample_trade.paying import new_payment, pay_first
from apps.backoffice.sample_trade.shop import Sale, Shop
from apps.classroom.access import Cause
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders.models import Instalment, InstalmentAttempt, Order, Payment
from apps.orders.models.statuses import PLAN_RUNNING, AttemptKind, EventKind, RefusalKind
from apps.orders.plan.notices import NOTICE_DAYS
from apps.orders.plan.refusals import RETRY_DAYS

# One in so many plans has a declined charge that succeeds 3 days later, a student who pays the
# rest by hand, or a card that is declined every time.
RETRIED_EVERY, BY_HAND_EVERY, OVERDUE_EVERY = 4, 7, 5
# Older plans that were overdue have been paid by hand since.
OVERDUE_FOR = timedelta(days=60)
CARD_CODE = RefusalKind.INSUFFICIENT_FUNDS.value


def pay_plan(shop: Shop, sale: Sale, paid_at: datetime, number: int) -> None:
    """Pay the first instalment, and play the others until today."""
    plan, order = shop.plan, sale.order
    shares = plan.split(order.total_cents)
    first_day = timezone.localdate(paid_at)
    for place, cents in enumerate(shares, start=1):
        due_on = first_day + timedelta(days=plan.days_until(place))
        row = Instalment(
            order=order, number=place, amount=to_euros(cents), due_on=due_on, charge_on=due_on
        )
        sale.instalments.append(shop.rows.add(row))
    first = pay_first(shop, sale, paid_at, shares[0])
    _settle(shop, sale, sale.instalments[:1], first)
    shop.plans += 1
    is_recent = paid_at > shop.now - OVERDUE_FOR
    if is_recent and shop.plans % OVERDUE_EVERY == 0:
        refusals = len(RETRY_DAYS) + 1
    else:
        refusals = int(shop.plans % RETRIED_EVERY == 0)
    by_hand = not is_recent and shop.plans % BY_HAND_EVERY == 0
    for row in sale.instalments[1:]:
        if row.status == Instalment.Status.DUE:
            _charge(shop, sale, row, refusals, by_hand=by_hand)
        refusals = refusals if refusals > 1 else 0
    if sale.order.status in PLAN_RUNNING:
        _save_card(sale.order, first)
    _announce_next(shop, sale)


def _save_card(order: Order, payment: Payment) -> None:
    """The customer and the card of a running plan. `make run` stores both in the Stripe sandbox.

    Their ids are like that of the plan's first payment.
    """
    name = payment.reference.removeprefix("pi_")
    order.customer_reference = f"cus_{name}"
    order.card_reference = f"pm_{name}"
    order.card_label = "Visa terminada en 4242"


def _charge(shop: Shop, sale: Sale, row: Instalment, refusals: int, *, by_hand: bool) -> None:
    """Charge an instalment on its day and on the days of its retries, until today."""
    days = [row.due_on + timedelta(days=days) for days in (0, *RETRY_DAYS)]
    for place, day in enumerate(days):
        moment = _moment(shop, day, sale)
        if moment > shop.now:
            row.charge_on = day
            return
        if by_hand:
            left = [one for one in sale.instalments if one.status == Instalment.Status.DUE]
            _pay(shop, sale, left, moment, AttemptKind.BY_HAND, place + 1)
            return
        if place >= refusals:
            _pay(shop, sale, [row], moment, AttemptKind.AUTOMATIC, place + 1)
            return
        _refuse(shop, sale, row, moment, place)
    row.status, row.charge_on = Instalment.Status.FAILED, None
    if sale.order.status == Order.Status.PAYING:
        reason = f"Plazo {row.number} sin pagar tras el último intento"
        moment = _moment(shop, days[-1], sale)
        status = Order.Status.OVERDUE
        shop.note(sale, moment, EventKind.OVERDUE, reason, actor="sistema", to=status)
        sale.paused_for = [Cause.OVERDUE]


def _moment(shop: Shop, day: date, sale: Sale) -> datetime:
    return at_hour(day, 6, (sale.order.created_at.minute + day.day) % 60)


def _pay(
    shop: Shop,
    sale: Sale,
    rows: list[Instalment],
    moment: datetime,
    kind: AttemptKind,
    attempt: int,
) -> None:
    cents = sum(to_cents(row.amount) for row in rows)
    payment = new_payment(shop, sale, cents, moment)
    _attempt(shop, rows[0], moment, attempt, cents, kind=kind, reference=payment.reference)
    _settle(shop, sale, rows, payment)
    numbers = " y ".join(str(row.number) for row in rows)
    name = f"Plazo {numbers}" if len(rows) == 1 else f"Plazos {numbers}"
    reason = f"{name} pagado: {format_euros(cents)}"
    if all(row.status == Instalment.Status.PAID for row in sale.instalments):
        status = Order.Status.PAID
        shop.note(sale, moment, EventKind.INSTALMENTS_PAID, f"{reason}. Todo pagado", to=status)
    else:
        shop.note(sale, moment, EventKind.INSTALMENTS_PAID, reason)


def _settle(shop: Shop, sale: Sale, rows: list[Instalment], payment: Payment) -> None:
    for row in rows:
        row.status, row.charge_on = Instalment.Status.PAID, None
        row.paid_at = payment.succeeded_at
        shop.rows.add(Payment.instalments.through(payment=payment, instalment=row))


def _refuse(shop: Shop, sale: Sale, row: Instalment, moment: datetime, place: int) -> None:
    row.first_refused_on = row.first_refused_on or timezone.localdate(moment)
    reference = shop.reference("pi")
    cents = to_cents(row.amount)
    _attempt(shop, row, moment, place + 1, cents, reference=reference, code=CARD_CODE)
    reason = f"Plazo {row.number} rechazado: {CARD_CODE} ({reference})"
    shop.note(sale, moment, EventKind.CHARGE_REFUSED, reason)
    sale.refusals.append((row, moment, place))


def _attempt(
    shop: Shop,
    row: Instalment,
    moment: datetime,
    number: int,
    cents: int,
    *,
    kind: AttemptKind = AttemptKind.AUTOMATIC,
    reference: str,
    code: str = "",
) -> None:
    outcome = InstalmentAttempt.Outcome
    shop.rows.add(
        InstalmentAttempt(
            instalment=row,
            number=number,
            kind=kind,
            outcome=outcome.REFUSED if code else outcome.SUCCEEDED,
            amount=to_euros(cents),
            reference=reference,
            error_code=code,
            started_at=moment,
            finished_at=moment + timedelta(seconds=3),
        )
    )


def _announce_next(shop: Shop, sale: Sale) -> None:
    """Mark the charges of the next days as announced. The clock would announce all of them now."""
    until = timezone.localdate(shop.now) + timedelta(days=NOTICE_DAYS)
    for row in sale.instalments:
        if row.status == Instalment.Status.DUE and row.charge_on and row.charge_on <= until:
            row.noticed_at = max(sale.at, at_hour(row.charge_on, 6) - timedelta(days=NOTICE_DAYS))
