"""Issuing invoices: the only module that creates them.

It compares what the invoices of an order add up to with what they must add up to, and issues what
is missing. So it is safe to repeat, and a change that was missed is found by the next run
(docs/rules.md, "Invoices").
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.catalogue.vat import Vat
from apps.core.mail.outbox import queue_mail
from apps.core.models import SiteSettings
from apps.core.money import to_euros
from apps.invoices.amounts import TaxLine, change_totals, difference
from apps.invoices.expected import expected_cents
from apps.invoices.models import BillingDetails, Invoice, PendingInvoice
from apps.invoices.numbering import NumbersUnknown, next_number
from apps.invoices.snapshot import (
    RefundedLine,
    SellerDataMissing,
    build_content,
    corrective_content,
    recipient_content,
    replacement_content,
    tax_lines_of,
    vat_of,
)
from apps.invoices.verifactu.records import record_issue
from apps.orders.ledger.lines import order_money
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Order, OrderLine, Refund
from apps.orders.models.statuses import EVER_PAID

Kind = Invoice.Kind
# Real Decreto 1619/2012, article 4: above this an invoice names its recipient.
SIMPLIFIED_LIMIT_CENTS = 400_00
_CORRECTIVE_OF = {
    Kind.FULL: Kind.CORRECTIVE,
    Kind.REPLACEMENT: Kind.CORRECTIVE,
    Kind.RECIPIENT_CORRECTIVE: Kind.CORRECTIVE,
    Kind.SIMPLIFIED: Kind.SIMPLIFIED_CORRECTIVE,
}


class OverSimplifiedLimit(Exception):
    """The order is too large for a simplified invoice, and the buyer gave no details."""


@dataclass(frozen=True)
class _State:
    """The invoices of an order that count: the first one and what all add up to, by rate."""

    root: Invoice
    totals: dict[Vat, int]
    taxes: list[TaxLine]

    @property
    def total(self) -> int:
        return sum(self.totals.values())


@transaction.atomic
def bring_up_to_date(order_id: int) -> list[Invoice]:
    """Issue the invoices that the order lacks, and return them.

    Raises SellerDataMissing, OverSimplifiedLimit and NumbersUnknown; then nothing is issued.
    """
    order = locked_order(order_id)
    issued = [*_first_invoice(order), *_replacement(order), *_corrective(order)]
    PendingInvoice.objects.filter(order=order).delete()
    for invoice in issued:
        _hand_out(invoice)
    return issued


def _hand_out(invoice: Invoice) -> None:
    record_issue(invoice)
    send_invoice(invoice)


def try_to_issue(order_id: int) -> bool:
    """As `bring_up_to_date`, but a problem is kept with the order. False if it has to wait."""
    try:
        bring_up_to_date(order_id)
    except SellerDataMissing:
        return _keep_waiting(order_id, PendingInvoice.Problem.SELLER_DATA)
    except OverSimplifiedLimit:
        return _keep_waiting(order_id, PendingInvoice.Problem.OVER_LIMIT)
    except NumbersUnknown:
        return _keep_waiting(order_id, PendingInvoice.Problem.RESTORED)
    return True


def _keep_waiting(order_id: int, problem: PendingInvoice.Problem) -> bool:
    PendingInvoice.objects.filter(order=order_id).update(problem=problem)
    return False


def send_invoice(invoice: Invoice, *, again: str = "") -> bool:
    """Queue the mail with the invoice. `again` names the occasion of a resend.

    False if there is no address to send it to (the order or its person is deleted), or if it was
    queued for that occasion already.
    """
    order = invoice.order
    if order is None or order.student.erased_at is not None:
        return False
    mail = queue_mail(
        key=f"invoice:{invoice.pk}{again}",
        template="invoice",
        to=order.email,
        context={"invoice_id": invoice.pk, "order_id": order.pk},
    )
    return mail is not None


def _first_invoice(order: Order) -> list[Invoice]:
    if order.status not in EVER_PAID or order.invoices.exists() or not expected_cents(order):
        return []
    details = BillingDetails.objects.filter(order=order).first()
    if details is None and not SiteSettings.current().simplified_invoices:
        return []
    if details is None and order.total_cents > SIMPLIFIED_LIMIT_CENTS:
        raise OverSimplifiedLimit
    content = build_content(order, total_cents=order.total_cents)
    kind = Kind.SIMPLIFIED if details is None else Kind.FULL
    return [_create(order, kind, content, recipient=details.as_recipient() if details else None)]


def _replacement(order: Order) -> list[Invoice]:
    """The full invoice in place of a simplified one, once the buyer has given their details."""
    details = BillingDetails.objects.filter(order=order).first()
    state = _state_of(order)
    if details is None or state is None or state.root.kind != Kind.SIMPLIFIED or not state.total:
        return []
    content = replacement_content(order, simplified=state.root, tax_lines=state.taxes)
    recipient = details.as_recipient()
    return [_create(order, Kind.REPLACEMENT, content, recipient=recipient, replaces=state.root)]


def _corrective(order: Order) -> list[Invoice]:
    state = _state_of(order)
    if state is None:
        return []
    change = expected_cents(order) - state.total
    if not change:
        return []
    root = state.root
    refunds = _refunds_to_name(order)
    parts = _refunded_lines(order, refunds) if change < 0 else []
    after = _totals_after(state.totals, change, parts)
    content = corrective_content(
        order,
        root=root,
        tax_lines=difference(state.totals, after),
        reason="Devolución" if change < 0 else "Anulación de una devolución",
        refunded=parts,
        refund_ids=[refund.pk for refund in refunds],
    )
    kind = _CORRECTIVE_OF[Kind(root.kind)]
    return [_create(order, kind, content, recipient=root.recipient, root=root)]


def issue_recipient_corrective(order: Order, recipient: dict[str, str]) -> Invoice:
    """Issue the corrective invoice that names another recipient than the one in force.

    It replaces that invoice with its correctives ("por sustitución", Real Decreto 1619/2012,
    article 15) and has the amounts that are left. Call it with the order locked.
    """
    state = _state_of(order)
    if state is None:
        raise ValueError(f"order {order.pk} has no invoice to correct")
    content = recipient_content(order, wrong=state.root, tax_lines=state.taxes)
    kind = Kind.RECIPIENT_CORRECTIVE
    invoice = _create(order, kind, content, recipient=recipient, replaces=state.root)
    _hand_out(invoice)
    return invoice


def _state_of(order: Order) -> _State | None:
    in_force = list(order.invoices.in_force().order_by("pk"))
    roots = [invoice for invoice in in_force if invoice.root_id is None]
    if not roots:
        return None
    bases, taxes = Counter[Vat](), Counter[Vat]()
    for line in (line for invoice in in_force for line in tax_lines_of(invoice)):
        bases[line.vat] += line.base
        taxes[line.vat] += line.tax
    left = [TaxLine(vat, bases[vat], taxes[vat]) for vat in Vat if vat in bases]
    return _State(roots[0], {line.vat: line.total for line in left}, left)


def _refunds_to_name(order: Order) -> list[Refund]:
    """The refunds that the provider has made and that no corrective of the order names."""
    made = Refund.objects.filter(payment__order=order).exclude(reference="")
    named: set[int] = set()
    for invoice in order.invoices.filter(root__isnull=False):
        refund_ids = invoice.content.get("refunds")
        if refund_ids is None:
            # A corrective from before refunds were named: it was about all that existed then.
            made = made.filter(created_at__gt=invoice.created_at)
        else:
            named |= set(refund_ids)
    return list(made.exclude(pk__in=named).order_by("pk"))


def _refunded_lines(order: Order, refunds: Sequence[Refund]) -> list[RefundedLine]:
    """The amounts that these refunds took from the lines that they withdrew."""
    taken = order_money(order).taken
    batches = {refund.batch for refund in refunds}
    lines = {line.pk: line for line in order.lines.select_related("subject")}
    chosen = OrderLine.objects.filter(refunds__in=refunds).distinct().order_by("pk")
    return [
        RefundedLine(line.name, vat_of(lines[line.pk]), cents)
        for line in chosen
        if (cents := sum(taken.get(batch, {}).get(line.pk, 0) for batch in batches))
    ]


def _totals_after(
    before: dict[Vat, int], change: int, parts: Sequence[RefundedLine]
) -> dict[Vat, int]:
    """The totals by rate after a change, of which the refunded lines are taken first."""
    totals = dict(before)
    for part in parts:
        cents = min(part.cents, -change, totals.get(part.vat, 0))
        if cents:
            totals[part.vat] -= cents
            change += cents
    return change_totals(totals, change, first=[part.vat for part in parts])


def _create(
    order: Order,
    kind: Invoice.Kind,
    content: dict[str, Any],
    *,
    recipient: dict[str, str] | None,
    root: Invoice | None = None,
    replaces: Invoice | None = None,
) -> Invoice:
    number = next_number(kind)
    rows = content["breakdown"]
    return Invoice.objects.create(
        code=number.code,
        series=number.series,
        year=number.issued_on.year,
        number=number.number,
        kind=kind,
        issued_on=number.issued_on,
        order=order,
        root=root,
        replaces=replaces,
        recipient=recipient,
        recipient_tax_id=(recipient or {}).get("tax_id", ""),
        total=to_euros(sum(row["base"] + row["tax"] for row in rows)),
        tax=to_euros(sum(row["tax"] for row in rows)),
        content=content,
    )
