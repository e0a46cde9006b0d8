"""Export, erasure and retention of orders (docs/rules.md, "Keeping and deleting data").

Erasure keeps paid orders as accounting rows, without contact data.
"""

import re
from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Coalesce

from apps.core.mail.outbox import delete_mails_about, delete_mails_to
from apps.core.money import format_euros
from apps.core.privacy import (
    MOST_ROWS,
    CannotErase,
    PersonalData,
    counted,
    register_personal_data,
    register_retention,
)
from apps.orders.gifts import privacy as _gifts  # noqa: F401  (registers its rules)
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import lock_orders
from apps.orders.models import (
    CART_LIFE,
    Dispute,
    Order,
    Payment,
    PromoUse,
    ReferralReward,
    Refund,
    StaffOrder,
)
from apps.orders.models.staff_order import is_canceled
from apps.orders.models.statuses import CANCELED_BY_STAFF, PLAN_RUNNING, UNPAID, EventKind
from apps.orders.promo import uses as promo_uses
from apps.orders.rewards.service import cancel_reward
from apps.pricing.models import PromoCode
from apps.students.models import Consent, FormerEmail, Student
from apps.students.services import erase_student, erased_email

# Stands for a personal text in a row that is kept.
REDACTED = "(dato borrado)"
EMAIL_ADDRESS = re.compile(r"[^\s@,;:()«»<>]+@[^\s@,;:()«»<>]+")
AT_ONCE = 1_000
EXPIRED_KEPT = timedelta(days=90)
ACCOUNTING_KEPT = timedelta(days=6 * 365 + 2)


def _of(email: str) -> QuerySet[Order]:
    """The orders that were placed with this address, and the orders of its student.

    The two differ if staff have changed the student's address.
    """
    return Order.objects.filter(models.Q(email__iexact=email) | models.Q(student__email=email))


def _unpaid(orders: QuerySet[Order]) -> QuerySet[Order]:
    """Orders without a succeeded payment. Flagged payments count as succeeded."""
    paid = Payment.objects.filter(order=models.OuterRef("pk"), status=Payment.Status.SUCCEEDED)
    return orders.filter(~models.Exists(paid), status__in=UNPAID)


def _export(email: str) -> list[dict[str, Any]]:
    orders = (
        _of(email)
        .select_related("promo_code", "by_staff")
        .prefetch_related("lines", "discounts", "instalments", "notes", "payments__refunds")
    )
    return [
        {
            "pedido": order.pk,
            "estado": CANCELED_BY_STAFF if is_canceled(order) else order.get_status_display(),
            "creado": order.created_at.isoformat(),
            "pagado": order.paid_at.isoformat() if order.paid_at else None,
            "correo": order.email,
            "teléfono": order.phone,
            "nombre": order.first_name,
            "apellidos": order.last_name,
            "total": format_euros(order.total_cents),
            "forma_de_pago": order.payment_type_label,
            "tarjeta": order.card_label or None,
            "código_promocional": order.promo_code.code if order.promo_code else None,
            "líneas": [{"nombre": row.name, "precio": str(row.price)} for row in order.lines.all()],
            "descuentos": [
                {"nombre": row.name, "importe": str(row.amount)} for row in order.discounts.all()
            ],
            "plazos": [
                {
                    "plazo": row.number,
                    "importe": str(row.amount),
                    "vence": row.due_on.isoformat(),
                    "estado": row.get_status_display(),
                }
                for row in order.instalments.all()
            ],
            "notas": [
                {"nota": row.text, "cuándo": row.created_at.isoformat()}
                for row in order.notes.all()
            ],
            "pagos": [
                {
                    "referencia": row.reference,
                    "importe": str(row.amount),
                    "estado": row.get_status_display(),
                    "devoluciones": [
                        {
                            "importe": str(refund.amount),
                            "estado": refund.get_status_display(),
                            "fecha": refund.created_at.isoformat(),
                        }
                        for refund in row.refunds.all()
                    ],
                }
                for row in order.payments.all()
            ],
        }
        for order in orders.order_by(models.F("paid_at").desc(nulls_last=True), "-pk")[:MOST_ROWS]
    ]


def _export_invitations(email: str) -> list[dict[str, Any]]:
    """The student's friend code and its rewards, without the friends' personal data."""
    return [
        {
            "código": code.code,
            "creado": code.created_at.isoformat(),
            "recompensas": [
                {
                    "importe": str(reward.amount),
                    "estado": reward.get_status_display(),
                    "ganada": reward.created_at.isoformat(),
                    "pagada": reward.paid_at.isoformat() if reward.paid_at else None,
                }
                for reward in code.rewards.order_by("created_at")
            ],
        }
        for code in _codes_of(email)
    ]


def _preview_invitations(email: str) -> list[str]:
    rewards = ReferralReward.objects.filter(student__email=email.strip().lower())
    if rewards.filter(status=ReferralReward.Status.OWED).exists():
        raise CannotErase("Hay una recompensa por pagar: primero hay que pagarla.")
    held = rewards.filter(status=ReferralReward.Status.HELD).count()
    lost = counted(held, "recompensa retenida", "recompensas retenidas")
    return [f"Se pierde: {loss}." for loss in lost] + [
        f"El código {code} deja de servir." for code in _codes_of(email).filter(active=True)
    ]


def _erase_invitations(email: str) -> None:
    held = ReferralReward.objects.filter(
        student__email=email.strip().lower(), status=ReferralReward.Status.HELD
    )
    # Lock the orders before their rewards, as a refund does.
    lock_orders(Order.objects.filter(pk__in=held.values("order")))
    for reward in held.select_related("order").order_by("order_id"):
        cancel_reward(reward.order, "La cuenta de quien invitó se ha borrado")
    # Lock codes after orders, as a payment does.
    _codes_of(email).update(active=False)


def _codes_of(email: str) -> QuerySet[PromoCode]:
    return PromoCode.objects.filter(student__email=email.strip().lower(), is_referral_code=True)


def _refuse_unsettled(email: str) -> None:
    open_payments = Payment.objects.open().filter(order=models.OuterRef("pk"))
    unsettled = models.Q(status__in=PLAN_RUNNING)
    if _of(email).filter(unsettled | models.Exists(open_payments)).exists():
        raise CannotErase(
            "Hay un pedido con plazos o con un pago abierto: primero tiene que quedar cerrado."
        )
    payments = Payment.objects.filter(order__in=_of(email))
    if (
        Refund.objects.filter(payment__in=payments, status__in=("requested", "pending")).exists()
        or Dispute.objects.filter(payment__in=payments, status="open").exists()
    ):
        raise CannotErase("Hay una devolución en camino o una disputa abierta: espera a su final.")


def _preview(email: str) -> list[str]:
    _refuse_unsettled(email)
    unpaid = _unpaid(_of(email)).count()
    paid = _of(email).count() - unpaid
    return [
        f"Se borra: {carts}."
        for carts in counted(unpaid, "carrito sin pagar", "carritos sin pagar")
    ] + [
        f"Se conserva sin datos de contacto, por obligación contable: {orders}."
        for orders in counted(paid, "pedido", "pedidos")
    ]


def _erase(email: str) -> None:
    # A payment may have arrived since the preview, so check again. The locks keep others out.
    addresses = {order.email.lower() for order in lock_orders(_of(email))} | {email}
    addresses |= set(
        FormerEmail.objects.filter(student__email=email).values_list("email", flat=True)
    )
    _refuse_unsettled(email)
    delete_orders(_unpaid(_of(email)))
    for order in _of(email):
        note(
            order,
            kind=EventKind.ERASED,
            actor="sistema",
            reason="Datos de contacto borrados a petición o por plazo",
        )
        _redact_history(order)
        order.email, order.phone = erased_email(order.student_id), ""
        order.first_name = order.last_name = ""
        order.notes.all().delete()
        order.card_reference = order.card_label = ""
        order.save()
    for address in addresses:
        delete_mails_to(address)


def _redact_history(order: Order) -> None:
    """Replace the addresses in the history, and the reasons of a discount that staff typed.

    An edit replaces the reason of the discount: then nothing tells where the first one ends.
    """
    typed = StaffOrder.objects.filter(order=order).exclude(reason="")
    reasons = list(typed.values_list("reason", flat=True))
    events = list(order.events.all())
    is_edited = any(event.kind == EventKind.EDITED for event in events)
    for event in events:
        text = EMAIL_ADDRESS.sub(REDACTED, event.reason)
        if event.kind == EventKind.APPROVAL_REFUSED or (
            is_edited and event.kind == EventKind.MADE_BY_STAFF
        ):
            text = REDACTED
        elif event.kind == EventKind.MADE_BY_STAFF:
            for reason in reasons:
                text = text.replace(reason, REDACTED)
        if text != event.reason:
            event.reason = text
            event.save(update_fields=["reason"])
    typed.update(reason=REDACTED)
    StaffOrder.objects.filter(order=order).exclude(refusal="").update(refusal=REDACTED)


def _in_use(email: str) -> bool:
    return _of(email).filter(status=Order.Status.CART).exists()


@transaction.atomic
def delete_orders(orders: QuerySet[Order]) -> int:
    """Delete orders with their history, payments and reserved code uses; return their number.

    The query runs again under the locks: an order that was paid at the same moment stays.
    """
    locked = [order.pk for order in lock_orders(orders)]
    ids = list(orders.filter(pk__in=locked).values_list("pk", flat=True))
    with_code = PromoUse.objects.filter(status=PromoUse.Status.RESERVED, order__in=ids)
    for order in Order.objects.filter(pk__in=with_code.values("order")).order_by("pk"):
        promo_uses.release(order)
    delete_mails_about("order_id", ids)
    _delete_with_dependents(Order.objects.filter(pk__in=ids))
    return len(ids)


def _delete_with_dependents(rows: QuerySet[Any]) -> None:
    """Delete rows and, before them, the rows that protect them (`on_delete=PROTECT`)."""
    for relation in rows.model._meta.related_objects:
        if getattr(relation, "on_delete", None) is models.PROTECT:
            held = relation.related_model._base_manager.filter(
                **{f"{relation.field.name}__in": rows}
            )
            _delete_with_dependents(held)
    rows.delete()


def _purge_expired(now: datetime) -> int:
    expired = Order.objects.filter(
        status=Order.Status.EXPIRED, updated_at__lt=now - EXPIRED_KEPT, paid_at=None
    )
    # Consents prove what a buyer has accepted, and nobody has bought anything here.
    left = Order.objects.filter(pk=OuterRef("order_id"))
    ids = list(_unpaid(expired).order_by("pk").values_list("pk", flat=True))
    deleted = 0
    # Strangers make carts without end. A transaction for each part holds few locks, and keeps what
    # an interrupted purge has done.
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        with transaction.atomic():
            deleted += delete_orders(_unpaid(expired.filter(pk__in=some)))
            Consent.objects.filter(order_id__in=some).exclude(Exists(left)).delete()
    return deleted


def _purge_accounting(now: datetime) -> int:
    # An order whose only payments are flagged has no `paid_at`: its creation date counts.
    booked = Order.objects.annotate(booked_at=Coalesce("paid_at", "created_at"))
    return delete_orders(
        booked.filter(student__erased_at__isnull=False, booked_at__lt=now - ACCOUNTING_KEPT)
    )


def _purge_students_without_orders(now: datetime) -> int:
    """Erase students who never bought and whose carts are all gone."""
    since = now - CART_LIFE - EXPIRED_KEPT
    idle = Student.objects.filter(
        orders=None, provisionings=None, erased_at=None, created_at__lt=since
    )
    erased = 0
    for student_id in list(idle.order_by("pk").values_list("pk", flat=True)):
        with transaction.atomic():
            # All of the row: an order that is being placed holds its key (`lock_key`).
            Student.objects.select_for_update().filter(pk=student_id).first()
            student = idle.filter(pk=student_id).first()
            if student is not None:
                erase_student(student)
                erased += 1
    return erased


register_personal_data(
    PersonalData("invitaciones", _export_invitations, _preview_invitations, _erase_invitations)
)
register_personal_data(PersonalData("pedidos", _export, _preview, _erase, _in_use))
register_retention("Carritos caducados hace más de 90 días", _purge_expired)
register_retention("Datos de quien nunca llegó a comprar", _purge_students_without_orders)
register_retention("Asientos de más de 6 años de cuentas borradas", _purge_accounting)
