"""Questions that staff ask about orders."""

from django.db.models import CharField, Exists, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat

from apps.classroom.models import Provisioning
from apps.orders.models import Order
from apps.students.models import Student

PAID_FOR = (Order.Status.PAID, Order.Status.PAYING, Order.Status.OVERDUE)


def paid_without_access() -> QuerySet[Order]:
    """Orders that have been paid, at least in part, and whose classroom access does not stand.

    Each with what went wrong at the last try (`access_problem`) and when the next one is due
    (`access_due_at`); both are null where nothing was ever tried.
    """
    reference = Concat(Value("pedido-"), Cast(OuterRef("pk"), CharField()))
    access = Provisioning.objects.filter(reference=reference)
    return Order.objects.filter(
        ~Exists(access.filter(status=Provisioning.Status.CREATED)), status__in=PAID_FOR
    ).annotate(
        access_problem=Subquery(access.values("last_error")[:1]),
        access_due_at=Subquery(
            access.filter(status=Provisioning.Status.PENDING).values("due_at")[:1]
        ),
    )


def orders_of(student: Student) -> QuerySet[Order]:
    """What a student has bought, the newest first, with all that their account shows of it."""
    return (
        Order.objects.filter(student=student, paid_at__isnull=False)
        .prefetch_related("lines", "discounts", "instalments")
        .order_by("-paid_at")
    )
