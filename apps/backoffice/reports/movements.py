"""The period's movements for the accountant: one line for each change of money, as CSV or XLSX."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet, Sum
from django.utils import timezone

from apps.backoffice.reports.figures import NAMED_WAYS, PAYOUTS, payouts_in
from apps.core.money import to_cents, to_euros
from apps.core.period import Period
from apps.orders.ledger.money_by_period import (
    by_stripe,
    movements_in,
    payments_in,
    refunds_by_other_means,
    refunds_of_transfers,
    unmatched_in,
)
from apps.orders.models import Payment, Refund
from apps.orders.models.statuses import PaymentKind
from apps.payments.models import BalanceEntry

HEADINGS = (
    "Fecha", "Tipo", "Pedido", "Movimiento", "Pago", "Importe", "Comisión", "Neto", "Ingreso",
    "Llega al banco",
)  # fmt: skip
PAYOUT_HEADINGS = (
    "Ingreso", "Creado", "Llega al banco", "Estado", "Importe", "Suma de sus movimientos",
    "Diferencia",
)  # fmt: skip
KINDS = {
    "charge": "Cobro",
    "charge_failure": "Cobro fallido",
    "refund": "Devolución",
    "refund_failure": "Devolución rechazada por el banco",
    "dispute": "Disputa",
    "dispute_reversal": "Disputa ganada",
    "fee": "Comisión de Stripe",
    "payout": "Ingreso en el banco",
    "payout_reversal": "Ingreso que el banco no aceptó",
}
BATCH = 500
# A file of so many movements is written in about 10 seconds.
MOST_ROWS = 50_000

Cells = Sequence[Any]
# Title, headings and rows.
Sheet = tuple[str, Sequence[str], Iterable[Cells]]


def movements(period: Period) -> Iterator[Cells]:
    """Stripe's movements, then payments and refunds without Stripe, then the totals.

    Money is a Decimal in euros, all other cells are text. The totals leave out what went to the
    bank, so that they are what the period earned.
    """
    total = [Decimal(0)] * 3
    for kind, cells in (*_of_stripe(period), *_elsewhere(period)):
        yield cells
        if kind not in PAYOUTS:
            total = [sum_ + cell for sum_, cell in zip(total, cells[5:8], strict=True)]
    yield ("", "Total sin ingresos en el banco", "", "", "", *total, "", "")


def _entries(period: Period) -> QuerySet[BalanceEntry]:
    return BalanceEntry.objects.filter(
        currency="eur", of_other_shop=False,
        created_at__gte=period.start, created_at__lt=period.end,
    )  # fmt: skip


def _of_stripe(period: Period) -> Iterator[tuple[str, Cells]]:
    found = list(_entries(period).select_related("payout").order_by("created_at", "pk"))
    orders = _orders_of([entry.payment_reference for entry in found])
    for entry in found:
        order, way = orders.get(entry.payment_reference, ("", ""))
        yield (
            entry.kind,
            (
                _moment(entry.created_at),
                _kind_label(entry.kind, way),
                order,
                entry.reference,
                entry.payment_reference,
                to_euros(entry.amount_cents),
                to_euros(-entry.fee_cents),
                to_euros(entry.net_cents),
                entry.payout.reference if entry.payout else "",
                f"{entry.payout.arrives_on:%d/%m/%Y}" if entry.payout else "",
            ),
        )


def _kind_label(kind: str, way: str) -> str:
    """The kind of a movement: "Cobro", or "Cobro (Bizum)" if it is not a card's."""
    name = KINDS.get(kind, kind)
    return f"{name} ({PaymentKind(way).label})" if way in NAMED_WAYS else name


def _orders_of(references: list[str]) -> dict[str, tuple[str, str]]:
    """The orders that these payments belong to: the number as text, and the payment's kind."""
    names = sorted({name for name in references if name})
    return {
        reference: (str(order_id), kind)
        for start in range(0, len(names), BATCH)
        for reference, order_id, kind in Payment.objects.filter(
            reference__in=names[start : start + BATCH], order__isnull=False
        ).values_list("reference", "order_id", "kind")
    }


def _elsewhere(period: Period) -> Iterator[tuple[str, Cells]]:
    payments = payments_in(period).exclude(by_stripe()).filter(amount__gt=0)
    for payment in payments.order_by("succeeded_at", "pk"):
        is_credit = payment.kind == Payment.Kind.CREDIT
        label = "Cambio, pagado con otro pedido" if is_credit else "Cobro sin Stripe"
        yield _line(payment.succeeded_at, label, payment, to_cents(payment.amount))
    for refunds, moment in (
        (refunds_of_transfers(period), "created_at"), (refunds_by_other_means(period), "settled_at")
    ):  # fmt: skip
        for refund in refunds.select_related("payment").order_by(moment, "pk"):
            at, cents = getattr(refund, moment), -refund.amount_cents
            is_credit = refund.status == Refund.Status.CREDITED
            label = "Cambio, paga otro pedido" if is_credit else "Devolución sin Stripe"
            yield _line(at, label, refund.payment, cents)


def _line(at: Any, label: str, payment: Payment, cents: int) -> tuple[str, Cells]:
    amount = to_euros(cents)
    cells = (
        _moment(at), label, str(payment.order_id or ""), "", payment.reference,
        amount, to_euros(0), amount, "", "",
    )  # fmt: skip
    return "elsewhere", cells


def payouts(period: Period) -> Iterator[Cells]:
    """The period's payouts beside the sum of the movements that each consists of."""
    made = payouts_in(period)
    # A payout that the bank sent back is a part of the next one.
    parts = dict(
        BalanceEntry.objects.filter(payout__in=made.order_by())
        .exclude(kind="payout")
        .order_by("payout")
        .values_list("payout")
        .annotate(sum=Sum("net_cents"))
    )
    for payout in made:
        sum_cents = parts.get(payout.pk, 0)
        yield (
            payout.reference,
            _moment(payout.created_at),
            f"{payout.arrives_on:%d/%m/%Y}",
            payout.status,
            to_euros(payout.amount_cents),
            to_euros(sum_cents),
            to_euros(payout.amount_cents - sum_cents),
        )


def sheets_of(period: Period) -> tuple[Sheet, ...]:
    """Both tables. Money is a number, so that a spreadsheet adds it up."""
    return (
        ("Movimientos", HEADINGS, movements(period)),
        ("Ingresos", PAYOUT_HEADINGS, payouts(period)),
    )


def is_too_long(period: Period) -> bool:
    """Whether the period has more movements than a table or a file may be made of."""
    counted = (_entries(period), unmatched_in(period), *(rows for rows, *_ in movements_in(period)))
    return any(rows.order_by()[: MOST_ROWS + 1].count() > MOST_ROWS for rows in counted)


def _moment(at: Any) -> str:
    return f"{timezone.localtime(at):%d/%m/%Y %H:%M:%S}" if at else ""
