"""The locks of an order and of a buyer (docs/rules.md, "Orders and their states")."""

from django.db.models import F, QuerySet

from apps.core.database import lock_names
from apps.core.identity import email_identity, phone_identity
from apps.orders.models import Order
from apps.students.models import Student


def locked_order(order_id: int) -> Order:
    """The order with its row locked. Every change of an order takes this lock first.

    The statement joins nothing: a merge of two students, for which it has waited, changes
    `student`, and PostgreSQL would then find no row that fits the join.
    """
    return Order.objects.select_for_update(no_key=True).get(pk=order_id)


def lock_orders(orders: QuerySet[Order]) -> list[Order]:
    """Return these orders with their rows locked, in the one order for whoever locks several.

    Unpaid ones come first, then the others as they were paid: a payment locks its order before the
    orders with whose money it is paid, too (an exchanged line, lessons). A dispute or a refund
    locks an order before those that were paid with its money, which was later.
    """
    rows = orders.select_for_update(no_key=True, of=("self",))
    return list(rows.order_by(F("paid_at").asc(nulls_first=True), "pk"))


def lock_buyer(*, email: str, phone: str, order: Order | None) -> None:
    """Lock a buyer's right to use a friend code until the transaction ends.

    A buyer is an address, a phone and a student, as in `promo.uses.orders_of_person`; those that
    `order` has had so far are locked, too. No row can be locked instead: two new carts of one buyer
    may have different codes, and neither sees the other before it is committed.
    """
    student = Student.objects.with_email(email)
    names = {f"email {email_identity(email)}", f"phone {phone_identity(phone)}"}
    names |= {f"student {student.pk}"} if student is not None else set()
    if order is not None:
        names |= {f"email {order.email_identity}", f"phone {order.phone_identity}"}
        names.add(f"student {order.student_id}")
    lock_names(*(f"friend code of {name}" for name in names))
