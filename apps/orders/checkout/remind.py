"""Reminders of an unpaid cart (docs/rules.md, "Recovery and reminders").

Only buyers who ticked "Avisadme si dejo mi compra a medias" or saved the cart get reminders. Each
reminder has an unsubscribe link. A cart whose items were bought meanwhile gets none.
"""

from datetime import timedelta

from django.core import signing
from django.db import transaction
from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from apps.core.mail.outbox import queue_mail
from apps.core.models import Mail
from apps.core.web.throttle import Limit
from apps.orders.ledger.history import note
from apps.orders.models import CART_LIFE, Gift, Order, OrderLine, Payment, StaffOrder
from apps.orders.models.statuses import EVER_PAID, EventKind
from apps.orders.offer.cart import items_of, on_sale
from apps.orders.recovery_link import has_another_address, mailed_to
from apps.pricing.reads import current_terms

SALT = "orders.cart-reminders"
# The beginning of the key of a reminder's mail.
_KEY = "cart-reminder:"
# A reminder that is overdue by more than this is not sent. It happens if `manage.py clock` was
# stopped for a day, or if staff have added an earlier hour to the terms of sale.
MAX_DELAY = timedelta(hours=24)
# To all mailboxes together: anybody can type strangers' addresses into carts, and the academy must
# not become a sender of spam. The others follow in the next hours.
ALL_REMINDERS = Limit("cart-reminders", times=300, seconds=3600)
MOST_NOTED = 100


def queue_due_reminders() -> int:
    """Queue the reminders that are due; return their number. Safe to repeat and in parallel.

    Of an hour at most ALL_REMINDERS: the next runs queue the others.
    """
    now = timezone.now()
    queued = 0
    for hours in current_terms().reminder_hours:
        due = timedelta(hours=hours)
        since = now - due - MAX_DELAY
        carts = _unpaid_carts().filter(updated_at__lte=now - due, updated_at__gt=since)
        # Each look at a cart takes several queries. Strangers can make thousands of carts, and all
        # other jobs wait for this one.
        for order in carts.exclude(_has_reminder(hours)):
            if not wants_reminder(order):
                continue
            if ALL_REMINDERS.seconds_until_free("all"):
                return queued
            with transaction.atomic():
                mail = queue_mail(
                    key=f"{_KEY}{order.pk}:{hours}",
                    template="cart_reminder",
                    to=order.email,
                    context={"order_id": order.pk},
                )
                if mail is not None:
                    ALL_REMINDERS.add("all")
            queued += mail is not None
    return queued


def _has_reminder(hours: int) -> Exists:
    """The condition of a cart that its reminder after so many hours has been queued."""
    key = Concat(Value(_KEY), Cast(OuterRef("pk"), CharField()), Value(f":{hours}"))
    return Exists(Mail.objects.filter(key=key))


def _unpaid_carts() -> QuerySet[Order]:
    """The newest unpaid cart of each mailbox whose buyer agreed to reminders."""
    newer = Order.objects.filter(
        email_identity=OuterRef("email_identity"), created_at__gt=OuterRef("created_at")
    )
    return Order.objects.filter(
        ~Exists(newer),
        Q(by_staff=None) | Q(by_staff__by_buyer=False, by_staff__awaits_approval=False),
        Q(reminders_accepted=True) | Q(saved_for_later=True),
        status=Order.Status.CART,
        reminders_stopped_at=None,
        created_at__gt=timezone.now() - CART_LIFE,
    )


def wants_reminder(order: Order) -> bool:
    """Whether the cart is unpaid and on sale, and none of its items was bought since.

    Called again when the mail is rendered, which may be long after it was queued.
    """
    if not order.is_open or order.reminders_stopped_at is not None:
        return False
    by_staff: StaffOrder | None = getattr(order, "by_staff", None)
    if by_staff is not None and by_staff.awaits_approval:
        return False
    if order.payments.filter(status=Payment.Status.PROCESSING).exists():
        return False
    rows = list(order.lines.all())
    bought = OrderLine.objects.filter(
        order__student_id=order.student_id, order__status__in=EVER_PAID, order__gift=None
    )
    owned: set[tuple[int, int | None]] = set(bought.values_list("subject_id", "lesson_id"))
    for row in rows if not Gift.objects.filter(order=order).exists() else ():
        # A lesson of a subject that was bought whole has been bought as well.
        if owned & {(row.subject_id, row.lesson_id), (row.subject_id, None)}:
            return False
    return bool(on_sale(items_of(rows))[0])


def unsubscribe_token(order: Order) -> str:
    """A signed token that stops the reminders to this order's student and opens nothing else.

    It names the address to which it is mailed, as a digest: whoever prepared the cart can put
    somebody else's on it afterwards.
    """
    return signing.dumps([order.pk, mailed_to(order)], salt=SALT)


def order_of_unsubscribe_token(token: str) -> Order | None:
    """The order of an unsubscribe token.

    None for a token with a wrong signature, or of an address that the order no longer has.
    """
    try:
        signed = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        return None
    # Mails of an earlier version have the number alone.
    order_id, digest = signed if isinstance(signed, list) else (signed, "")
    order = Order.objects.filter(pk=order_id).first()
    return None if order is None or has_another_address(order, digest) else order


@transaction.atomic
def stop_reminders(order: Order) -> None:
    """Stop the reminders for all carts of the order's student. A later cart may ask again.

    Strangers can make thousands of them: the history of the newest ones alone says so.
    """
    same = Order.objects.filter(
        student_id=order.student_id, status=Order.Status.CART, reminders_stopped_at=None
    )
    locked = same.select_for_update(no_key=True).order_by("pk")
    ids = list(locked.values_list("pk", flat=True))
    # Not `save()`: it would set `updated_at`, from which the next reminder is counted.
    same.update(reminders_stopped_at=timezone.now())
    for cart in Order.objects.filter(pk__in=ids[-MOST_NOTED:]):
        note(
            cart,
            kind=EventKind.REMINDERS_STOPPED,
            actor="comprador",
            reason="No quiere más avisos de compra a medias",
        )
