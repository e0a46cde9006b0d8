"""Export, erasure and retention of gifts: of their buyers and of their recipients.

The rules are in docs/rules.md, "Keeping and deleting data".
"""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from apps.core.privacy import (
    MOST_ROWS,
    CannotErase,
    PersonalData,
    counted,
    erase_all,
    register_personal_data,
    register_retention,
)
from apps.orders.gifts.change import cancel_gift
from apps.orders.ledger.alerts import alert_staff
from apps.orders.ledger.history import flag
from apps.orders.ledger.locks import lock_orders
from apps.orders.models import Gift, Order
from apps.orders.models.gift import GiftQuerySet
from apps.orders.models.statuses import SOLD, EventKind
from apps.students.models import Student

WORDS_KEPT = timedelta(days=365)
GIVERS_KEPT = timedelta(days=5 * 365 + 1)
_CANCELED = "quien lo recibe ha pedido que se borren sus datos"


def _given(email: str) -> GiftQuerySet:
    return Gift.objects.filter(Q(order__email__iexact=email) | Q(order__student__email=email))


def _received(email: str) -> GiftQuerySet:
    return Gift.objects.filter(Q(recipient_email__iexact=email) | Q(recipient__email=email))


def _export(email: str) -> dict[str, Any]:
    given = list(_given(email).order_by("-pk")[:MOST_ROWS])
    corrected = Gift.objects.filter(pk__in=[gift.pk for gift in given]).corrected()
    hidden = set(corrected.values_list("pk", flat=True))
    return {
        "hechos": [
            {
                **_facts(gift),
                "pedido": gift.order_id,
                "para": gift.recipient_name,
                "correo": "" if gift.pk in hidden else gift.recipient_email,
            }
            for gift in given
        ],
        "recibidos": [_facts(gift) for gift in _received(email).order_by("-pk")[:MOST_ROWS]],
    }


def _facts(gift: Gift) -> dict[str, Any]:
    return {
        "de_parte_de": gift.sender,
        "mensaje": gift.message,
        "entrega": gift.deliver_on.isoformat(),
        "estado": gift.get_status_display(),
    }


def _preview(email: str) -> list[str]:
    if _given(email).waiting().filter(order__status__in=SOLD).exists():
        raise CannotErase("Hay un regalo pagado por entregar: espera a su entrega.")
    waiting = _received(email).waiting().filter(order__status__in=SOLD).count()
    return [
        f"Se anula, y el equipo lo devuelve a quien lo pagó: {gifts}."
        for gifts in counted(waiting, "regalo por entregar", "regalos por entregar")
    ]


def _erase(email: str) -> None:
    of_order = Q(gift__in=_given(email)) | Q(gift__in=_received(email))
    # The lock keeps a delivery out.
    orders = Order.objects.filter(pk__in=Order.objects.filter(of_order).values("pk"))
    lock_orders(orders)
    _preview(email)
    for gift in _received(email).waiting().filter(order__status__in=SOLD).select_related("order"):
        order = gift.order
        cancel_gift(order, actor="sistema", reason=_CANCELED)
        reason = "Regalo sin entregar que hay que devolver"
        flag(order, kind=EventKind.GIFT_CANCELED, actor="sistema", reason=reason)
        alert_staff(order, occasion=f"gift-erased-{order.pk}", reason=reason)
    rows = set(_given(email).values_list("pk", flat=True))
    rows |= set(_received(email).values_list("pk", flat=True))
    Gift.objects.filter(pk__in=rows).update(
        sender="", recipient_name="", recipient_email="", message=""
    )


def _purge_words(now: datetime) -> int:
    """Erase the texts of gifts that were delivered or canceled a year ago."""
    over = Gift.objects.exclude(status=Gift.Status.WAITING).filter(
        deliver_on__lt=timezone.localdate(now) - WORDS_KEPT
    )
    has_words = ~Q(sender="", recipient_name="", message="")
    return over.filter(has_words).update(sender="", recipient_name="", message="")


def _purge_givers(now: datetime) -> int:
    """Erase buyers who only made gifts, and have no access whose end would count."""
    recent = Order.objects.filter(student=OuterRef("pk"), updated_at__gte=now - GIVERS_KEPT)
    gifts = Gift.objects.filter(order__student=OuterRef("pk"))
    givers = Student.objects.filter(
        Exists(gifts), ~Exists(recent), provisionings=None, erased_at=None
    )
    erased = 0
    for email in list(givers.values_list("email", flat=True)):
        try:
            erase_all(email)
            erased += 1
        except CannotErase:
            # An open payment or a dispute. The next night tries again.
            continue
    return erased


register_personal_data(PersonalData("regalos", _export, _preview, _erase))
register_retention("Textos de regalos de hace más de un año", _purge_words)
register_retention("Datos de quien solo regaló hace más de 5 años", _purge_givers)
