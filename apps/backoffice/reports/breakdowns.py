"""The money of a period by subject and by member of staff, and what its students use
(docs/rules.md, "Reports").

Each table is shown on a page and downloaded as a file. Cells are texts, numbers of rows, and
Decimals in euros.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from apps.classroom.models import Enrolment, Progress
from apps.core.models import SiteSettings
from apps.core.money import to_cents, to_euros
from apps.core.period import Period
from apps.core.staff.spreadsheets import Cell
from apps.orders.ledger.lines import shares_of
from apps.orders.ledger.money_by_period import movements_in, unmatched_in
from apps.orders.models import OrderLine, Refund, StaffOrder

# Subject, degree and university, by the names under which the subject was sold.
Sold = tuple[str, str, str]
# Payments that match no order, and money of orders whose lines cost nothing.
NO_SUBJECT: Sold = ("Sin asignatura", "", "")


@dataclass(frozen=True)
class Table:
    """Rows of cells, the largest of the last column first, and their sum."""

    headings: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    total: tuple[Cell, ...]


@dataclass(frozen=True)
class Breakdown:
    """A page of this kind, and what reads its table. The first `texts` columns are texts."""

    # The name in its address, and that of its file.
    name: str
    title: str
    texts: int
    read: Callable[[Period], Table]
    help: str
    is_shown: Callable[[], bool] = lambda: True


def by_subject(period: Period) -> Table:
    """The sales of each subject, and the money that was taken and given back for it.

    A payment is spread over the lines of its order, a refund over the lines that it is of, or over
    all. The sums are those of the report, to the cent.
    """
    lines, sales = _sales(period)
    taken: Counter[Sold] = Counter()
    returned: Counter[Sold] = Counter()
    for rows, path, sign in movements_in(period):
        for sold, cents in _by_line(rows, path):
            if path == "order":
                taken[sold] += cents
            else:
                returned[sold] -= sign * cents
    taken[NO_SUBJECT] += sum(
        to_cents(amount) for amount in unmatched_in(period).values_list("amount", flat=True)
    )
    found = [
        (*sold, lines[sold], sales[sold], taken[sold], returned[sold], taken[sold] - returned[sold])
        for sold in {*lines, *taken, *returned}
        if lines[sold] or taken[sold] or returned[sold]
    ]
    headings = (
        "Asignatura", "Grado", "Universidad", "Líneas", "Ventas", "Cobrado", "Devuelto", "Neto",
    )  # fmt: skip
    return _table(headings, found, texts=3, counts=(3,))


def _sales(period: Period) -> tuple[Counter[Sold], Counter[Sold]]:
    """The number of lines sold, and the sum of their prices in cents, by subject."""
    names = ("subject_name", "degree_name", "university_name")
    lines: Counter[Sold] = Counter()
    sales: Counter[Sold] = Counter()
    rows = OrderLine.objects.filter(
        order__paid_at__gte=period.start, order__paid_at__lt=period.end
    ).order_by(*names)
    for *sold, count, price in rows.values_list(*names).annotate(Count("pk"), Sum("price")):
        key: Sold = (sold[0], sold[1], sold[2])
        lines[key], sales[key] = count, to_cents(price)
    return lines, sales


def _by_line(rows: QuerySet[Any], path: str) -> Iterator[tuple[Sold, int]]:
    """The subject and the cents of each part of these payments or refunds."""
    of_order: defaultdict[int, list[OrderLine]] = defaultdict(list)
    for line in OrderLine.objects.filter(order__in=rows.order_by().values(path)).order_by("pk"):
        of_order[line.order_id].append(line)
    of_refund: defaultdict[int, set[int]] = defaultdict(set)
    if rows.model is Refund:
        through = Refund.lines.through.objects.filter(refund__in=rows.order_by().values("pk"))
        for refund_id, line_id in through.values_list("refund_id", "orderline_id"):
            of_refund[refund_id].add(line_id)
    for pk, order_id, amount in rows.order_by().values_list("pk", path, "amount"):
        lines = of_order[order_id]
        chosen = [line for line in lines if line.pk in of_refund[pk]] or lines
        yield from _spread(chosen, to_cents(amount))


def _spread(lines: list[OrderLine], cents: int) -> Iterator[tuple[Sold, int]]:
    if not any(line.list_price for line in lines):
        yield NO_SUBJECT, cents
        return
    for line, share in zip(lines, shares_of(lines, cents), strict=True):
        yield (line.subject_name, line.degree_name, line.university_name), share


def by_clerk(period: Period) -> Table:
    """The orders that each member of staff made, their discounts, and the refunds.

    An order counts at its first payment. A refund that a bank sent back is taken off again.
    Refunds made at Stripe itself are Stripe's.
    """
    paid = Q(order__paid_at__gte=period.start, order__paid_at__lt=period.end)
    orders = {
        actor: (count, to_cents(sold), discounts, to_cents(given))
        for actor, count, sold, discounts, given in StaffOrder.objects.filter(paid, renewal=False)
        .order_by("actor")
        .values_list("actor")
        .annotate(
            orders=Count("pk"), sold=Sum("order__total_amount"),
            discounts=Count("pk", filter=Q(discount__gt=0)), given=Sum("discount"),
        )
    }  # fmt: skip
    refunds: Counter[str] = Counter()
    returned: Counter[str] = Counter()
    for rows, path, sign in movements_in(period):
        if path == "order":
            continue
        by_actor = rows.order_by("actor").values_list("actor")
        for actor, count, amount in by_actor.annotate(Count("pk"), Sum("amount")):
            refunds[actor] -= sign * count
            returned[actor] -= sign * to_cents(amount)
    found = [
        (actor, *orders.get(actor, (0, 0, 0, 0)), refunds[actor], returned[actor])
        for actor in {*orders, *refunds}
    ]
    headings = (
        "Quién", "Pedidos", "Vendido", "Con descuento", "Descontado", "Devoluciones", "Devuelto",
    )  # fmt: skip
    return _table(headings, found, texts=1, counts=(1, 3, 5))


def by_use(period: Period) -> Table:
    """The accesses given in the period that are left, and how many of their students came in.

    By subject and lesson, first what most did not open. Only the classroom knows who came in: of an
    access about which it has said nothing, nothing is known.
    """
    given = Enrolment.objects.filter(granted_at__gte=period.start, granted_at__lt=period.end)
    of_student = Progress.objects.filter(student=OuterRef("student"))
    found = []
    for rows, progress in (
        (given.filter(lesson=None), of_student.filter(subject=OuterRef("subject"), lesson=None)),
        (given.exclude(lesson=None), of_student.filter(lesson=OuterRef("lesson"))),
    ):
        names = ("subject__name", "lesson__title", "subject", "lesson")
        counted = (
            rows.alias(said=Exists(progress), visited=Exists(progress.exclude(last_access_at=None)))
            .order_by(*names)
            .values_list(*names)
            .annotate(
                all=Count("pk"), known=Count("pk", filter=Q(said=True)),
                came=Count("pk", filter=Q(visited=True)),
            )
        )  # fmt: skip
        found += [
            (subject, lesson or "", count, count - known, came, known - came)
            for subject, lesson, _, _, count, known, came in counted
        ]
    headings = ("Asignatura", "Lección", "Accesos", "Sin dato", "Han entrado", "No han entrado")
    return _table(headings, found, texts=2, counts=(2, 3, 4, 5))


def _table(
    headings: tuple[str, ...],
    found: Iterable[tuple[Any, ...]],
    *,
    texts: int,
    counts: tuple[int, ...],
) -> Table:
    """A table whose first columns are texts. Of the others those that are no `counts` are cents."""
    ordered = sorted(found, key=lambda row: (-row[-1], row))

    def cells(row: Sequence[Any]) -> tuple[Cell, ...]:
        return tuple(
            cell if at < texts or at in counts else to_euros(cell) for at, cell in enumerate(row)
        )

    sums = [sum(row[at] for row in ordered) for at in range(texts, len(headings))]
    return Table(
        headings,
        [cells(row) for row in ordered],
        cells(["Total", *[""] * (texts - 1), *sums]),
    )


BREAKDOWNS = (
    Breakdown(
        "asignaturas", "Neto por asignatura", 3, by_subject,
        "«Ventas» suma los precios de las líneas vendidas, antes de descuentos. Cada cobro se "
        "reparte entre las líneas de su pedido, y cada devolución entre las que devuelve. El neto "
        "es antes de disputas y comisiones de Stripe.",
    ),
    Breakdown(
        "equipo", "Pedidos y devoluciones por persona", 1, by_clerk,
        "Los pedidos hechos por el equipo cuentan con su primer pago; una devolución, cuando se "
        "pide. Lo que se devuelve en el panel de Stripe aparece a su nombre.",
    ),
    Breakdown(
        "uso", "Lo que nadie abre", 2, by_use,
        "De los accesos que se dieron en el periodo y siguen en pie, cuántos alumnos han entrado "
        "alguna vez en el aula a verlo. «Sin dato»: el aula todavía no ha dicho nada.",
        lambda: SiteSettings.current().classroom_progress,
    ),
)  # fmt: skip
