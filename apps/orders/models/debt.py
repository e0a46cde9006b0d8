"""Who owes money: orders with an overdue instalment, and orders of staff that nobody has paid.

The rules are in docs/rules.md, "Who owes".
"""

from datetime import timedelta
from typing import Any, ClassVar

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from apps.orders.models.instalment import Instalment
from apps.orders.models.order import CART_LIFE, Order, OrderEvent, OrderQuerySet
from apps.orders.models.staff_order import StaffOrder
from apps.orders.models.statuses import PLAN_RUNNING, UNPAID, EventKind, OrderStatus

# An order of staff that has expired is asked about for so long.
ASKED_ABOUT = timedelta(days=60)


class DebtQuerySet(OrderQuerySet):
    def owing(self) -> Any:
        """The orders whose buyers owe something. Small indexes hold all of their rows."""
        since = timezone.now() - CART_LIFE - ASKED_ABOUT
        # A student who presses the button of a renewal has agreed nothing with staff.
        agreed = StaffOrder.objects.filter(
            awaits_approval=False,
            by_buyer=False,
            renewal=False,
            created_at__gte=since,
            order__status__in=UNPAID,
        )
        late = Instalment.objects.late().order_by().values("order_id")
        numbers = late.union(agreed.order_by().values("order_id"), all=True)
        # An order that staff have canceled is no debt: its event is of another kind.
        in_time = OrderEvent.objects.filter(
            order=OuterRef("pk"),
            kind=EventKind.EXPIRED,
            at__gte=OuterRef("created_at") + CART_LIFE,
        )
        expired = Q(Exists(in_time), status=OrderStatus.EXPIRED)
        unpaid = Q(status=OrderStatus.CART) | expired
        return self.filter(
            Q(status__in=PLAN_RUNNING) | unpaid, pk__in=numbers, student__erased_at=None
        )


class Debt(Order):
    """An order whose buyer owes something, with permissions of its own."""

    objects: ClassVar[Any] = DebtQuerySet.as_manager()

    class Meta:
        proxy = True
        verbose_name = "deuda"
        verbose_name_plural = "deudas"
        default_permissions = ("view", "change")
        ordering = ("created_at",)
