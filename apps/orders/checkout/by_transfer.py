"""Orders that their buyers pay by bank transfer (docs/rules.md, "Transfers that buyers choose").

Such an order is a cart with a row `StaffOrder`, like one of staff
(docs/decisions/0037-transfers-are-payments.md). Staff record the transfer when it arrives.
"""

from datetime import timedelta

from django.db import transaction
from django.db.models import CharField, Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from apps.core.database import require_transaction
from apps.core.errors import Conflict
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.models import Mail, SiteSettings
from apps.core.web.throttle import Limit
from apps.orders.checkout.request import Checkout
from apps.orders.errors import OpenPaymentInTheWay, PaidByTransfer
from apps.orders.gifts.details import stored_details
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import locked_order
from apps.orders.ledger.states import change_status
from apps.orders.models import Order, StaffOrder
from apps.orders.models.staff_order import BUYER as ACTOR
from apps.orders.models.staff_order import TRANSFER_LIFE
from apps.orders.models.statuses import EventKind
from apps.orders.promo import uses as promo_uses
from apps.students.models import Student

REMINDED_AFTER = timedelta(days=3)
# A transfer of the last day takes so long to arrive.
ARRIVES_WITHIN = timedelta(days=2)
# The beginning of the key of a reminder's mail.
_KEY = "transfer-reminder:"
# To all mailboxes together, as those of carts.
ALL_REMINDERS = Limit("transfer-reminders", times=300, seconds=3600)


class TransferUnavailable(Conflict):
    code = "transfer_unavailable"
    message = "Este pedido no se puede pagar por transferencia. Elige otro medio de pago."


def await_transfer(order: Order, *, origin: Origin = Origin.ORDER) -> StaffOrder:
    """Let the placed order wait for a transfer, and mail its buyer how to make it. Repeatable.

    `origin` says who causes the mail. It may be withheld: the checkout's answer has the details.
    Part of the caller's transaction, which holds the order's lock. Raises TransferUnavailable, and
    OpenPaymentInTheWay if the caller has to cancel an open payment first.
    """
    require_transaction("await_transfer")
    row: StaffOrder | None = getattr(order, "by_staff", None)
    offered = SiteSettings.current().takes_transfers and not order.in_instalments
    if not offered or (row is not None and not row.by_buyer):
        raise TransferUnavailable
    if (payment := order.payments.open().first()) is not None:
        raise OpenPaymentInTheWay(payment)
    if row is None:
        row = StaffOrder(order=order, by_buyer=True, actor=ACTOR)
        note(
            order,
            kind=EventKind.TRANSFER_CHOSEN,
            actor=ACTOR,
            reason="Va a pagar por transferencia",
        )
    row.paid_by, row.agreed = StaffOrder.PaidBy.TRANSFER, order.total_amount
    row.save()
    queue_mail(
        key=f"transfer-details:{order.pk}:{order.revision}",
        template="transfer_details",
        to=order.email,
        context={"order_id": order.pk},
        origin=origin,
    )
    return row


def awaits_buyers_transfer(order: Order) -> bool:
    """Whether the buyer has chosen a transfer, and none has arrived yet."""
    row: StaffOrder | None = getattr(order, "by_staff", None)
    return row is not None and row.by_buyer and not order.payments.transfers().exists()


def pays_for_another(order: Order, checkout: Checkout) -> bool:
    """Whether the checkout changes the student or gift recipient of an order by transfer.

    The order may already be paid: the shop has mailed its student how to transfer. Whoever typed
    the student's address has the order's token.
    """
    if not order.events.filter(kind=EventKind.TRANSFER_CHOSEN).exists():
        return False
    student = Student.objects.with_email(checkout.email)
    stored = stored_details(order)
    gift = stored if checkout.keeps_gift else checkout.gift
    is_same_gift = (gift and gift.email) == (stored and stored.email)
    return student is None or student.pk != order.student_id or not is_same_gift


def stop_awaiting(order: Order) -> None:
    """Let the buyer of an order that waits for a transfer pay in another way after all.

    Raises PaidByTransfer if staff have agreed the transfer, or if money has arrived.
    """
    row: StaffOrder | None = getattr(order, "by_staff", None)
    if row is None or row.paid_by != StaffOrder.PaidBy.TRANSFER:
        return
    if not awaits_buyers_transfer(order):
        raise PaidByTransfer
    row.delete()
    # Forget the row that the order has cached.
    order.refresh_from_db()
    note(order, kind=EventKind.CHANGED, actor=ACTOR, reason="Ya no paga por transferencia")


def remind_buyers() -> int:
    """Queue one reminder for each transfer that has not arrived after three days.

    Of an hour at most ALL_REMINDERS: the next runs queue the others.
    """
    now = timezone.now()
    key = Concat(Value(_KEY), Cast(OuterRef("order_id"), CharField()))
    due = _without_money(now - REMINDED_AFTER).filter(created_at__gt=now - TRANSFER_LIFE)
    queued = 0
    for row in due.exclude(Exists(Mail.objects.filter(key=key))).order_by("created_at"):
        if ALL_REMINDERS.seconds_until_free("all"):
            break
        with transaction.atomic():
            mail = queue_mail(
                key=f"{_KEY}{row.order_id}",
                template="transfer_reminder",
                to=row.order.email,
                context={"order_id": row.order_id},
            )
            if mail is not None:
                ALL_REMINDERS.add("all")
        queued += mail is not None
    return queued


def expire_unpaid() -> int:
    """Expire the orders whose transfers have not arrived in time; return their number."""
    late = _without_money(timezone.now() - TRANSFER_LIFE - ARRIVES_WITHIN)
    return sum(_expire(order_id) for order_id in late.values_list("order_id", flat=True))


@transaction.atomic
def _expire(order_id: int) -> bool:
    order = locked_order(order_id)
    waits = StaffOrder.objects.filter(order=order, by_buyer=True).exists()
    if order.status != Order.Status.CART or not waits or order.payments.transfers().exists():
        return False
    promo_uses.release(order)
    reason = "La transferencia no ha llegado a tiempo"
    change_status(
        order, Order.Status.EXPIRED, kind=EventKind.EXPIRED, actor="sistema", reason=reason
    )
    return True


def _without_money(before: object) -> QuerySet[StaffOrder]:
    """Rows of open orders that have waited since `before`, and for which no money has arrived."""
    rows = StaffOrder.objects.filter(
        by_buyer=True,
        paid_by=StaffOrder.PaidBy.TRANSFER,
        created_at__lte=before,
        order__status=Order.Status.CART,
    )
    return rows.exclude(order__payments__status="succeeded").select_related("order")
