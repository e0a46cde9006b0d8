"""Refunds: what can be given back, who asked for it, and what else changes with it.

Nothing here talks to the provider; `payments.refunds` does, between these transactions. Locks are
taken in one order: the clerk's account, the order's row, its payments.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.utils import timezone

from apps.core.clock import today
from apps.core.errors import Conflict, Invalid
from apps.core.mail.outbox import queue_mail
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders import give_back
from apps.orders.models import Instalment, InstalmentAttempt, Order, OrderLine, Payment, Refund
from apps.orders.payments import locked_order, tell_staff
from apps.orders.referrals import cancel_reward
from apps.orders.states import change_status, flag, note

Status = Refund.Status
# Sold, at least in part: what is given back of another order changes nothing but the money.
SOLD = (
    Order.Status.PAID,
    Order.Status.PAYING,
    Order.Status.OVERDUE,
    Order.Status.PARTIALLY_REFUNDED,
)
PLAN_RUNS = (Order.Status.PAYING, Order.Status.OVERDUE)
# With the provider, or about to be asked of it.
UNDER_WAY = (Status.REQUESTED, Status.PENDING, Status.SUCCEEDED)


class RefundRefused(Invalid):
    """Not to be given back; the message says why, in Spanish."""


class OutOfDate(Conflict):
    message = "El pedido ha cambiado mientras tanto. Mira otra vez lo que cambiaría y confirma."


@dataclass(frozen=True)
class Wanted:
    """What a clerk wants to give back. Lines are those whose access goes with it."""

    amount_cents: int
    reason: str
    line_ids: frozenset[int] = frozenset()
    cancels_plan: bool = False


@dataclass(frozen=True)
class KnownRefund:
    """A refund as the provider has it now. `refund_id` is ours where the shop asked for it."""

    reference: str
    amount_cents: int
    status: Refund.Status
    refund_id: int | None = None
    reason: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Money:
    """What an order has brought and what went back, in cents. `cost` is what was due so far."""

    paid: int
    returned: int
    cost: int

    def less(self, cents: int) -> "Money":
        return Money(self.paid, self.returned + cents, self.cost)

    @property
    def is_whole(self) -> bool:
        return self.returned > 0 and self.returned >= self.paid

    @property
    def is_partial(self) -> bool:
        """Some of what it costs went back. A payment too many is no part of that."""
        return 0 < self.paid - self.returned < self.cost


# ---------------------------------------------------------------- what there is to give back
def money_of(order: Order) -> Money:
    payments = order.payments.filter(status=Payment.Status.SUCCEEDED, currency="eur")
    sums = payments.aggregate(paid=Sum("amount"), returned=Sum("refunded"))
    outside = Refund.objects.filter(payment__order=order, status=Status.OUTSIDE).aggregate(
        sum=Sum("amount")
    )["sum"]
    rows = list(order.instalments.all())
    cost = (
        sum(row.amount_cents for row in rows if row.status == Instalment.Status.PAID)
        if rows
        else order.total_cents
    )
    return Money(_cents(sums["paid"]), _cents(sums["returned"]) + _cents(outside), cost)


def refundable_payments(order: Order) -> list[tuple[Payment, int]]:
    """Payments with what of each can be given back, in the order in which it is.

    First those that were one too many, then the newest. Not those in dispute: the bank has the
    money, or will say who gets it.
    """
    payments = (
        order.payments.filter(status=Payment.Status.SUCCEEDED, currency="eur", amount__gt=0)
        .exclude(disputes__status__in=("open", "lost"))
        .order_by("-succeeded_at", "-pk")
    )
    left = [(payment, _left_of(payment)) for payment in payments]
    return sorted(
        [(payment, cents) for payment, cents in left if cents > 0],
        key=lambda row: not row[0].flag,
    )


def _left_of(payment: Payment) -> int:
    outside = payment.refunds.filter(status=Status.OUTSIDE).aggregate(sum=Sum("amount"))["sum"]
    return to_cents(payment.amount) - to_cents(payment.refunded) - _cents(outside)


def refundable_cents(order: Order) -> int:
    return sum(cents for _, cents in refundable_payments(order))


def lines_left(order: Order) -> QuerySet[OrderLine]:
    """Lines that were not given back yet."""
    gone = Refund.objects.exclude(reference="").filter(payment__order=order)
    return order.lines.exclude(refunds__in=gone)


def left_today_cents(user: Any) -> int:
    """What this clerk may still give back today (REFUND_DAILY_LIMIT, in euros)."""
    asked = (
        Refund.objects.filter(user=user, created_at__date=today())
        # What the provider refused has cost nothing.
        .exclude(status=Status.FAILED, reference="")
        .aggregate(sum=Sum("amount"))["sum"]
    )
    limit_cents: int = settings.REFUND_DAILY_LIMIT * 100
    return max(0, limit_cents - _cents(asked))


# ---------------------------------------------------------------- what would change
def preview(order: Order, wanted: Wanted) -> list[str]:
    """What giving that back would change, as Spanish sentences. Raises RefundRefused."""
    parts = _parts(order, wanted)
    after = money_of(order).less(wanted.amount_cents)
    sentences = [
        f"Se devuelven {format_euros(cents)} del pago {payment.reference} "
        f"({format_euros(to_cents(payment.amount))})."
        for payment, cents in parts
    ]
    return [*sentences, *_consequences(order, wanted, after)]


def _consequences(order: Order, wanted: Wanted, after: Money) -> list[str]:
    sentences = []
    if order.status not in SOLD:
        sentences.append(f"El pedido sigue como está: {order.get_status_display().lower()}.")
    elif after.is_whole:
        sentences.append("Es todo lo cobrado: el pedido queda como devuelto.")
        sentences.append("Se retira el acceso al aula de todo lo que abrió este pedido.")
    else:
        names = [line.name for line in lines_left(order).filter(pk__in=wanted.line_ids)]
        sentences.append(
            f"Se retira el acceso a: {', '.join(names)}."
            if names
            else "El acceso al aula no cambia."
        )
        if not after.is_partial and not wanted.cancels_plan:
            sentences.append("Era dinero de más: el pedido sigue pagado.")
    sentences += give_back.preview_plan(order, ends=_ends_plan(order, wanted, after))
    sentences += give_back.preview_reward(
        order, lost=_loses_reward(order, after, set(wanted.line_ids))
    )
    if order.promo_code is not None:
        sentences.append(
            f"El uso del código {order.promo_code.code} sigue contando: no se puede usar otra vez."
        )
    return sentences


def _ends_plan(order: Order, wanted: Wanted, after: Money) -> bool:
    return order.status in SOLD and (after.is_whole or wanted.cancels_plan)


def _loses_reward(order: Order, after: Money, line_ids: set[int]) -> bool:
    """A friend's order earns a reward by a complete subject that is bought and kept."""
    if order.status not in SOLD:
        return False
    if after.is_whole:
        return True
    kept = lines_left(order).filter(lesson=None).exclude(pk__in=line_ids)
    return bool(line_ids) and not kept.exists()


def _parts(order: Order, wanted: Wanted) -> list[tuple[Payment, int]]:
    """How much of which payment. Raises RefundRefused."""
    available = refundable_payments(order)
    most = sum(cents for _, cents in available)
    if not wanted.reason.strip():
        raise RefundRefused("Escribe el motivo.")
    if not available:
        disputed = order.payments.filter(disputes__status__in=("open", "lost")).exists()
        raise RefundRefused(
            "El pago está en disputa: decide el banco, y aquí no se puede devolver."
            if disputed
            else "No queda nada que devolver de este pedido."
        )
    if not 0 < wanted.amount_cents <= most:
        raise RefundRefused(f"Se pueden devolver entre 0,01 € y {format_euros(most)}.")
    if _ends_plan(order, wanted, money_of(order).less(wanted.amount_cents)):
        _refuse_while_charging(order)
    parts, left = [], wanted.amount_cents
    for payment, cents in available:
        if left:
            parts.append((payment, min(cents, left)))
            left -= min(cents, left)
    return parts


def _refuse_while_charging(order: Order) -> None:
    charging = InstalmentAttempt.objects.filter(
        instalment__order=order,
        kind=InstalmentAttempt.Kind.AUTOMATIC,
        outcome__in=("started", "processing"),
    )
    if charging.exists() or order.payments.filter(status=Payment.Status.PROCESSING).exists():
        raise RefundRefused(
            "Ahora mismo se está cobrando un plazo de este pedido. Espera unos minutos."
        )


# ---------------------------------------------------------------- asked for by a clerk
@transaction.atomic
def begin(*, order_id: int, wanted: Wanted, batch: str, user: Any, seen_cents: int) -> list[int]:
    """Write down a confirmed refund, before the provider is asked; the ids of its parts.

    The same batch again (a second click) gives the same parts. `seen_cents` is what could be given
    back when the clerk saw the preview. Raises RefundRefused, OutOfDate.
    """
    user = get_user_model().objects.select_for_update().get(pk=user.pk)
    order = locked_order(order_id)
    there = Refund.objects.filter(batch=batch, payment__order=order).order_by("pk")
    if there.exists():
        return list(there.values_list("pk", flat=True))
    list(order.payments.select_for_update())
    parts = _parts(order, wanted)
    if refundable_cents(order) != seen_cents:
        raise OutOfDate
    left_today = left_today_cents(user)
    if wanted.amount_cents > left_today:
        raise RefundRefused(
            f"Pasa de lo que puedes devolver en un día: hoy te quedan {format_euros(left_today)}."
        )
    lines = list(lines_left(order).filter(pk__in=wanted.line_ids))
    actor, ids = user.get_username(), []
    for payment, cents in parts:
        refund = Refund.objects.create(
            payment=payment,
            batch=batch,
            amount=to_euros(cents),
            reason=wanted.reason.strip()[:300],
            cancels_plan=wanted.cancels_plan,
            user=user,
            actor=actor,
        )
        refund.lines.set(lines)
        _count(payment)
        ids.append(refund.pk)
    amount = format_euros(wanted.amount_cents)
    note(order, actor=actor, reason=f"Devolución de {amount} pedida: {wanted.reason}"[:300])
    return ids


@transaction.atomic
def refuse(*, refund_id: int, problem: str) -> None:
    """The provider will not do it: no money moved. What else the batch has done takes effect."""
    refund = Refund.objects.select_related("payment").get(pk=refund_id)
    order = locked_order(refund.payment.order_id or 0)
    payment = Payment.objects.select_for_update().get(pk=refund.payment_id)
    refund = Refund.objects.select_for_update(of=("self",)).get(pk=refund_id)
    if refund.status != Status.REQUESTED:
        return
    _fail(refund, problem)
    _count(payment)
    amount = format_euros(refund.amount_cents)
    note(order, actor="Stripe", reason=f"Devolución de {amount} rechazada: {problem}"[:300])
    _finish_batch(order, refund.batch)


# ---------------------------------------------------------------- what the provider says
@transaction.atomic
def record(*, payment_id: int, known: Sequence[KnownRefund]) -> bool:
    """Record all refunds of a payment as the provider has them; True where there was news.

    From the admin, the webhook and reconciliation alike: once, in any order, however often. A
    refund that the shop did not ask for was made in the provider's dashboard. One that the bank
    sent back stays decided: the order keeps its status, and staff are told to pay it otherwise.
    """
    found = Payment.objects.get(pk=payment_id)
    if found.order_id is None:
        return False
    order = locked_order(found.order_id)
    payment = Payment.objects.select_for_update().get(pk=payment_id)
    changed, made, came_back = False, [], []
    for there in known:
        refund, is_new = _row_of(payment, there)
        before = "" if is_new else refund.status
        if not _goes_forward(refund, there, is_new=is_new):
            continue
        changed = True
        refund.reference = there.reference
        refund.amount = to_euros(there.amount_cents)
        refund.status = there.status
        refund.problem = there.problem[:200]
        refund.settled_at = None if there.status == Status.PENDING else timezone.now()
        refund.save()
        if before in ("", Status.REQUESTED, Status.FAILED):
            made.append(refund.batch)
        if there.status == Status.FAILED:
            came_back.append(refund)
    if not changed:
        return False
    _give_way(payment)
    _count(payment)
    for batch in dict.fromkeys(made):
        _finish_batch(order, batch)
    for refund in came_back:
        _tell_came_back(order, refund)
    return True


RANK = {Status.PENDING: 1, Status.SUCCEEDED: 2, Status.FAILED: 3, Status.OUTSIDE: 4}


def _row_of(payment: Payment, there: KnownRefund) -> tuple[Refund, bool]:
    rows = Refund.objects.select_for_update().filter(payment=payment)
    own = rows.filter(reference=there.reference).first()
    if own is None and there.refund_id is not None:
        own = rows.filter(pk=there.refund_id, reference="").first()
    if own is not None:
        return own, False
    reason = there.reason or "Hecha en el panel de Stripe"
    return Refund(payment=payment, batch=there.reference, reason=reason, actor="Stripe"), True


def _goes_forward(refund: Refund, there: KnownRefund, *, is_new: bool) -> bool:
    """Whether this is news. What was learnt a moment later may be recorded a moment earlier."""
    if is_new or not refund.reference:
        return True
    return RANK[there.status] > RANK[Refund.Status(refund.status)]


def is_news(known: KnownRefund) -> bool:
    """Whether the provider says something of a refund that is not written here."""
    there = Refund.objects.filter(reference=known.reference).first()
    return there is None or _goes_forward(there, known, is_new=False)


def _give_way(payment: Payment) -> None:
    """Requests that there is no money left for fail: it went back in the dashboard meanwhile."""
    requested = Refund.objects.select_for_update().filter(payment=payment, status=Status.REQUESTED)
    for refund in requested.order_by("-pk"):
        if _under_way(payment) > to_cents(payment.amount):
            _fail(refund, "Ya se había devuelto en Stripe")


def _fail(refund: Refund, problem: str) -> None:
    refund.status = Status.FAILED
    refund.problem = problem[:200]
    refund.settled_at = timezone.now()
    refund.save()


def _under_way(payment: Payment) -> int:
    rows = Refund.objects.filter(payment=payment, status__in=UNDER_WAY)
    return _cents(rows.aggregate(sum=Sum("amount"))["sum"])


def _count(payment: Payment) -> None:
    payment.refunded = to_euros(_under_way(payment))
    payment.save(update_fields=["refunded"])


def _finish_batch(order: Order, batch: str) -> None:
    """Let a batch take effect once no part of it is in the open any more."""
    rows = list(Refund.objects.filter(batch=batch, payment__order=order).order_by("pk"))
    made = [row for row in rows if row.reference]
    if made and all(row.status != Status.REQUESTED for row in rows):
        _take_effect(order, made)


def _take_effect(order: Order, made: list[Refund]) -> None:
    cents = sum(row.amount_cents for row in made)
    # What came back before anybody heard of it was given back all the same.
    lost = sum(row.amount_cents for row in made if row.status == Status.FAILED)
    after = money_of(order).less(lost)
    wanted = Wanted(
        cents,
        made[0].reason,
        frozenset(made[0].lines.values_list("pk", flat=True)),
        made[0].cancels_plan,
    )
    reason = f"Devueltos {format_euros(cents)}: {wanted.reason}"[:300]
    actor = made[0].actor
    if order.status in SOLD:
        _change_what_was_bought(order, wanted, after, actor=actor, reason=reason)
    else:
        note(order, actor=actor, reason=reason)
    ids = [row.pk for row in made]
    # Both name the batch: however often it is reported, one mail each.
    queue_mail(
        key=f"refund-made:{made[0].batch}",
        template="refund_made",
        to=order.email,
        context={"refund_ids": ids},
    )
    queue_mail(
        key=f"refund-owner:{made[0].batch}",
        template="refund_owner",
        to=settings.STAFF_EMAIL,
        context={"refund_ids": ids},
    )


def _change_what_was_bought(
    order: Order, wanted: Wanted, after: Money, *, actor: str, reason: str
) -> None:
    lines = list(OrderLine.objects.filter(order=order, pk__in=wanted.line_ids))
    if _loses_reward(order, after, set(wanted.line_ids)):
        cancel_reward(order, "pedido devuelto", actor=actor)
    if _ends_plan(order, wanted, after):
        give_back.cancel_plan(order, actor=actor)
    if after.is_whole:
        give_back.withdraw(order)
        change_status(order, Order.Status.REFUNDED, actor=actor, reason=reason)
        return
    if lines:
        give_back.withdraw(order, lines)
    plan_goes_on = order.status in PLAN_RUNS and not wanted.cancels_plan
    partly = after.is_partial or wanted.cancels_plan
    if partly and not plan_goes_on and order.status != Order.Status.PARTIALLY_REFUNDED:
        change_status(order, Order.Status.PARTIALLY_REFUNDED, actor=actor, reason=reason)
    else:
        note(order, actor=actor, reason=reason)


def keep_partly_refunded(order: Order, *, actor: str) -> None:
    """A plan that went on after a part was given back ends as what it is: refunded in part."""
    if money_of(order).is_partial:
        change_status(
            order,
            Order.Status.PARTIALLY_REFUNDED,
            actor=actor,
            reason="Pagado del todo, y antes devuelto en parte",
        )


# ---------------------------------------------------------------- what came back
def _tell_came_back(order: Order, refund: Refund) -> None:
    reason = (
        f"El banco no ha aceptado la devolución de {format_euros(refund.amount_cents)}, y el "
        "dinero vuelve a estar en Stripe: hay que devolverlo otra vez o por otra vía"
    )
    flag(order, actor="Stripe", reason=reason)
    tell_staff(order, occasion=f"refund-failed-{refund.pk}", reason=reason)


def came_back() -> QuerySet[Refund]:
    """Refunds that the buyer has not got, and that no later one of the payment makes good."""
    later = Refund.objects.filter(
        payment=OuterRef("payment"),
        pk__gt=OuterRef("pk"),
        status__in=(*UNDER_WAY, Status.OUTSIDE),
    )
    failed = Refund.objects.filter(status=Status.FAILED).exclude(reference="")
    return failed.filter(~Exists(later))


@transaction.atomic
def settle_outside(refund_ids: Iterable[int], *, actor: str) -> int:
    """Record that what came back was given to the buyer otherwise; of how many this was news."""
    done = 0
    for refund in Refund.objects.filter(pk__in=list(refund_ids)).select_related("payment"):
        order = locked_order(refund.payment.order_id or 0)
        changed = (
            Refund.objects.filter(pk=refund.pk, status=Status.FAILED)
            .exclude(reference="")
            .update(status=Status.OUTSIDE, settled_at=timezone.now())
        )
        if changed:
            amount = format_euros(refund.amount_cents)
            note(order, actor=actor, reason=f"{amount} devueltos por otra vía ({refund})")
        done += changed
    return done


def _cents(amount: Any) -> int:
    return to_cents(amount) if amount else 0
