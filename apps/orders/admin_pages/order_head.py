"""The head of an order's admin page: what was bought, paid and refunded, and what is open.

The words are Spanish, for staff. `tone` is the colour of a state, which stands beside its word.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from django.utils.formats import date_format
from django.utils.timezone import localtime

from apps.classroom.access import Cause, open_without
from apps.classroom.models import AccessChange, Provisioning
from apps.core.dates import today
from apps.core.money import format_euros
from apps.core.staff.admin_base import Tone
from apps.orders.by_staff.receive import missing_cents
from apps.orders.ledger.balance import balance_of
from apps.orders.ledger.lines import order_money
from apps.orders.models import Dispute, Gift, Order, OrderLine, StaffOrder
from apps.orders.models.staff_order import is_canceled
from apps.orders.models.statuses import (
    CANCELED_BY_STAFF,
    INSTALMENT_SETTLED,
    PLAN_RUNNING,
    UNPAID,
    OrderStatus,
)

TONES = {
    OrderStatus.CART: Tone.QUIET,
    OrderStatus.PAYING: Tone.WAIT,
    OrderStatus.OVERDUE: Tone.BAD,
    OrderStatus.PAID: Tone.GOOD,
    OrderStatus.PARTIALLY_REFUNDED: Tone.WAIT,
    OrderStatus.REFUNDED: Tone.QUIET,
    OrderStatus.EXPIRED: Tone.QUIET,
}


@dataclass(frozen=True)
class State:
    word: str
    tone: Tone


OPEN = State("abierto", Tone.GOOD)
WAITING = State("en espera", Tone.WAIT)
FAILED = State("fallido", Tone.BAD)
WITHDRAWN = State("retirado", Tone.QUIET)
OPEN_BY_ANOTHER = State("retirado, abierto por otro pedido", Tone.WAIT)
ENDED = State("terminado", Tone.QUIET)
NONE = State("sin acceso", Tone.QUIET)


@dataclass(frozen=True)
class Access:
    """The access to each line of an order, by the line's id. `problem` is what went wrong last.

    `ends` has the last day of each line that is open and has one.
    """

    of_lines: dict[int, State] = field(default_factory=dict)
    problem: str = ""
    ends: dict[int, date] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """ "acceso abierto hasta el 27/05/2027", or "acceso: abierto (2), retirado (1)"."""
        words = Counter(state.word for state in self.of_lines.values())
        if len(words) < 2:
            said = "".join(f"acceso {word}" for word in words)
        else:
            said = "acceso: " + ", ".join(f"{word} ({count})" for word, count in words.items())
        days = sorted(set(self.ends.values()))
        if not days:
            return said
        if len(words) > 1:
            said += "; lo abierto"
        if len(days) == 1:
            return f"{said} hasta el {days[0]:%d/%m/%Y}"
        return f"{said}, según la línea hasta el {days[0]:%d/%m/%Y} o el {days[-1]:%d/%m/%Y}"

    @property
    def is_left(self) -> bool:
        """Whether the order opens anything, or will."""
        closed = {WITHDRAWN.word, OPEN_BY_ANOTHER.word, ENDED.word, NONE.word}
        return any(state.word not in closed for state in self.of_lines.values())


@dataclass(frozen=True)
class Head:
    """One sentence about the order, in parts."""

    buyer: str
    items: str
    state: State
    money: list[str]
    access: Access
    disputes: list[str]


def head_of(order: Order) -> Head:
    lines = list(order.lines.all())
    return Head(
        buyer_of(order),
        items_of(lines),
        state_of(order),
        _money(order),
        access_of(order, lines),
        [_in_words(row) for row in Dispute.objects.open().filter(payment__order=order)],
    )


def buyer_of(order: Order) -> str:
    """The buyer's name, or the address of one who gave none."""
    return f"{order.first_name} {order.last_name}".strip() or order.email


def items_of(lines: Iterable[OrderLine]) -> str:
    """ "Teoría de juegos y 2 más": the first line, and the number of the others."""
    names = [line.name for line in lines]
    return names[0] + (f" y {len(names) - 1} más" if len(names) > 1 else "") if names else ""


def state_of(order: Order) -> State:
    """The order's state. An order that waits for a transfer is an open cart.

    An order that staff have canceled is expired, and is called canceled.
    """
    by_staff = getattr(order, "by_staff", None)
    if is_canceled(order):
        return State(CANCELED_BY_STAFF, Tone.QUIET)
    if order.status == Order.Status.CART and by_staff is not None:
        if by_staff.refused_by:
            what = "Descuento" if by_staff.discount else "Cambio"
            return State(f"{what} rechazado", Tone.BAD)
        if by_staff.awaits_approval:
            return State("Espera aprobación", Tone.WAIT)
        if by_staff.paid_by == StaffOrder.PaidBy.TRANSFER:
            return State("Esperando transferencia", Tone.WAIT)
        return State("Esperando el pago con tarjeta", Tone.WAIT)
    return State(str(order.get_status_display()), TONES[OrderStatus(order.status)])


def _money(order: Order) -> list[str]:
    balance = balance_of(order)
    excess = order_money(order).excess_left if balance.paid > balance.cost else 0
    amounts = (
        ("pagado {}", balance.paid),
        ("{} de más", excess),
        ("devuelto {}", balance.returned),
        ("pendiente {}", _outstanding_cents(order)),
    )
    said = [words.format(format_euros(cents)) for words, cents in amounts if cents]
    return said or ["sin coste" if not order.total_cents else "sin pagar"]


def _outstanding_cents(order: Order) -> int:
    if order.status in PLAN_RUNNING:
        return sum(
            row.amount_cents
            for row in order.instalments.all()
            if row.status not in INSTALMENT_SETTLED
        )
    return missing_cents(order) if order.is_open else 0


def _in_words(dispute: Dispute) -> str:
    amount = format_euros(dispute.amount_cents)
    if dispute.respond_by is None:
        return f"disputa abierta de {amount}"
    day = date_format(localtime(dispute.respond_by), r"j \d\e F")
    return f"disputa abierta de {amount}, contestar antes del {day}"


def access_of(order: Order, lines: Iterable[OrderLine]) -> Access:
    """The true state of access to each line: what the order gave, less pauses and withdrawals."""
    if order.status in UNPAID:
        return Access()
    row = Provisioning.objects.filter(order_id=order.pk).first()
    if row is None:
        return Access({line.pk: _before_access(order) for line in lines})
    change = AccessChange.objects.filter(order_id=order.pk).exclude(status="done").last()
    problem = row.last_error
    if change is not None and not problem:
        problem = f"El aula aún no ha hecho el cambio «{change.reason}»"
        problem += f": {change.last_error}" if change.last_error else "."
    # A gift's recipient is another student: what they have by other orders is theirs.
    others = open_without(student=row.student, order_id=order.pk) if row.withdrawn else set()
    states = {line.pk: _of_line(line, row, others) for line in lines}
    ends = {line.pk: row.end_of(_item(line)) for line in lines if states[line.pk] == OPEN}
    return Access(states, problem, {pk: day for pk, day in ends.items() if day is not None})


def _before_access(order: Order) -> State:
    if order.status == Order.Status.REFUNDED:
        return WITHDRAWN
    gift = Gift.objects.filter(order=order).first()
    if gift is not None and gift.status == Gift.Status.WAITING:
        return State(f"se regala el {gift.deliver_on:%d/%m/%Y}", Tone.WAIT)
    return NONE if order.student.erased_at else WAITING


def _item(line: OrderLine) -> list[int | None]:
    return [line.subject_id, line.lesson_id]


def _of_line(
    line: OrderLine, row: Provisioning, open_by_others: set[tuple[int, int | None]]
) -> State:
    item = _item(line)
    if item not in row.items:
        return NONE
    if item in row.withdrawn:
        return OPEN_BY_ANOTHER if (*item,) in open_by_others else WITHDRAWN
    ends_on = row.end_of(item)
    if ends_on is not None and ends_on < today():
        return ENDED
    # What could be opened is open, although another course of the order is missing.
    is_given = row.status == Provisioning.Status.CREATED or (
        row.missing and item not in row.missing
    )
    if not is_given:
        return FAILED if row.status == Provisioning.Status.FAILED else WAITING
    if row.paused_for:
        causes = ", ".join(Cause(cause).label.lower() for cause in row.paused_for)
        return State(f"en pausa: {causes}", Tone.WAIT)
    return OPEN
