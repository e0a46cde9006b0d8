"""Copies the academy's balance at Stripe, so that reports need no call (docs/rules.md, "Reports").

Nothing here runs inside a transaction while it waits for Stripe. Everything is fetched first and
stored in one transaction: an interrupted run stores nothing, and the next one fetches it again.
"""

from datetime import datetime, timedelta

from django.db import transaction

from apps.payments.models import BalanceEntry, Payout
from apps.payments.stripe.account_balance import (
    ReportedEntry,
    ReportedPayout,
    entries_since,
    ids_of_payout_parts,
    payouts_since,
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
    # In this order: the movements of a payout exist before it does.
    payouts = payouts_since(_start(Payout, PAYOUTS_CHANGE_FOR))
    parts = {reference: ids_of_payout_parts(reference) for reference in _without_parts(payouts)}
    entries = entries_since(_start(BalanceEntry, OVERLAP))
    before = BalanceEntry.objects.count()
    with transaction.atomic():
        _store_entries(entries)
        _store_payouts(payouts)
        for reference, movements in parts.items():
            _store_parts(reference, movements)
    new = BalanceEntry.objects.count() - before
    return f"movimientos nuevos: {new}" if new else ""


def _start(model: type[BalanceEntry] | type[Payout], back: timedelta) -> datetime | None:
    latest = model._default_manager.order_by("-created_at").first()
    return latest.created_at - back if latest else None


def _without_parts(payouts: list[ReportedPayout]) -> list[str]:
    """The references of the automatic payouts whose movements are not known yet."""
    references = [payout.reference for payout in payouts if payout.automatic]
    known = set(
        Payout.objects.filter(reference__in=references, entries__isnull=False).values_list(
            "reference", flat=True
        )
    )
    return [reference for reference in references if reference not in known]


def _store_entries(entries: list[ReportedEntry]) -> None:
    of_other_shops = _payments_of_other_shops(entries)
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
                    of_other_shop=entry.payment in of_other_shops,
                    created_at=entry.created_at,
                )
                for entry in some
            ],
            ignore_conflicts=True,
        )


def _payments_of_other_shops(entries: list[ReportedEntry]) -> set[str]:
    """Which of these movements' payments were charged by another shop on the account."""
    of_other_shops = {entry.payment for entry in entries if entry.of_other_shop}
    names = sorted({entry.payment for entry in entries if entry.payment})
    for start in range(0, len(names), BATCH):
        known = BalanceEntry.objects.filter(
            payment_reference__in=names[start : start + BATCH], of_other_shop=True
        )
        of_other_shops.update(known.values_list("payment_reference", flat=True))
    return of_other_shops


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


def _store_parts(reference: str, parts: list[str]) -> None:
    """Store which movements a payout consists of."""
    payout = Payout.objects.get(reference=reference)
    for start in range(0, len(parts), BATCH):
        some = parts[start : start + BATCH]
        BalanceEntry.objects.filter(reference__in=some).update(payout=payout)
