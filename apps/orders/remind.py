"""Reminders of a cart that was left unpaid (decisions.md, "Orders").

Only to those who asked for them ("Avisadme si dejo mi compra a medias") or saved the cart
themselves, each with a link that ends them, and never of something they have bought meanwhile.
"""

from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.core.mail.outbox import queue_mail
from apps.orders import promo as promo_uses
from apps.orders.cart import on_sale
from apps.orders.models import CART_LIFE, Order, OrderLine, Payment
from apps.orders.recover import items_of
from apps.orders.states import note

SALT = "orders.cart-reminders"
# A reminder that is later than this is no reminder: the clock was off, or the setting is new.
PATIENCE = timedelta(hours=24)


def queue_due_reminders() -> int:
    """Owe the reminders that are due now; return how many. Safe to repeat and in parallel."""
    now = timezone.now()
    queued = 0
    for hours in settings.CART_REMINDER_HOURS:
        due = timedelta(hours=hours)
        since = now - due - PATIENCE
        for order in _unpaid_carts().filter(updated_at__lte=now - due, updated_at__gt=since):
            if not wants_reminder(order):
                continue
            with transaction.atomic():
                mail = queue_mail(
                    key=f"cart-reminder:{order.pk}:{hours}",
                    template="cart_reminder",
                    to=order.email,
                    context={"order_id": order.pk},
                )
            queued += mail is not None
    return queued


def _unpaid_carts() -> QuerySet[Order]:
    """Carts whose buyer agreed to be reminded; of several with one address the newest alone.

    A student is who has an address, so that is what carts have in common.
    """
    newer = Order.objects.filter(student=OuterRef("student"), created_at__gt=OuterRef("created_at"))
    return Order.objects.filter(
        ~Exists(newer),
        Q(reminders_accepted=True) | Q(saved_for_later=True),
        status=Order.Status.CART,
        reminders_stopped_at=None,
        created_at__gt=timezone.now() - CART_LIFE,
    )


def wants_reminder(order: Order) -> bool:
    """Whether the cart is still worth a reminder: unpaid, on sale, and nothing of it bought since.

    Asked again when the mail is written, which may be long after it was owed.
    """
    if not order.is_open or order.reminders_stopped_at is not None:
        return False
    if order.payments.filter(status=Payment.Status.PROCESSING).exists():
        return False
    rows = list(order.lines.all())
    bought = OrderLine.objects.filter(
        order__student_id=order.student_id, order__status__in=promo_uses.BOUGHT
    )
    owned: set[tuple[int, int | None]] = set(bought.values_list("subject_id", "lesson_id"))
    for row in rows:
        # A lesson of a subject that was bought whole has been bought as well.
        if owned & {(row.subject_id, row.lesson_id), (row.subject_id, None)}:
            return False
    return bool(on_sale(items_of(rows))[0])


def unsubscribe_token(order: Order) -> str:
    """What ends the reminders of this order's address, and opens nothing else."""
    return signing.dumps(order.pk, salt=SALT)


def order_behind(token: str) -> Order | None:
    """The order whose reminders the token ends; None for one that we did not make."""
    try:
        order_id = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        return None
    return Order.objects.filter(pk=order_id).first()


@transaction.atomic
def stop_reminders(order: Order) -> None:
    """No reminder any more for any cart of this address; a new cart asks anew. Safe to repeat."""
    same = Order.objects.select_for_update().filter(
        student_id=order.student_id, status=Order.Status.CART, reminders_stopped_at=None
    )
    for cart in same.order_by("pk"):
        cart.reminders_stopped_at = timezone.now()
        # Not `save()`: the moment of the last change is what reminders are counted from.
        Order.objects.filter(pk=cart.pk).update(reminders_stopped_at=cart.reminders_stopped_at)
        note(cart, actor="comprador", reason="No quiere más avisos de compra a medias")
