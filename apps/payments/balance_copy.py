"""Copies the academy's balance at Stripe, so that reports need no call (docs/rules.md, "Reports").

Nothing here runs inside a transaction while it waits for Stripe.
"""

from datetime import datetime, timedelta

from django.db import transaction

from apps.payments.models import BalanceEntry, Payout
from apps.payments.stripe.account_balance import (
    ReportedEntry,
    ReportedPayout,
    entries_since,
    payouts_since,
    references_in,
)

# Stripe may add a movement a little late. Movements that are known already are left alone.
OVERLAP = timedelta(days=2)
# A payout may still fail days after it was made.
PAYOUTS_CHANGE_FOR = timedelta(days=14)
BATCH = 500


def fetch_balance() -> str:
    """Fetch the movements and payouts that are new since the last time. Safe to repeat.

    Returns a Spanish summary, or an empty text if there was nothing new. Raises ProviderError.
    """
    entries = entries_since(_start(BalanceEntry, OVERLAP))
    payouts = payouts_since(_start(Payout, PAYOUTS_CHANGE_FOR))
    before = BalanceEntry.objects.count()
    with transaction.atomic():
        _store_entries(entries)
        _store_payouts(payouts)
    for payout in payouts:
        if payout.automatic:
            _store_parts(payout.reference)
    new = BalanceEntry.objects.count() - before
    return f"{new} movimientos nuevos" if new else ""


def _start(model: type[BalanceEntry] | type[Payout], back: timedelta) -> datetime | None:
    latest = model._default_manager.order_by("-created_at").first()
    return latest.created_at - back if latest else None


def _store_entries(entries: list[ReportedEntry]) -> None:
    """Store all movements at once: a part of them would hide the others from the next run."""
    for start in range(0, len(entries), BATCH):
        some = entries[start : start + BATCH]
        BalanceEntry.objects.bulk_create(
            [
                BalanceEntry(
                    reference=entry.reference,
                    kind=entry.kind,
                    amount_cents=entry.amount_cents,
                    fee_cents=entry.fee_cents,
                    net_cents=entry.net_cents,
                    currency=entry.currency,
                    source=entry.source,
                    payment_reference=entry.payment,
                    created_at=entry.created_at,
                )
                for entry in some
            ],
            ignore_conflicts=True,
        )


def _store_payouts(payouts: list[ReportedPayout]) -> None:
    Payout.objects.bulk_create(
        [
            Payout(
                reference=payout.reference,
                amount_cents=payout.amount_cents,
                currency=payout.currency,
                status=payout.status,
                arrives_on=payout.arrives_on,
                created_at=payout.created_at,
            )
            for payout in payouts
        ],
        update_conflicts=True,
        unique_fields=["reference"],
        update_fields=["status", "arrives_on"],
    )


def _store_parts(reference: str) -> None:
    """Store which movements a payout consists of, once."""
    payout = Payout.objects.get(reference=reference)
    if payout.entries.exists():
        return
    parts = references_in(reference)
    for start in range(0, len(parts), BATCH):
        some = parts[start : start + BATCH]
        BalanceEntry.objects.filter(reference__in=some).update(payout=payout)
