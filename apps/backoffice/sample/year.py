"""The ordinary sales of the year between the cases: a fixed table, the same on every day.

The shop's services make the first sale of each kind. The others are copies of its rows, for another
student and another day, because the services would take ten seconds for all of them. Sales are of
one kind if the services would write the same: the same cart at the same price and end of access.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from apps.backoffice.sample.clock import clock_at, days_before
from apps.backoffice.sample.shop import REFERENCE, SampleShop
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.classroom.rights import access_end
from apps.core.mail.outbox import new_message_id
from apps.core.models import Mail
from apps.core.random_codes import random_code
from apps.orders.models import (
    Instalment,
    InstalmentAttempt,
    Order,
    OrderDiscount,
    OrderEvent,
    OrderLine,
    Payment,
)
from apps.orders.rewards.service import CODE_LENGTH
from apps.pricing.models import PromoCode
from apps.pricing.reads import campaign_today
from apps.students.models import Consent, Student

# Sales in each week of a quarter, oldest first; the year has four such quarters.
A_WEEK = (5, 6, 7, 6, 8, 7, 9, 6, 7, 8, 7, 9, 6)
WEEKS = 4 * len(A_WEEK)
# (degree, first subject, number of subjects or 0 for a lesson, in instalments)
CARTS = (
    ("ADE", 0, 1, False),
    ("Comunicación", 0, 1, False),
    ("Derecho", 0, 3, True),
    ("Economía", 0, 0, False),
    ("Educación Social", 0, 1, False),
    ("Logopedia", 0, 2, False),
    ("Marketing", 0, 1, False),
    ("Psicología", 0, 2, False),
    ("Relaciones Laborales", 0, 1, False),
    ("Turismo", 0, 1, False),
)
# Plans that still run are cases of their own.
PLAN_DAYS = 45
# In this order a row comes after those that it refers to.
COPIED: tuple[Any, ...] = (
    Student, PromoCode, Order, OrderLine, OrderDiscount, OrderEvent, Payment, Instalment,
    Payment.instalments.through, InstalmentAttempt, Consent, Provisioning, Account, Enrolment, Mail,
)  # fmt: skip
NAME = re.compile(rf"\b([a-z]+)_{REFERENCE}_\d{{5}}\b")
IN_CONTEXT = {
    "order_id": Order,
    "provisioning_id": Provisioning,
    "student_id": Student,
    "payment_id": Payment,
    "instalment_id": Instalment,
}


@dataclass(frozen=True)
class Sale:
    at: datetime
    cart: tuple[str, int, int, bool]


def sales(shop: SampleShop) -> Iterator[Sale]:
    """The sales of the table, oldest first."""
    number = 0
    for week in range(WEEKS):
        count = A_WEEK[week % len(A_WEEK)]
        for place in range(count):
            days = 7 * (WEEKS - week) - place * 7 // count
            carts = [cart for cart in CARTS if days > PLAN_DAYS or not cart[-1]]
            at = days_before(shop.now, days, 13 + place, number * 17 % 60)
            yield Sale(at, carts[number * 3 % len(carts)])
            number += 1


class Year:
    """Makes the sales. Copies wait until `flush`, which inserts them with few statements."""

    def __init__(self, shop: SampleShop) -> None:
        self._shop = shop
        self._made: dict[Any, tuple[Sale, Order]] = {}
        self._waiting: list[tuple[Sale, Sale, Order]] = []

    def sell(self, sale: Sale) -> None:
        with clock_at(sale.at):
            kind = (sale.cart, campaign_today(), access_end(self._shop.day_of(sale.at)))
        if kind in self._made:
            self._waiting.append((sale, *self._made[kind]))
            return
        self.flush()
        degree, first, size, plan = sale.cart
        order = self._shop.buy(sale.at, self._shop.cart(degree, first, size), plan=plan)
        if plan:
            self._shop.run_plan(order)
        self._made[kind] = sale, order

    def flush(self) -> None:
        """Insert the copies that wait."""
        copies = [_Copy(self._shop, *waiting) for waiting in self._waiting]
        self._waiting = []
        for model in COPIED if copies else ():
            with given_moments(model):
                rows = [(copy, old, new) for copy in copies for old, new in copy.rows_of(model)]
                model._base_manager.bulk_create([new for _, _, new in rows])
            for copy, old, new in rows:
                copy.pks[model, old.pk] = new.pk


class _Copy:
    """A sale whose rows are those of another order, at another moment and for a new student."""

    def __init__(self, shop: SampleShop, sale: Sale, first: Sale, order: Order) -> None:
        self.pks: dict[tuple[Any, int], int] = {}
        self._shop, self._order = shop, order
        self._by = sale.at - first.at
        self._days = shop.day_of(sale.at) - shop.day_of(first.at)
        self._person = shop.person()
        self._text = {order.email: self._person["email"], order.phone: self._person["phone"]}
        self._names: dict[str, str] = {}

    def rows_of(self, model: Any) -> Iterator[tuple[Any, Any]]:
        for old in _rows(self._order).get(model, ()):
            yield old, self._copy(model, old)

    def _copy(self, model: Any, old: Any) -> Any:
        new = model()
        for field in model._meta.concrete_fields:
            if not field.generated and not field.primary_key:
                setattr(new, field.attname, self._value(field, getattr(old, field.attname)))
        if isinstance(new, Student | Order):
            new.first_name, new.last_name = self._person["first_name"], self._person["last_name"]
        if isinstance(new, PromoCode):
            new.code = random_code("AMIGO-", CODE_LENGTH)
        if isinstance(new, Account):
            new.external_id = str(new.student_id)
        if isinstance(new, Mail):
            self._address(old, new)
        return new

    def _value(self, field: Any, value: Any) -> Any:
        if field.attname == "order_id" or (field.is_relation and field.related_model in COPIED):
            return self.pks.get((field.related_model or Order, value), value)
        # A random name, such as the order's in idempotency keys or the student's in a classroom.
        if isinstance(value, str | UUID) and field.has_default() and callable(field.default):
            return field.get_default()
        if isinstance(value, datetime):
            return value + self._by
        # The end of access is that of the semester: the same for all copies.
        if isinstance(value, date) and field.name != "ends_on":
            return value + self._days
        if isinstance(value, str):
            for old, new in self._text.items():
                value = value.replace(old, new)
            return NAME.sub(self._renamed, value)
        return value

    def _renamed(self, name: re.Match[str]) -> str:
        """Another name for a payment, customer or card: the same one in all rows of the copy."""
        if name[0] not in self._names:
            self._names[name[0]] = self._shop.reference(name[1])
        return self._names[name[0]]

    def _address(self, old: Mail, new: Mail) -> None:
        """A mail names rows in its context, and the first or, for access, the order in its key."""
        new.context = {
            name: self.pks.get((IN_CONTEXT.get(name), value), value)
            for name, value in old.context.items()
        }
        name, number, *rest = old.key.split(":")
        if old.template == "classroom_access":
            number = str(self.pks[Order, int(number)])
        else:
            number = str(next(iter(new.context.values())))
        new.key, new.message_id = ":".join([name, number, *rest]), new_message_id()


def _rows(order: Order) -> dict[Any, list[Any]]:
    """The rows of an order and of its student, who has no other order. Read once."""
    found: dict[Any, list[Any]] | None = getattr(order, "_sample_rows", None)
    if found is None:
        found = defaultdict(list)
        for model in COPIED:
            found[model] = list(_belonging(model, order))
        order._sample_rows = found  # type: ignore[attr-defined]
    return found


def _belonging(model: Any, order: Order) -> Any:
    rows = model._base_manager.order_by("pk")
    if model is Student:
        return rows.filter(pk=order.student_id)
    if model is Order:
        return rows.filter(pk=order.pk)
    if model is Mail:
        return rows.filter(to=order.email)
    names = {field.name for field in model._meta.get_fields()}
    for name, value in (
        ("student", order.student_id),
        ("order", order.pk),
        ("order_id", order.pk),
        ("instalment__order", order.pk),
    ):
        if name.partition("__")[0] in names:
            return rows.filter(**{name: value})
    raise LookupError(model)


@contextmanager
def given_moments(model: Any) -> Iterator[None]:
    """Within the block `auto_now` fields of the model keep the value that a row has."""
    changed: list[tuple[Any, str]] = []
    for field in model._meta.concrete_fields:
        for switch in ("auto_now", "auto_now_add"):
            if getattr(field, switch, False):
                setattr(field, switch, False)
                changed.append((field, switch))
    try:
        yield
    finally:
        for field, switch in changed:
            setattr(field, switch, True)
