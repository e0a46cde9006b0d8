"""What an invoice says: seller, lines, breakdown of VAT and references, as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.timezone import localdate

from apps.catalogue.vat import Vat
from apps.core.dates import today
from apps.core.models import SiteSettings
from apps.core.money import to_cents
from apps.invoices.amounts import TaxLine, breakdown, totals_by_rate
from apps.invoices.models import Invoice
from apps.invoices.tax_ids import is_spanish_tax_id
from apps.orders.ledger.lines import shares_of
from apps.orders.models import Order, OrderLine


class SellerDataMissing(Exception):
    """Name, NIF or address of the academy are missing or still those of the sample."""


def seller() -> dict[str, str]:
    """The academy's data for an invoice. Raises SellerDataMissing."""
    owner = SiteSettings.current()
    untouched = SiteSettings()
    values = {name: getattr(owner, name).strip() for name in _SELLER_FIELDS}
    if not all(values.values()) or not is_spanish_tax_id(values["tax_id"]):
        raise SellerDataMissing
    # The sample's number has a right check digit: only the comparison finds it.
    if any(values[name] == getattr(untouched, name) for name in ("tax_id", "legal_address")):
        raise SellerDataMissing
    return {
        "name": values["legal_name"],
        "tax_id": values["tax_id"].upper(),
        "address": values["legal_address"],
    }


_SELLER_FIELDS = ("legal_name", "tax_id", "legal_address")


def seller_is_known() -> bool:
    """Whether invoices can be issued."""
    try:
        seller()
    except SellerDataMissing:
        return False
    return True


def build_content(order: Order, *, total_cents: int) -> dict[str, Any]:
    """The content of an order's first invoice.

    `lines` have the name, the VAT, the price before discounts and the cents that are left of it;
    `breakdown` the base and tax of each rate. All amounts are cents. The discounts are spread over
    the lines in proportion to their prices, so that the lines add up to the total exactly.
    """
    lines = list(order.lines.select_related("subject"))
    prices = [to_cents(line.list_price) for line in lines]
    parts = list(zip(map(vat_of, lines), shares_of(lines, total_cents), strict=True))
    return {
        "seller": seller(),
        "order": order.pk,
        "operation_on": (localdate(order.paid_at) if order.paid_at else today()).isoformat(),
        "lines": [
            {"name": line.name, "vat": vat, "price": price, "total": total}
            for line, price, (vat, total) in zip(lines, prices, parts, strict=True)
        ],
        "discounts": [row.name for row in order.discounts.all()],
        "breakdown": as_json(breakdown(totals_by_rate(parts))),
    }


def replacement_content(
    order: Order, *, simplified: Invoice, tax_lines: Sequence[TaxLine]
) -> dict[str, Any]:
    """The content of a full invoice in place of a simplified one and its correctives."""
    return {**_left_content(order, tax_lines), "replaces": _reference_to(simplified)}


def recipient_content(
    order: Order, *, wrong: Invoice, tax_lines: Sequence[TaxLine]
) -> dict[str, Any]:
    """The content of the corrective invoice in place of one with the wrong recipient."""
    return {**_left_content(order, tax_lines), "substitutes": _reference_to(wrong)}


def _left_content(order: Order, tax_lines: Sequence[TaxLine]) -> dict[str, Any]:
    """The lines of the order with what is left of its invoices."""
    content = build_content(order, total_cents=sum(line.total for line in tax_lines))
    return {**content, "breakdown": as_json(tax_lines)}


def _reference_to(invoice: Invoice) -> dict[str, str]:
    return {"code": invoice.code, "issued_on": invoice.issued_on.isoformat()}


@dataclass(frozen=True)
class RefundedLine:
    """A line of an order that a refund has withdrawn, with the cents that it has taken of it."""

    name: str
    vat: Vat
    cents: int


def corrective_content(
    order: Order,
    *,
    root: Invoice,
    tax_lines: Sequence[TaxLine],
    reason: str,
    refunded: Sequence[RefundedLine],
    refund_ids: Sequence[int],
) -> dict[str, Any]:
    """The content of a corrective invoice: the difference of each rate.

    The lines `refunded` are named, each with its own part of the difference; what is left of a rate
    is one line. `refunds` are the refunds that the invoice is about.
    """
    return {
        "seller": seller(),
        "order": order.pk,
        "operation_on": today().isoformat(),
        "lines": [
            {"name": name, "vat": tax_line.vat, "price": cents, "total": cents}
            for tax_line in tax_lines
            for name, cents in _named_parts(tax_line, reason, refunded)
        ],
        "discounts": [],
        "breakdown": as_json(tax_lines),
        "corrects": _reference_to(root),
        "refunds": list(refund_ids),
    }


def _named_parts(
    tax_line: TaxLine, reason: str, refunded: Sequence[RefundedLine]
) -> Iterator[tuple[str, int]]:
    """The names and cents of a rate's difference. The cents add up to it."""
    left = tax_line.total
    for line in refunded:
        if line.vat == tax_line.vat and left:
            cents = max(left, -line.cents)
            left -= cents
            yield f"{reason}: {line.name}", cents
    if left:
        yield reason, left


def vat_of(line: OrderLine) -> Vat:
    """The VAT that the line was sold with; of older orders, what its subject has today."""
    return Vat(line.vat or line.subject.vat)


def as_json(tax_lines: Sequence[TaxLine]) -> list[dict[str, Any]]:
    return [{"vat": line.vat, "base": line.base, "tax": line.tax} for line in tax_lines]


def tax_lines_of(invoice: Invoice) -> list[TaxLine]:
    """The breakdown of a stored invoice."""
    return [
        TaxLine(Vat(row["vat"]), row["base"], row["tax"]) for row in invoice.content["breakdown"]
    ]
