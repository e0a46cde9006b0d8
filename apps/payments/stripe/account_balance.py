"""The academy's balance at Stripe: its movements with their fees, and the payouts to the bank."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import stripe

from apps.payments.stripe.charges import order_number_of
from apps.payments.stripe.client import client, id_of, provider_errors

PAGE = 100


@dataclass(frozen=True)
class ReportedEntry:
    """A balance transaction. Amounts in cents.

    `payment` is the id of its payment intent, or of its charge if that has none, or "". A charge is
    `of_other_shop` if its metadata are not this shop's. For other movements their charge tells.
    """

    reference: str
    kind: str
    amount_cents: int
    fee_cents: int
    net_cents: int
    currency: str
    source: str
    payment: str
    of_other_shop: bool
    created_at: datetime


@dataclass(frozen=True)
class ReportedPayout:
    reference: str
    amount_cents: int
    currency: str
    status: str
    # Stripe knows the movements of the payouts that it makes by itself.
    automatic: bool
    arrives_on: date
    created_at: datetime


def entries_since(moment: datetime | None) -> list[ReportedEntry]:
    """All movements since that moment, or ever, newest first. Raises ProviderError."""
    params: Any = {**_since(moment), "limit": PAGE, "expand": ["data.source"]}
    with provider_errors():
        page = client().v1.balance_transactions.list(params)
        return [_entry(row) for row in page.auto_paging_iter()]


def payouts_since(moment: datetime | None) -> list[ReportedPayout]:
    """All payouts since that moment, or ever, newest first. Raises ProviderError."""
    params: Any = {**_since(moment), "limit": PAGE}
    with provider_errors():
        page = client().v1.payouts.list(params)
        return [_payout(row) for row in page.auto_paging_iter()]


def ids_of_payout_parts(payout: str) -> list[str]:
    """The ids of the movements that an automatic payout consists of. Raises ProviderError."""
    with provider_errors():
        page = client().v1.balance_transactions.list({"payout": payout, "limit": PAGE})
        return [row.id for row in page.auto_paging_iter()]


def _since(moment: datetime | None) -> dict[str, Any]:
    return {} if moment is None else {"created": {"gte": int(moment.timestamp())}}


def _entry(row: stripe.BalanceTransaction) -> ReportedEntry:
    source = row.source
    charge = source if isinstance(source, stripe.Charge) else None
    return ReportedEntry(
        reference=row.id,
        kind=row.reporting_category,
        amount_cents=row.amount,
        fee_cents=row.fee,
        net_cents=row.net,
        currency=row.currency,
        source=id_of(source),
        payment=_payment_of(source),
        of_other_shop=charge is not None and order_number_of(charge) is None,
        created_at=datetime.fromtimestamp(row.created, UTC),
    )


def _payment_of(source: Any) -> str:
    """The payment that a charge, refund or dispute is of. Empty for other sources."""
    intent = id_of(getattr(source, "payment_intent", None))
    charge = source if isinstance(source, stripe.Charge) else getattr(source, "charge", None)
    return intent or id_of(charge)


def _payout(row: stripe.Payout) -> ReportedPayout:
    return ReportedPayout(
        reference=row.id,
        amount_cents=row.amount,
        currency=row.currency,
        status=row.status,
        automatic=row.automatic,
        arrives_on=datetime.fromtimestamp(row.arrival_date, UTC).date(),
        created_at=datetime.fromtimestamp(row.created, UTC),
    )
