"""The figures of one month, in six queries. All amounts are cents."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, Manager, OuterRef, Q, QuerySet, Sum

from apps.backoffice.reports.month import Month
from apps.backoffice.today.batched_questions import Question, answers, cents_of
from apps.core.dates import today
from apps.orders.models import Dispute, Instalment, Order, OrderDiscount, OrderLine, Payment, Refund
from apps.orders.models.statuses import EVER_PAID, WITHOUT_PROVIDER
from apps.payments.models import BalanceEntry, Payout
from apps.pricing.payment_type import PaymentType

# Stripe's reporting categories (https://docs.stripe.com/reports/reporting-categories).
CHARGES = ("charge", "charge_failure")
REFUNDS = ("refund", "refund_failure")
DISPUTES = ("dispute", "dispute_reversal")
PAYOUTS = ("payout", "payout_reversal")
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
    """The money that moved in the month, and what was sold in it.

    A payment counts at its success, a refund at its request, a dispute when the bank took the money
    and when it was won, an order at its first payment. A refund that the bank sent back stays in
    the month of its request, and is taken off in the month in which it came back.
    """

    stripe: Row
    elsewhere: Row
    unmatched: Row
    refunds_cents: int
    refunds_elsewhere_cents: int
    disputes_cents: int
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


def payments_in(month: Month) -> QuerySet[Payment]:
    """The month's payments of orders, in the form that the index `payment_by_success` answers."""
    return Payment.objects.filter(
        status=Payment.Status.SUCCEEDED, currency="eur", order__isnull=False,
        succeeded_at__gte=month.start, succeeded_at__lt=month.end,
    )  # fmt: skip


def unmatched_in(month: Month) -> QuerySet[Payment]:
    """The month's payments of this shop at Stripe that match no order: it has their money, too."""
    return Payment.objects.filter(
        by_stripe(), status=Payment.Status.SUCCEEDED, currency="eur", order=None,
        of_other_shop=False, succeeded_at__gte=month.start, succeeded_at__lt=month.end,
    )  # fmt: skip


def by_stripe(path: str = "") -> Q:
    """The filter for payments at Stripe. `path` leads to the payment: "payment__"."""
    return ~Q(**{f"{path}kind__in": WITHOUT_PROVIDER})


def in_euros(rows: Manager[Any]) -> QuerySet[Any]:
    """These refunds or disputes, if their payment is in euros. Only euros are added up."""
    return rows.filter(payment__currency="eur")


def refunds_at_stripe(month: Month) -> QuerySet[Refund]:
    """Refunds that Stripe made in the month, also those that a bank has sent back since."""
    return in_euros(Refund.objects).filter(
        ~Q(status=Refund.Status.FAILED, reference=""), by_stripe("payment__"),
        created_at__gte=month.start, created_at__lt=month.end,
    )  # fmt: skip


def refunds_sent_back(month: Month) -> QuerySet[Refund]:
    """Refunds whose money came back to the balance at Stripe in the month."""
    return in_euros(Refund.objects).filter(
        by_stripe("payment__"), sent_back_at__gte=month.start, sent_back_at__lt=month.end
    )


def refunds_of_transfers(month: Month) -> QuerySet[Refund]:
    """Refunds of payments without Stripe."""
    return in_euros(Refund.objects).filter(
        ~Q(status=Refund.Status.FAILED), ~by_stripe("payment__"),
        created_at__gte=month.start, created_at__lt=month.end,
    )  # fmt: skip


def refunds_by_other_means(month: Month) -> QuerySet[Refund]:
    """Refunds that a bank sent back and that staff paid in the month, such as by transfer."""
    return in_euros(Refund.objects).filter(
        by_stripe("payment__"), status=Refund.Status.OUTSIDE,
        settled_at__gte=month.start, settled_at__lt=month.end,
    )  # fmt: skip


def payouts_in(month: Month) -> QuerySet[Payout]:
    """The month's payouts in euros that did not fail."""
    return (
        Payout.objects.filter(currency="eur", created_at__gte=month.start, created_at__lt=month.end)
        .exclude(status__in=PAYOUTS_WITHOUT_MONEY)
        .order_by("created_at")
    )


def figures_of(month: Month) -> Figures:
    sums = iter(answers(_questions(month)))

    def row(label: str) -> Row:
        cents = cents_of(next(sums))
        return Row(label, next(sums), cents)

    stripe, elsewhere = row("Con tarjeta (Stripe)"), row("Sin Stripe")
    unmatched = row("Sin pedido (Stripe)")
    refunds, sent_back, of_transfers, by_other_means = (cents_of(next(sums)) for _ in range(4))
    refunds -= sent_back
    disputed, won = (cents_of(next(sums)) for _ in range(2))
    foreign_count = sum(next(sums) for _ in range(3))
    due, overdue = row("Por cobrar"), row("Vencidos sin cobrar")
    funnel = _funnel([next(sums) for _ in range(3)])
    subjects, degrees = _sold(month)
    payment_types, codes = _orders(month)
    balance = _Balance(month)
    return Figures(
        stripe=stripe,
        elsewhere=elsewhere,
        unmatched=unmatched,
        refunds_cents=refunds,
        refunds_elsewhere_cents=of_transfers + by_other_means,
        disputes_cents=disputed - won,
        foreign_count=foreign_count,
        fees_cents=balance.fees,
        due=due,
        overdue=overdue,
        funnel=funnel,
        discounts=_discounts(month),
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
        payouts=list(payouts_in(month)),
    )


def _questions(month: Month) -> list[Question]:
    paid = payments_in(month)
    unpaid = Instalment.objects.unpaid().filter(
        due_on__gte=month.first, due_on__lt=month.next.first
    )
    # The index by state and date answers a question about all states, too.
    created = Order.objects.filter(
        status__in=Order.Status.values, created_at__gte=month.start, created_at__lt=month.end
    )
    opened = created.filter(Exists(Payment.objects.filter(order=OuterRef("pk"))))
    disputes = in_euros(Dispute.objects).filter(
        withdrawn_at__gte=month.start, withdrawn_at__lt=month.end
    )
    won = in_euros(Dispute.objects).filter(
        status=Dispute.Status.WON, withdrawn_at__isnull=False,
        closed_at__gte=month.start, closed_at__lt=month.end,
    )  # fmt: skip
    counted = [paid.filter(by_stripe()), paid.exclude(by_stripe()), unmatched_in(month)]
    unpaid_parts = [unpaid, unpaid.filter(due_on__lt=today())]
    return [
        *_sum_and_count(counted),
        Question(refunds_at_stripe(month), "SUM", "amount"),
        Question(refunds_sent_back(month), "SUM", "amount"),
        Question(refunds_of_transfers(month), "SUM", "amount"),
        Question(refunds_by_other_means(month), "SUM", "amount"),
        Question(disputes, "SUM", "amount"),
        Question(won, "SUM", "amount"),
        *(Question(rows) for rows in _in_other_currencies(month)),
        *_sum_and_count(unpaid_parts),
        Question(created),
        Question(opened),
        Question(created.filter(status__in=EVER_PAID)),
    ]


def _in_other_currencies(month: Month) -> Iterator[QuerySet[Any]]:
    """The month's payments, refunds and disputes that are not in euros."""
    for rows, moment, currency in (
        (
            Payment.objects.filter(status=Payment.Status.SUCCEEDED, of_other_shop=False),
            "succeeded_at",
            "currency",
        ),
        (Refund.objects.money_back(), "created_at", "payment__currency"),
        (Dispute.objects.all(), "withdrawn_at", "payment__currency"),
    ):
        within = Q(**{f"{moment}__gte": month.start, f"{moment}__lt": month.end})
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


def _discounts(month: Month) -> list[Row]:
    rows = (
        OrderDiscount.objects.filter(_paid_in(month, "order__"))
        .values("name")
        .annotate(orders=Count("pk"), sum=Sum("amount"))
        .order_by("name")
    )
    return _largest_first(Row(row["name"], row["orders"], cents_of(row["sum"])) for row in rows)


def _sold(month: Month) -> tuple[list[Row], list[Row]]:
    """The sales by subject and by degree, at the prices of the order lines."""
    names = ("subject_name", "degree_name", "university_name")
    rows = (
        OrderLine.objects.filter(_paid_in(month, "order__"))
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


def _orders(month: Month) -> tuple[list[Row], list[Row]]:
    """The orders by payment type, and those with a promo code by code."""
    rows = (
        Order.objects.filter(_paid_in(month))
        .values("payment_type", "promo_code__code")
        .annotate(orders=Count("pk"), sum=Sum("total_amount"))
        .order_by("payment_type", "promo_code__code")
    )
    types: dict[str, Row] = {}
    codes: dict[str, Row] = {}
    for row in rows:
        label = str(PaymentType(row["payment_type"]).label)
        _add(types, label, row["orders"], cents_of(row["sum"]))
        if row["promo_code__code"]:
            _add(codes, row["promo_code__code"], row["orders"], cents_of(row["sum"]))
    return _largest_first(types.values()), _largest_first(codes.values())


def _add(rows: dict[str, Row], label: str, count: int, cents: int) -> None:
    before = rows.get(label, Row(label, 0, 0))
    rows[label] = Row(label, before.count + count, before.cents + cents)


def _paid_in(month: Month, prefix: str = "") -> Q:
    return Q(**{f"{prefix}paid_at__gte": month.start, f"{prefix}paid_at__lt": month.end})


def _largest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row.cents, row.label))


class _Balance:
    """Stripe's movements of a month, summed by kind in one query."""

    def __init__(self, month: Month) -> None:
        rows = (
            BalanceEntry.objects.filter(
                currency="eur",
                of_other_shop=False,
                created_at__gte=month.start,
                created_at__lt=month.end,
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
