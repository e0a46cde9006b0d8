"""Queries about orders for staff and for the student's account."""

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from apps.classroom.models import Provisioning
from apps.orders.models import Order
from apps.orders.models.statuses import ACTIVE
from apps.students.models import Student


def paid_without_access() -> QuerySet[Order]:
    """Orders paid in full or in part whose classroom access has not been provisioned.

    Annotated with the error of the last attempt (`access_problem`) and the time of the next
    (`access_due_at`). Both are null before the first attempt.
    """
    access = Provisioning.objects.filter(order_id=OuterRef("pk"))
    return Order.objects.filter(
        ~Exists(access.filter(status=Provisioning.Status.CREATED)), status__in=ACTIVE
    ).annotate(
        access_problem=Subquery(access.values("last_error")[:1]),
        access_due_at=Subquery(
            access.filter(status=Provisioning.Status.PENDING).values("due_at")[:1]
        ),
    )


def orders_of(student: Student) -> QuerySet[Order]:
    """The student's paid orders, newest first, with the rows that the account page shows."""
    return (
        Order.objects.filter(student=student, paid_at__isnull=False)
        .prefetch_related("lines", "discounts", "instalments")
        .order_by("-paid_at")
    )
