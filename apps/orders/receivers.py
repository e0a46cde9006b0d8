"""Receivers of signals about students: their orders follow a change of address."""

from typing import Any

from django.dispatch import receiver

from apps.orders.ledger.history import note
from apps.orders.ledger.locks import lock_orders
from apps.orders.models import Order
from apps.orders.models.statuses import EventKind
from apps.orders.settlement.new_address import (
    expire_plain_carts,
    follow_student,
    orders_that_follow,
)
from apps.students.models import Student
from apps.students.signals import email_changed, email_changing


@receiver(email_changing)
def lock_orders_of_student(sender: Any, student_id: int, **kwargs: Any) -> None:
    """Lock the student's orders before the student, as a payment does."""
    lock_orders(orders_that_follow(Order.objects.filter(student=student_id).only("pk")))


@receiver(email_changed)
def move_orders(sender: Any, student: Student, before: str, actor: str, **kwargs: Any) -> None:
    """Give the student's orders the new address, so that later mails about them arrive.

    Carts that anybody may have prepared expire instead.
    """
    expire_plain_carts(student_id=student.pk, email=before, actor=actor)
    orders = Order.objects.filter(student=student, email__iexact=before)
    for order in lock_orders(orders_that_follow(orders)):
        if not follow_student(order, email=student.email, actor=actor):
            continue
        reason = f"Correo cambiado: de {before} a {student.email}"
        note(order, kind=EventKind.EMAIL_CHANGED, actor=actor, reason=reason)
