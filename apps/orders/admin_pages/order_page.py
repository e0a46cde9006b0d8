"""The variables of an order's admin page."""

from typing import Any
from uuid import uuid4

from django.conf import settings

from apps.classroom.models import Provisioning
from apps.core.dates import today
from apps.core.money import format_euros
from apps.orders.admin_pages.buttons import EmailForm, NoteForm, RefusalForm
from apps.orders.admin_pages.order_head import Head, head_of
from apps.orders.admin_pages.timeline import timeline
from apps.orders.by_staff.approve import may_approve
from apps.orders.ledger.plan_end import takes_instalments
from apps.orders.models import Gift, Instalment, Order, Refund, StaffOrder
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.statuses import (
    INSTALMENT_SETTLED,
    PAYMENT_OPEN,
    SOLD,
    UNPAID,
    PaymentStatus,
)
from apps.orders.plan.charging import card_can_be_charged
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.exchanges import may_exchange, rest_cents
from apps.orders.refunds.open_cases import open_cases
from apps.orders.refunds.request import RefundRefused

# Each refund of an invoiced order, and each corrected recipient, adds one.
MOST_INVOICES = 20


def order_page(order: Order, user: Any) -> dict[str, Any]:
    """What the page shows around the order's rows: head, buttons, notes and timeline."""
    head = head_of(order)
    return {
        "title": f"Pedido {order.pk}",
        "subtitle": None,
        "order": order,
        "head": head,
        "entries": timeline(order),
        "by_staff": getattr(order, "by_staff", None),
        "rest_cents": _rest_of_exchange(order),
        "gift": Gift.objects.filter(order=order).first(),
        "ending": _ending_refunds(order),
        "cases": [
            (case.text, case.url if user.has_perm(case.permission) else "")
            for case in open_cases(order)
        ],
        "note_form": NoteForm(auto_id="note_%s"),
        "refusal_form": RefusalForm(auto_id="refusal_%s"),
        "email_form": EmailForm(initial={"email": order.email}, auto_id="address_%s"),
        # Names one click of each form, so that a second click does nothing.
        "form_key": uuid4(),
        "may": _possible(order, head, user),
        "invoices": _newest_invoices(order),
    }


def _possible(order: Order, head: Head, user: Any) -> dict[str, bool]:
    """The acts that can succeed at the moment. A button of any other act is not shown."""
    by_staff = getattr(order, "by_staff", None)
    access = Provisioning.objects.filter(order_id=order.pk).first()
    is_given = access is not None and access.status == Provisioning.Status.CREATED
    is_paused = access is not None and bool(access.paused_for)
    is_sold = order.status in SOLD
    gives_access = is_sold and head.access.is_left
    to_approve = by_staff is not None and by_staff.awaits_approval and order.is_open
    return {
        "confirm": is_sold,
        "send_access": gives_access and is_given and not is_paused,
        "send_cart": order.is_open and not to_approve,
        "retry_access": gives_access and access is not None and not is_given,
        "extend": is_given and is_sold and head.access.is_left,
        "charge": _may_charge(order),
        # While an exchange waits, no refund of the order is accepted.
        "refund": refundable_cents(order) > 0
        and not StaffOrder.objects.waiting_exchanges(order).exists(),
        "exchange": may_exchange(order),
        "invoice": is_sold and order.total_cents > 0,
        "receive": by_staff is not None
        and by_staff.paid_by == StaffOrder.PaidBy.TRANSFER
        and not by_staff.awaits_approval
        and order.status in UNPAID,
        "approve": by_staff is not None
        and to_approve
        and not by_staff.refused_by
        and may_approve(by_staff, user),
        **_changes_of_staff_order(order, by_staff),
        "change_email": order.student.erased_at is None,
    }


def _rest_of_exchange(order: Order) -> int:
    """The cents that go back to the buyer once the order is approved."""
    by_staff = getattr(order, "by_staff", None)
    if by_staff is None or not by_staff.awaits_approval or not order.is_open:
        return 0
    try:
        return rest_cents(by_staff)
    except RefundRefused:
        return 0


def _may_charge(order: Order) -> bool:
    """Whether an instalment is overdue that the next run does not charge anyway."""
    overdue = order.instalments.filter(due_on__lte=today()).exclude(status__in=INSTALMENT_SETTLED)
    is_waiting = overdue.filter(status=Instalment.Status.DUE, charge_on__lte=today()).exists()
    return (
        takes_instalments(order)
        and card_can_be_charged(order)
        and not is_waiting
        and overdue.exists()
    )


def _changes_of_staff_order(order: Order, by_staff: StaffOrder | None) -> dict[str, bool]:
    """Whether an order of staff can be canceled, edited, and be paid in the other way."""
    has_payment = any(
        payment.status in (*PAYMENT_OPEN, PaymentStatus.SUCCEEDED)
        for payment in order.payments.all()
    )
    if by_staff is None or not order.is_open or has_payment:
        is_being_paid = by_staff is not None and order.is_open and order.payments.open().exists()
        return {
            "cancel": False,
            "change_payment": False,
            "edit": False,
            "being_paid": is_being_paid,
        }
    if by_staff.paid_by == StaffOrder.PaidBy.TRANSFER:
        changes = order.total_cents >= CARD_MINIMUM_CENTS
    else:
        changes = bool(settings.TRANSFER_IBAN and order.total_cents) and not order.in_instalments
    return {"cancel": True, "change_payment": changes, "edit": by_staff.can_be_edited}


def _ending_refunds(order: Order) -> list[str]:
    """Sentences about refunds that end the plan and that the provider has not answered."""
    waiting = Refund.objects.ending_plan().unanswered().filter(payment__order=order)
    return [
        f"Una devolución de {format_euros(refund.amount_cents)} espera la respuesta de Stripe y "
        "anula los plazos que quedan: mientras tanto no se cobra ninguno."
        for refund in waiting.order_by("pk")
    ]


def _newest_invoices(order: Any) -> list[Any]:
    """The order's newest invoices, the oldest of them first, without what they show."""
    rows = order.invoices.select_related("replaces").defer("content", "replaces__content")
    return list(rows.order_by("-pk")[:MOST_INVOICES])[::-1]
