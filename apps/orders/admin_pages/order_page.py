"""The variables of an order's admin page."""

from typing import Any
from uuid import uuid4

from apps.classroom.models import Provisioning
from apps.core.money import format_euros
from apps.orders.admin_pages.buttons import EmailForm, NoteForm
from apps.orders.admin_pages.stripe_links import payment_page
from apps.orders.admin_pages.timeline import timeline
from apps.orders.ledger.plan_end import takes_instalments
from apps.orders.models import Gift, Order, Refund, StaffOrder
from apps.orders.models.statuses import EVER_PAID, INSTALMENT_SETTLED, UNPAID
from apps.orders.refunds.available import refundable_cents


def order_page(order: Order) -> dict[str, Any]:
    """What the page shows above the order's data: state, buttons, notes and timeline."""
    access = Provisioning.objects.filter(order_id=order.pk).first()
    is_paid = order.status in EVER_PAID
    is_open = access is not None and access.status == Provisioning.Status.CREATED
    payment = order.main_payment
    by_staff = getattr(order, "by_staff", None)
    return {
        "title": f"Pedido {order.pk}",
        "subtitle": None,
        "order": order,
        "entries": timeline(order),
        "state": state_of(order),
        "by_staff": by_staff,
        "gift": Gift.objects.filter(order=order).first(),
        "takes_transfer": by_staff is not None
        and by_staff.paid_by == StaffOrder.PaidBy.TRANSFER
        and order.status in UNPAID,
        "may_refund": refundable_cents(order) > 0,
        "access": access,
        "is_paid": is_paid,
        "access_waits": is_paid and not is_open,
        "may_charge": takes_instalments(order)
        and order.instalments.exclude(status__in=INSTALMENT_SETTLED).exists(),
        "ending": _ending_refunds(order),
        "stripe_url": payment_page(payment) if payment else "",
        "note_form": NoteForm(auto_id="note_%s"),
        "email_form": EmailForm(initial={"email": order.email}, auto_id="address_%s"),
        # Names one click of each form, so that a second click does nothing.
        "form_key": uuid4(),
    }


def state_of(order: Order) -> str:
    """The order's state in words. An order that waits for a transfer is an open cart."""
    by_staff = getattr(order, "by_staff", None)
    if order.status == Order.Status.CART and by_staff is not None:
        if by_staff.paid_by == StaffOrder.PaidBy.TRANSFER:
            return "Esperando transferencia"
        return "Esperando el pago con tarjeta"
    return str(order.get_status_display())


def _ending_refunds(order: Order) -> list[str]:
    """Sentences about refunds that end the plan and that the provider has not answered."""
    waiting = Refund.objects.ending_plan().unanswered().filter(payment__order=order)
    return [
        f"Una devolución de {format_euros(refund.amount_cents)} espera la respuesta de Stripe y "
        "anula los plazos que quedan: mientras tanto no se cobra ninguno."
        for refund in waiting.order_by("pk")
    ]
