"""The month's movements for the accountant: one line for each change of money, as CSV or XLSX."""

import io
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, cast

from django.db.models import Sum
from django.utils import timezone

from apps.backoffice.reports.figures import (
    PAYOUTS,
    by_stripe,
    payments_in,
    payouts_in,
    refunds_by_other_means,
    refunds_of_transfers,
)
from apps.backoffice.reports.month import Month
from apps.core.money import to_cents, to_euros
from apps.core.staff.spreadsheets import as_text
from apps.orders.models import Payment
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
EURO_FORMAT = '#,##0.00 "€"'
BATCH = 500

Cells = Sequence[Any]


def movements(month: Month) -> Iterator[Cells]:
    """Stripe's movements, then payments and refunds without Stripe, then the totals.

    Money is a Decimal in euros, all other cells are text. The totals leave out what went to the
    bank, so that they are what the month earned.
    """
    total = [Decimal(0)] * 3
    for kind, cells in (*_of_stripe(month), *_elsewhere(month)):
        yield cells
        if kind not in PAYOUTS:
            total = [sum_ + cell for sum_, cell in zip(total, cells[5:8], strict=True)]
    yield ("", "Total sin ingresos en el banco", "", "", "", *total, "", "")


def _of_stripe(month: Month) -> Iterator[tuple[str, Cells]]:
    entries = BalanceEntry.objects.filter(
        currency="eur", of_other_shop=False,
        created_at__gte=month.start, created_at__lt=month.end,
    )  # fmt: skip
    found = list(entries.select_related("payout").order_by("created_at", "pk"))
    orders = _orders_of([entry.payment_reference for entry in found])
    for entry in found:
        yield (
            entry.kind,
            (
                _moment(entry.created_at),
                KINDS.get(entry.kind, entry.kind),
                orders.get(entry.payment_reference, ""),
                entry.reference,
                entry.payment_reference,
                to_euros(entry.amount_cents),
                to_euros(-entry.fee_cents),
                to_euros(entry.net_cents),
                entry.payout.reference if entry.payout else "",
                f"{entry.payout.arrives_on:%d/%m/%Y}" if entry.payout else "",
            ),
        )


def _orders_of(references: list[str]) -> dict[str, str]:
    """The numbers of the orders that these payments belong to, as text."""
    names = sorted({name for name in references if name})
    return {
        reference: str(order_id)
        for start in range(0, len(names), BATCH)
        for reference, order_id in Payment.objects.filter(
            reference__in=names[start : start + BATCH], order__isnull=False
        ).values_list("reference", "order_id")
    }


def _elsewhere(month: Month) -> Iterator[tuple[str, Cells]]:
    payments = payments_in(month).exclude(by_stripe()).filter(amount__gt=0)
    for payment in payments.order_by("succeeded_at", "pk"):
        yield _line(payment.succeeded_at, "Cobro sin Stripe", payment, to_cents(payment.amount))
    for refunds, moment in (
        (refunds_of_transfers(month), "created_at"), (refunds_by_other_means(month), "settled_at")
    ):  # fmt: skip
        for refund in refunds.select_related("payment").order_by(moment, "pk"):
            at, cents = getattr(refund, moment), -refund.amount_cents
            yield _line(at, "Devolución sin Stripe", refund.payment, cents)


def _line(at: Any, label: str, payment: Payment, cents: int) -> tuple[str, Cells]:
    amount = to_euros(cents)
    cells = (
        _moment(at), label, str(payment.order_id or ""), "", payment.reference,
        amount, to_euros(0), amount, "", "",
    )  # fmt: skip
    return "elsewhere", cells


def payouts(month: Month) -> Iterator[Cells]:
    """The month's payouts beside the sum of the movements that each consists of."""
    made = payouts_in(month)
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


def as_workbook(month: Month) -> bytes:
    """Both tables as XLSX. Money is a number, so that a spreadsheet adds it up."""
    # Imported here because openpyxl takes 5 MB of each process that imports it.
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    for title, headings, rows in (
        ("Movimientos", HEADINGS, movements(month)),
        ("Ingresos", PAYOUT_HEADINGS, payouts(month)),
    ):
        sheet: Any = book.create_sheet(title)
        sheet.freeze_panes = "A2"
        sheet.append(headings)
        for row in rows:
            sheet.append([_cell(sheet, value) for value in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cell(sheet: Any, value: Any) -> Any:
    """A number with the format of euros, or a text that no spreadsheet runs as a formula."""
    if not isinstance(value, Decimal):
        return as_text(value)
    from openpyxl.cell import WriteOnlyCell

    # openpyxl writes a Decimal exactly; its types lack it.
    cell = WriteOnlyCell(sheet, value=cast(Any, value))
    cell.number_format = EURO_FORMAT
    return cell


def _moment(at: Any) -> str:
    return f"{timezone.localtime(at):%d/%m/%Y %H:%M:%S}" if at else ""
