"""Queries about orders for staff and for the student's account."""

from datetime import datetime, timedelta

from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from apps.classroom.models import Provisioning
from apps.core.dates import today
from apps.core.models import Mail
from apps.orders.models import Gift, Order
from apps.orders.models.statuses import DELIVERABLE, SOLD
from apps.pricing.reads import reminder_hours_ever
from apps.students.models import Student

SHOWN_WITH_ORDERS = ("lines__subject", "discounts", "instalments")
# An order that was paid longer ago than this had a provisioning.
UNPROVISIONED_WITHIN = timedelta(days=7)


def paid_without_access() -> QuerySet[Order]:
    """Orders paid in full or in part whose classroom access has not been provisioned.

    Annotated with the error of the last attempt (`access_problem`) and the time of the next
    (`access_due_at`). Both are null before the first attempt.

    An order that was refunded in part counts while it is to open something. A gift counts from the
    day after its delivery was due, or while it has no address.

    All parts use small partial indexes. An order without a provisioning can only be an error of
    the last days: years later the provisioning is deleted with the account.
    """
    access = Provisioning.objects.filter(order_id=OuterRef("pk"))
    unfinished = Provisioning.objects.exclude(status=Provisioning.Status.CREATED).exclude(
        items=F("withdrawn")
    )
    expected = Q(gift=None) | Q(gift__status=Gift.Status.DELIVERED)
    without = Order.objects.filter(
        expected, ~Exists(access), paid_at__gt=timezone.now() - UNPROVISIONED_WITHIN
    )
    late = Q(deliver_on__lt=today()) | Q(recipient_email="")
    undelivered = Gift.objects.waiting().filter(
        late, order__status__in=DELIVERABLE, order__disputed_at=None
    )
    numbers = (
        unfinished.order_by()
        .values("order_id")
        .union(
            without.order_by().values("pk"),
            undelivered.order_by().values("order_id"),
            all=True,
        )
    )
    return Order.objects.filter(pk__in=numbers, status__in=SOLD).annotate(
        access_problem=Subquery(access.values("last_error")[:1]),
        access_due_at=Subquery(
            access.filter(status=Provisioning.Status.PENDING).values("due_at")[:1]
        ),
    )


def paid_after_reminder(*, since: datetime) -> QuerySet[Order]:
    """Orders paid since then whose buyer was mailed a reminder of the unpaid cart before."""
    keys = [
        Concat(Value("cart-reminder:"), Cast(OuterRef("pk"), CharField()), Value(f":{hours}"))
        for hours in reminder_hours_ever()
    ]
    if not keys:
        return Order.objects.none()
    reminders = Mail.objects.filter(key__in=keys, sent_at__lt=OuterRef("paid_at"))
    return Order.objects.filter(Exists(reminders), paid_at__gte=since)


def orders_of(student: Student) -> QuerySet[Order]:
    """The student's paid orders, newest first. The account page prefetches SHOWN_WITH_ORDERS."""
    orders = Order.objects.filter(student=student, paid_at__isnull=False)
    return orders.select_related("gift").order_by("-paid_at")
