"""The figures of one period, in six queries. All amounts are cents."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from apps.backoffice.today.batched_questions import Question, answers, cents_of
from apps.core.dates import today
from apps.core.period import Period
from apps.orders.ledger.money_by_period import (
    by_stripe,
    in_euros,
    payments_in,
    refunds_at_stripe,
    refunds_by_other_means,
    refunds_of_transfers,
    refunds_sent_back,
    unmatched_in,
)
from apps.orders.models import Dispute, Instalment, Order, OrderDiscount, OrderLine, Payment, Refund
from apps.orders.models.statuses import EVER_PAID, PaymentKind
from apps.payments.models import BalanceEntry, Payout
from apps.pricing.code_batches import masked_code
from apps.pricing.payment_type import PaymentType

# Stripe's reporting categories (https://docs.stripe.com/reports/reporting-categories).
CHARGES = ("charge", "charge_failure")
REFUNDS = ("refund", "refund_failure")
DISPUTES = ("dispute", "dispute_reversal")
PAYOUTS = ("payout", "payout_reversal")
# Payments at Stripe that are no card's.
NAMED_WAYS = (PaymentKind.WALLET, PaymentKind.BIZUM, PaymentKind.PAYPAL)
# https://docs.stripe.com/api/payouts/object#payout_object-status
PAYOUTS_WITHOUT_MONEY = ("failed", "canceled")


@dataclass(frozen=True)
class Row:
    """A line of a table: what, how many and how much."""

    label: str
    count: int
    cents: int
    detail: str = ""


@dataclass(frozen=True)
class Comparison:
    """One kind of movement, as the shop and as Stripe have recorded it."""

    label: str
    shop_cents: int
    stripe_cents: int

    @property
    def difference_cents(self) -> int:
        return self.shop_cents - self.stripe_cents


@dataclass(frozen=True)
class Figures:
    """The money that moved in the period, and what was sold in it.

    A payment counts at its success, a refund at its request, a dispute when the bank took the money
    and when it was won, an order at its first payment. A refund that the bank sent back stays in
    the period of its request, and is taken off in the period in which it came back.
    """

    stripe: Row
    # The part of it that was not paid by a card, for each kind.
    ways: list[Row]
    elsewhere: Row
    unmatched: Row
    refunds_cents: int
    refunds_elsewhere_cents: int
    # Cents that disputes took, less those that won ones gave back, and the former alone.
    disputes_cents: int
    disputes_taken_cents: int
    # Payments, refunds and disputes in other currencies, which no figure contains.
    foreign_count: int
    fees_cents: int
    due: Row
    overdue: Row
    funnel: list[Row]
    discounts: list[Row]
    subjects: list[Row]
    degrees: list[Row]
    payment_types: list[Row]
    codes: list[Row]
    comparisons: list[Comparison]
    other_cents: int
    payouts: list[Payout]

    @property
    def gross_cents(self) -> int:
        return self.stripe.cents + self.elsewhere.cents + self.unmatched.cents

    @property
    def payments_count(self) -> int:
        return self.stripe.count + self.elsewhere.count + self.unmatched.count

    @property
    def net_cents(self) -> int:
        """The money taken that remains after refunds, disputes and Stripe's fees, in cents."""
        back = self.refunds_cents + self.refunds_elsewhere_cents + self.disputes_cents
        return self.gross_cents - back - self.fees_cents + self.other_cents

    @property
    def disputes_won_cents(self) -> int:
        """The cents that won disputes gave back, less those that new disputes took."""
        return max(0, -self.disputes_cents)

    @property
    def discounts_cents(self) -> int:
        return sum(row.cents for row in self.discounts)

    @property
    def payouts_cents(self) -> int:
        return sum(payout.amount_cents for payout in self.payouts)


def payouts_in(period: Period) -> QuerySet[Payout]:
    """The period's payouts in euros that did not fail."""
    return (
        Payout.objects.filter(
            currency="eur", created_at__gte=period.start, created_at__lt=period.end
        )
        .exclude(status__in=PAYOUTS_WITHOUT_MONEY)
        .order_by("created_at")
    )


def figures_of(period: Period) -> Figures:
    sums = iter(answers(_questions(period)))

    def row(label: str) -> Row:
        cents = cents_of(next(sums))
        return Row(label, next(sums), cents)

    stripe, elsewhere = row("Por Stripe"), row("Sin Stripe")
    unmatched = row("Sin pedido (Stripe)")
    ways = [row(kind.label) for kind in NAMED_WAYS]
    refunds, sent_back, of_transfers, by_other_means = (cents_of(next(sums)) for _ in range(4))
    refunds -= sent_back
    disputed, won = (cents_of(next(sums)) for _ in range(2))
    foreign_count = sum(next(sums) for _ in range(3))
    due, overdue = row("Por cobrar"), row("Vencidos sin cobrar")
    funnel = _funnel([next(sums) for _ in range(3)])
    subjects, degrees = _sold(period)
    payment_types, codes = _orders(period)
    balance = _Balance(period)
    return Figures(
        stripe=stripe,
        ways=[way for way in ways if way.count],
        elsewhere=elsewhere,
        unmatched=unmatched,
        refunds_cents=refunds,
        refunds_elsewhere_cents=of_transfers + by_other_means,
        disputes_cents=disputed - won,
        disputes_taken_cents=disputed,
        foreign_count=foreign_count,
        fees_cents=balance.fees,
        due=due,
        overdue=overdue,
        funnel=funnel,
        discounts=_discounts(period),
        subjects=subjects,
        degrees=degrees,
        payment_types=payment_types,
        codes=codes,
        comparisons=[
            Comparison("Cobros", stripe.cents + unmatched.cents, balance.amount(CHARGES)),
            Comparison("Devoluciones", -refunds, balance.amount(REFUNDS)),
            Comparison("Disputas", won - disputed, balance.amount(DISPUTES)),
        ],
        other_cents=balance.other,
        payouts=list(payouts_in(period)),
    )


def _questions(period: Period) -> list[Question]:
    paid = payments_in(period)
    unpaid = Instalment.objects.unpaid().filter(due_on__gte=period.first, due_on__lte=period.last)
    # The index by state and date answers a question about all states, too.
    created = Order.objects.filter(
        status__in=Order.Status.values, created_at__gte=period.start, created_at__lt=period.end
    )
    opened = created.filter(Exists(Payment.objects.filter(order=OuterRef("pk"))))
    disputes = in_euros(Dispute.objects).filter(
        withdrawn_at__gte=period.start, withdrawn_at__lt=period.end
    )
    won = in_euros(Dispute.objects).filter(
        status=Dispute.Status.WON, withdrawn_at__isnull=False,
        closed_at__gte=period.start, closed_at__lt=period.end,
    )  # fmt: skip
    counted = [paid.filter(by_stripe()), paid.exclude(by_stripe()), unmatched_in(period)]
    counted += [paid.filter(kind=kind) for kind in NAMED_WAYS]
    unpaid_parts = [unpaid, unpaid.filter(due_on__lt=today())]
    return [
        *_sum_and_count(counted),
        Question(refunds_at_stripe(period), "SUM", "amount"),
        Question(refunds_sent_back(period), "SUM", "amount"),
        Question(refunds_of_transfers(period), "SUM", "amount"),
        Question(refunds_by_other_means(period), "SUM", "amount"),
        Question(disputes, "SUM", "amount"),
        Question(won, "SUM", "amount"),
        *(Question(rows) for rows in _in_other_currencies(period)),
        *_sum_and_count(unpaid_parts),
        Question(created),
        Question(opened),
        Question(created.filter(status__in=EVER_PAID)),
    ]


def _in_other_currencies(period: Period) -> Iterator[QuerySet[Any]]:
    """The period's payments, refunds and disputes that are not in euros."""
    for rows, moment, currency in (
        (
            Payment.objects.filter(status=Payment.Status.SUCCEEDED, of_other_shop=False),
            "succeeded_at",
            "currency",
        ),
        (Refund.objects.money_back(), "created_at", "payment__currency"),
        (Dispute.objects.all(), "withdrawn_at", "payment__currency"),
    ):
        within = Q(**{f"{moment}__gte": period.start, f"{moment}__lt": period.end})
        yield rows.filter(within, ~Q(**{currency: "eur"}))


def _sum_and_count(querysets: Iterable[QuerySet[Any]]) -> list[Question]:
    return [
        question
        for rows in querysets
        for question in (Question(rows, "SUM", "amount"), Question(rows))
    ]


def _funnel(counts: list[int]) -> list[Row]:
    labels = ("Carritos con datos de contacto", "Llegaron a abrir un pago", "Pagados")
    first = counts[0] or 1
    return [
        Row(label, count, 0, f"{round(100 * count / first)} %")
        for label, count in zip(labels, counts, strict=True)
    ]


def _discounts(period: Period) -> list[Row]:
    rows = (
        OrderDiscount.objects.filter(_paid_in(period, "order__"))
        .values("name")
        .annotate(orders=Count("pk"), sum=Sum("amount"))
        .order_by("name")
    )
    return _largest_first(Row(row["name"], row["orders"], cents_of(row["sum"])) for row in rows)


def _sold(period: Period) -> tuple[list[Row], list[Row]]:
    """The sales by subject and by degree, at the prices of the order lines."""
    names = ("subject_name", "degree_name", "university_name")
    rows = (
        OrderLine.objects.filter(_paid_in(period, "order__"))
        .values(*names)
        .annotate(lines=Count("pk"), sum=Sum("price"))
        .order_by(*names)
    )
    subjects: list[Row] = []
    degrees: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        cents, degree = cents_of(row["sum"]), (row["degree_name"], row["university_name"])
        subjects.append(Row(row["subject_name"], row["lines"], cents, ", ".join(degree)))
        count, sum_cents = degrees.get(degree, (0, 0))
        degrees[degree] = (count + row["lines"], sum_cents + cents)
    of_degrees = (
        Row(name, count, cents, university)
        for (name, university), (count, cents) in degrees.items()
    )
    return _largest_first(subjects), _largest_first(of_degrees)


def _orders(period: Period) -> tuple[list[Row], list[Row]]:
    """The orders by payment type, and those with a promo code by code, or by its batch's pattern.

    Whoever has a code of a batch can use it.
    """
    rows = (
        Order.objects.filter(_paid_in(period))
        .values("payment_type", "promo_code__code", "promo_code__batch__pattern")
        .annotate(orders=Count("pk"), sum=Sum("total_amount"))
        .order_by("payment_type", "promo_code__code")
    )
    types: dict[str, Row] = {}
    codes: dict[str, Row] = {}
    for row in rows:
        label = str(PaymentType(row["payment_type"]).label)
        _add(types, label, row["orders"], cents_of(row["sum"]))
        if row["promo_code__code"]:
            code = masked_code(row["promo_code__code"], row["promo_code__batch__pattern"] or "")
            _add(codes, code, row["orders"], cents_of(row["sum"]))
    return _largest_first(types.values()), _largest_first(codes.values())


def _add(rows: dict[str, Row], label: str, count: int, cents: int) -> None:
    before = rows.get(label, Row(label, 0, 0))
    rows[label] = Row(label, before.count + count, before.cents + cents)


def _paid_in(period: Period, prefix: str = "") -> Q:
    return Q(**{f"{prefix}paid_at__gte": period.start, f"{prefix}paid_at__lt": period.end})


def _largest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row.cents, row.label))


class _Balance:
    """Stripe's movements of a period, summed by kind in one query."""

    def __init__(self, period: Period) -> None:
        rows = (
            BalanceEntry.objects.filter(
                currency="eur",
                of_other_shop=False,
                created_at__gte=period.start,
                created_at__lt=period.end,
            )
            .order_by("kind")
            .values_list("kind")
            .annotate(amount=Sum("amount_cents"), fee=Sum("fee_cents"))
        )
        self._amounts = {kind: (amount, fee) for kind, amount, fee in rows}

    def amount(self, kinds: tuple[str, ...]) -> int:
        return sum(self._amounts.get(kind, (0, 0))[0] for kind in kinds)

    @property
    def fees(self) -> int:
        return sum(fee for kind, (_, fee) in self._amounts.items() if kind not in PAYOUTS)

    @property
    def other(self) -> int:
        """Movements of other kinds, such as fees that Stripe charges by themselves."""
        known = (*CHARGES, *REFUNDS, *DISPUTES, *PAYOUTS)
        return sum(amount for kind, (amount, _) in self._amounts.items() if kind not in known)
