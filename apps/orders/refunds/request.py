"""Refunds that staff confirm, and their rejection by the provider.

A refund is recorded before the provider is called
(docs/decisions/0018-refunds-are-written-down-first.md).
"""

from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils.text import Truncator

from apps.core.errors import Conflict, Invalid
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.balance import balance_of, count_refunded
from apps.orders.ledger.disputed_credit import disputed_credit_cents
from apps.orders.ledger.history import flag, note
from apps.orders.ledger.lines import order_money
from apps.orders.ledger.locks import locked_order
from apps.orders.models import InstalmentAttempt, Order, OrderLine, Payment, Refund, StaffOrder
from apps.orders.models.statuses import (
    ATTEMPT_UNSETTLED,
    DISPUTE_HELD,
    UNPAID,
    EventKind,
)
from apps.orders.offer.lesson_credit import credited_lines, unpaid_wholes
from apps.orders.refunds.available import (
    left_today_cents,
    refundable_cents,
    refundable_payments,
    waiting_rests_words,
)
from apps.orders.refunds.effects import (
    RefundRequest,
    apply_refund_effects,
    ends_order,
    ends_plan,
    forgiven_cents,
)
from apps.orders.refunds.record import fail_refund


class RefundRefused(Invalid):
    """The refund is not possible. The message gives the reason in Spanish."""


class OutOfDate(Conflict):
    message = "El pedido ha cambiado mientras tanto. Mira otra vez lo que cambiaría y confirma."


def split_over_payments(order: Order, request: RefundRequest) -> list[tuple[Payment, int]]:
    """Which payments are refunded, and how many cents of each.

    Raises RefundRefused if the reason is missing, if the amount can't be refunded, if a line is
    refunded already or was paid less, or if the refund ends a plan while an instalment is being
    charged.
    """
    available = refundable_payments(order)
    _check_amount(order, request, sum(cents for _, cents in available))
    _check_lines(order, request)
    refuse_credited(order, request)
    if ends_plan(order, request, balance_of(order).less(request.amount_cents)):
        _refuse_while_charging(order)
    parts, left = [], request.amount_cents
    for payment, cents in available:
        if left:
            parts.append((payment, min(cents, left)))
            left -= min(cents, left)
    return parts


def refuse_while_exchanging(order: Order) -> None:
    """Raise RefundRefused while what was paid for a line waits to pay another order."""
    exchange = StaffOrder.objects.waiting_exchanges(order).first()
    if exchange is not None:
        raise RefundRefused(
            f"Una línea se va a cambiar por el pedido {exchange.order_id}, que espera su pago: "
            "anula primero ese pedido."
        )


def _check_amount(order: Order, request: RefundRequest, most: int) -> None:
    if not request.reason.strip():
        raise RefundRefused("Escribe el motivo.")
    if not most:
        disputes = order.payments.filter(disputes__status__in=DISPUTE_HELD)
        is_disputed = disputes.exists() or disputed_credit_cents(order) > 0
        raise RefundRefused(
            "El pago está en disputa: decide el banco, y aquí no se puede devolver."
            if is_disputed
            else "No queda nada que devolver de este pedido."
        )
    if not 0 < request.amount_cents <= most:
        raise RefundRefused(f"Se pueden devolver entre 0,01 € y {format_euros(most)}.")


def _check_lines(order: Order, request: RefundRequest) -> None:
    if not request.line_ids:
        return
    if order.status in UNPAID:
        # A part of a transfer that is given back is for none of the lines: a later payment buys
        # all of them.
        raise RefundRefused(
            "El pedido no está pagado: devuelve el importe sin marcar ninguna línea."
        )
    money = order_money(order)
    chosen = [row for row in money.lines if row.line.pk in request.line_ids]
    if len(chosen) < len(request.line_ids) or any(row.is_refunded for row in chosen):
        raise RefundRefused("Algo de lo marcado ya está devuelto. Mira otra vez el pedido.")
    if balance_of(order).less(request.amount_cents).is_whole:
        return
    if money.excess_left:
        raise RefundRefused(
            f"Se cobraron {format_euros(money.excess_left)} de más: devuelve primero ese importe, "
            "sin marcar ninguna línea."
        )
    most = sum(row.left for row in chosen)
    if request.amount_cents > most:
        raise RefundRefused(
            f"De lo marcado se pueden devolver {format_euros(most)}. Lo que pase de ahí se "
            "devuelve aparte, sin marcar ninguna línea."
        )


def refuse_credited(order: Order, request: RefundRequest) -> None:
    """Raise RefundRefused for what a later order counts as paid for the whole subject.

    An order that cost nothing besides can't be refunded first: it ends with the lesson.
    """
    credited = credited_lines(order)
    ending = unpaid_wholes(order, request.line_ids)
    rows = [row for row in order_money(order).lines if row.line.pk in credited.keys() - ending]
    rows = [row for row in rows if row.left and not row.is_refunded]
    if not rows:
        return
    balance = balance_of(order)
    left = balance.paid - balance.returned - sum(row.left for row in rows)
    chosen = [row for row in rows if row.line.pk in request.line_ids]
    if chosen or request.amount_cents > left:
        line = (chosen or rows)[0].line
        whole = credited[line.pk].pk
        if unpaid_wholes(order, {line.pk}):
            raise RefundRefused(
                f"«{line}» se descontó del pedido {whole}, que no costó nada más: márcala, y con "
                "ella se retira la asignatura completa."
            )
        raise RefundRefused(
            f"«{line}» se descontó del pedido {whole}: devuelve primero la asignatura completa de "
            "ese pedido."
        )


def _refuse_while_charging(order: Order) -> None:
    charging = InstalmentAttempt.objects.filter(
        instalment__order=order,
        kind=InstalmentAttempt.Kind.AUTOMATIC,
        outcome__in=ATTEMPT_UNSETTLED,
    )
    if charging.exists() or order.payments.filter(status=Payment.Status.PROCESSING).exists():
        raise RefundRefused(
            "Ahora mismo se está cobrando un plazo de este pedido. Espera unos minutos."
        )


@transaction.atomic
def request_refund(
    *, order_id: int, request: RefundRequest, batch: str, user: Any, seen_cents: int
) -> list[int]:
    """Record a confirmed refund before the provider is called. Returns the ids of its parts.

    A refund has one part for each payment. `batch` is its idempotency key: a second click of the
    same clerk returns the same parts. The batch of another clerk, or of an exchange, raises
    OutOfDate: a form can't go on with a refund that it has not requested. `seen_cents` is the
    refundable amount that the preview showed to the clerk. A refund that ends the order or its plan
    stops all charges from now on (`ledger.plan_end`). Raises RefundRefused, also above the clerk's
    daily limit, and OutOfDate if the refundable amount has changed since the preview.
    """
    user = get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    order = locked_order(order_id)
    repeated = Refund.objects.filter(batch=batch, payment__order=order).order_by("pk")
    if any(part.user_id != user.pk or part.credited_to_id for part in repeated):
        raise OutOfDate
    if repeated:
        return [part.pk for part in repeated]
    list(order.payments.select_for_update(no_key=True))
    refuse_while_exchanging(order)
    parts = split_over_payments(order, request)
    if refundable_cents(order) != seen_cents:
        raise OutOfDate
    forgiven = forgiven_cents(order, request, balance_of(order).less(request.amount_cents))
    check_daily_limit(user, request.amount_cents, forgiven_cents=forgiven)
    ids = _write(order, request, parts, batch=batch, user=user)
    if forgiven:
        Refund.objects.filter(pk=ids[0]).update(forgiven=to_euros(forgiven))
    note(
        order,
        kind=EventKind.REFUND_REQUESTED,
        actor=user.get_username(),
        reason=f"{requested_words(order, batch)}: {request.reason}",
    )
    return ids


def requested_words(order: Order, batch: str) -> str:
    """Spanish words for history and staff log: the refund's amount, what it forgives, its lines."""
    parts = Refund.objects.filter(batch=batch, payment__order=order, follows=None)
    words = f"Devolución de {format_euros(sum(row.amount_cents for row in parts))} pedida"
    if forgiven := sum(to_cents(row.forgiven) for row in parts):
        words += f", que perdona {format_euros(forgiven)} de plazos"
    lines = OrderLine.objects.filter(refunds__in=parts).distinct().order_by("pk")
    if names := ", ".join(line.name for line in lines):
        # The history has 600 letters for all of it, and the reason comes last.
        words += f", de {Truncator(names).chars(250)}"
    return words


def check_daily_limit(user: Any, cents: int, *, forgiven_cents: int = 0) -> None:
    """Raise RefundRefused if the clerk may not give so much back, and forgive so much, today."""
    left = left_today_cents(user)
    if cents + forgiven_cents > left:
        forgiven = (
            f" Los {format_euros(forgiven_cents)} de plazos que perdonas también cuentan."
            if forgiven_cents
            else ""
        )
        raise RefundRefused(
            f"Pasa de lo que puedes devolver en un día: hoy te quedan {format_euros(left)}"
            f"{waiting_rests_words(user)}.{forgiven}"
        )


def _write(
    order: Order,
    request: RefundRequest,
    parts: list[tuple[Payment, int]],
    *,
    batch: str,
    user: Any,
) -> list[int]:
    ends = ends_order(order, balance_of(order).less(request.amount_cents))
    lines = list(order.lines.filter(pk__in=request.line_ids))
    ids = []
    for payment, cents in parts:
        refund = Refund.objects.create(
            payment=payment,
            batch=batch,
            amount=to_euros(cents),
            reason=request.reason.strip()[:300],
            cancels_plan=request.cancels_plan,
            ends_order=ends,
            user=user,
            actor=user.get_username(),
        )
        refund.lines.set(lines)
        count_refunded(payment)
        ids.append(refund.pk)
    return ids


@transaction.atomic
def reject_refund(*, refund_id: int, problem: str, provider: str, is_watched: bool) -> None:
    """Record that the provider rejected a part of a refund, so that its money has not moved.

    If all parts are rejected, the plan goes on as before. Otherwise the accepted parts take effect.
    Staff are mailed unless a clerk is waiting for the answer (`is_watched`). If the order is
    already refunded, or the payment arrived after the refund, the order is flagged, too.
    """
    refund = Refund.objects.select_related("payment").get(pk=refund_id)
    order = locked_order(refund.payment.order_id or 0)
    payment = Payment.objects.select_for_update(no_key=True).get(pk=refund.payment_id)
    refund = Refund.objects.select_for_update(no_key=True, of=("self",)).get(pk=refund_id)
    if refund.status != Refund.Status.REQUESTED:
        return
    fail_refund(refund, problem)
    count_refunded(payment)
    apply_refund_effects(order, refund.batch)
    _announce_rejection(order, refund, provider=provider, is_watched=is_watched)


def _announce_rejection(order: Order, refund: Refund, *, provider: str, is_watched: bool) -> None:
    amount = format_euros(refund.amount_cents)
    note(
        order,
        kind=EventKind.REFUND_REJECTED,
        actor=provider,
        reason=f"Devolución de {amount} rechazada: {refund.problem}",
    )
    reason = f"No se ha devuelto el pago {refund.payment} ({amount}): {refund.problem}"
    leaves_order_unsettled = refund.follows is not None or order.status == Order.Status.REFUNDED
    if leaves_order_unsettled:
        flag(order, kind=EventKind.REFUND_INCOMPLETE, actor=provider, reason=reason)
    if leaves_order_unsettled or not is_watched:
        alert_staff(order, occasion=f"refund-rejected-{refund.pk}", reason=reason)
