"""The sample shop's movements of the balance at Stripe, and a payout to the bank every Monday.

Written directly: only Stripe makes them, and the sandbox need not run while the shop is seeded.
"""

from collections.abc import Iterator
from datetime import datetime, time, timedelta

from django.utils import timezone

from apps.backoffice.sample.shop import REFERENCE
from apps.core.money import to_cents
from apps.orders.models import Dispute, Payment, Refund
from apps.payments.models import BalanceEntry, Payout

# Stripe's prices for European cards: 1.5 % and 25 cents; 20 euros for each dispute.
FEE_PER_MILLE, FIXED_FEE, DISPUTE_FEE = 15, 25, 2000
PAYOUT_AT = time(6)
# From the payout to its arrival at the bank.
ON_THE_WAY = timedelta(days=2)


def seed_balance() -> None:
    """Add the movements that sample payments, refunds and disputes lack, and their payouts."""
    known = set(
        BalanceEntry.objects.filter(reference__startswith=f"txn_{REFERENCE}").values_list(
            "kind", "source"
        )
    )
    missing = [entry for entry in _entries() if (entry.kind, entry.source) not in known]
    missing.sort(key=lambda entry: (entry.created_at, entry.source))
    for number, entry in enumerate(missing, start=len(known) + 1):
        entry.reference = f"txn_{REFERENCE}_{number:05d}"
    payouts, own = _pay_out(missing)
    Payout.objects.bulk_create(payouts)
    BalanceEntry.objects.bulk_create([*missing, *own])


def _entries() -> Iterator[BalanceEntry]:
    charged = Payment.objects.filter(kind=Payment.Kind.SAMPLE, status=Payment.Status.SUCCEEDED)
    for payment in charged:
        cents = to_cents(payment.amount)
        fee = (cents * FEE_PER_MILLE + 500) // 1000 + FIXED_FEE
        yield _entry("charge", payment, payment.reference, payment.succeeded_at, cents, fee)
    for refund in Refund.objects.filter(payment__in=charged).select_related("payment"):
        payment, cents = refund.payment, -refund.amount_cents
        yield _entry("refund", payment, refund.reference, refund.created_at, cents)
    for case in Dispute.objects.filter(payment__in=charged).select_related("payment"):
        payment, name, cents = case.payment, case.reference, case.amount_cents
        yield _entry("dispute", payment, name, case.opened_at, -cents, DISPUTE_FEE)
        if case.status == Dispute.Status.WON:
            yield _entry("dispute_reversal", payment, name, case.closed_at, cents)


def _entry(
    kind: str, payment: Payment, source: str, at: datetime | None, cents: int, fee: int = 0
) -> BalanceEntry:
    return BalanceEntry(
        kind=kind,
        amount_cents=cents,
        fee_cents=fee,
        net_cents=cents - fee,
        currency="eur",
        source=source,
        payment_reference=payment.reference,
        created_at=at or timezone.now(),
    )


def _pay_out(entries: list[BalanceEntry]) -> tuple[list[Payout], list[BalanceEntry]]:
    """Pay each week's movements out on the Monday after, if it has come.

    Returns the payouts, and the movement of the balance that each of them is.
    """
    payouts: list[Payout] = []
    own: list[BalanceEntry] = []
    weeks: dict[datetime, list[BalanceEntry]] = {}
    for entry in entries:
        weeks.setdefault(_next_payout(entry.created_at), []).append(entry)
    carried: list[BalanceEntry] = []
    now = timezone.now()
    for moment, movements in sorted(weeks.items()):
        carried += movements
        cents = sum(entry.net_cents for entry in carried)
        if moment > now or cents <= 0:
            continue
        name = carried[0].reference.removeprefix("txn_")
        payout = Payout(
            reference=f"po_{name}",
            amount_cents=cents,
            currency="eur",
            status="paid",
            arrives_on=timezone.localdate(moment + ON_THE_WAY),
            created_at=moment,
        )
        payouts.append(payout)
        own.append(
            BalanceEntry(
                reference=f"txn_{name}_payout",
                kind="payout",
                amount_cents=-cents,
                fee_cents=0,
                net_cents=-cents,
                currency="eur",
                source=payout.reference,
                created_at=moment,
            )
        )
        for entry in (*carried, own[-1]):
            entry.payout = payout
        carried = []
    return payouts, own


def _next_payout(at: datetime) -> datetime:
    """Monday at six in the morning in Madrid, after this moment."""
    day = timezone.localdate(at)
    monday = day + timedelta(days=7 - day.weekday())
    return timezone.make_aware(datetime.combine(monday, PAYOUT_AT))
