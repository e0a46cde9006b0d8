"""The admin's page "Crear el pedido de nuevo", for a payment at Stripe whose order is lost.

The rules are in docs/rules.md, "Money audit".
"""

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from apps.core.errors import AcademyError
from apps.core.money import format_euros
from apps.core.staff.admin_log import log_action, log_reading
from apps.core.staff.fresh_password import fresh_password_required
from apps.orders.admin_pages.staff_order_pages import OrderContentsForm
from apps.orders.by_staff.create import OrderRefused
from apps.orders.by_staff.recreate import (
    LostOrder,
    adopt_payment,
    price_lost_order,
    recreate_order,
)
from apps.orders.models import Order, Payment
from apps.orders.offer.cart import CartLine
from apps.payments.report import report
from apps.payments.stripe.intents import list_intents
from apps.payments.stripe.paid_contents import PaidIntent, retrieve_paid
from apps.students.models import Student

PERMISSION = "orders.recreate_order"


class RecreateForm(OrderContentsForm):
    phone = forms.CharField(
        label="Teléfono", max_length=20, required=False, help_text="Stripe no lo sabe."
    )


def recreate_page(request: HttpRequest, payment_id: int, context: dict[str, Any]) -> HttpResponse:
    """Show what Stripe knows of the payment, then the order that it makes, then make it."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    answer: HttpResponse = _recreate(request, payment_id, context)
    return answer


@fresh_password_required
def _recreate(request: HttpRequest, payment_id: int, context: dict[str, Any]) -> HttpResponse:
    payment = get_object_or_404(Payment, pk=payment_id)
    if payment.order is not None:
        messages.info(request, f"Este cobro es del pedido {payment.order_id}.")
        return redirect("admin:orders_order_change", payment.order_id)
    try:
        paid = _checked(payment)
    except AcademyError as refusal:
        messages.error(request, refusal.message)
        return redirect("admin:orders_payment_change", payment.pk)
    log_reading(request, payment)
    form = RecreateForm(request.POST or None, initial=_known(paid))
    # Nobody else gets what this buyer has paid for.
    form.fields["email"].disabled = bool(paid.email)
    context = {
        **context,
        "title": "Crear el pedido de nuevo",
        "opts": Payment._meta,
        "payment": payment,
        "paid": paid,
        "amount": format_euros(paid.amount_cents),
        "total": format_euros(_total_cents(paid)),
        "form": form,
        "priced": None,
    }
    if request.method == "POST" and form.is_valid() and "change" not in request.POST:
        lost = _lost_order(paid, form)
        try:
            if "confirm" in request.POST:
                order = _make(lost, user=request.user)
                log_action(request, order, f"Pedido creado de nuevo con el cobro {paid.reference}")
                messages.success(request, f"Pedido {order.pk} creado y pagado con este cobro.")
                return redirect("admin:orders_order_change", order.pk)
            offer = price_lost_order(lost)
            context |= {
                "priced": offer,
                "lines": [(line.name, format_euros(line.price_cents)) for line in offer.lines],
                "discounts": [
                    (discount.name, format_euros(discount.amount_cents))
                    for discount in offer.discounts
                ],
            }
        except AcademyError as refusal:
            form.add_error(None, refusal.message)
    return TemplateResponse(request, "payments/recreate_order.html", context)


def _checked(payment: Payment) -> PaidIntent:
    """The payment at Stripe. Raises AcademyError with a Spanish reason if it makes no order."""
    paid = retrieve_paid(payment.reference)
    if not payment.flag:
        raise OrderRefused("Este cobro ya se dio por atendido.")
    if not paid.succeeded or paid.refunded_cents:
        raise OrderRefused("En Stripe este cobro se ha devuelto o no está hecho.")
    if paid.currency != "eur" or paid.order_id is None:
        raise OrderRefused("Este cobro no lo hizo esta tienda.")
    if paid.instalments:
        raise OrderRefused(
            "Este cobro es de un plazo posterior. Crea el pedido con el primer cobro del mismo "
            "comprador, y este se le añade solo."
        )
    if Order.objects.filter(customer_reference=paid.customer).exists():
        raise OrderRefused(
            "El comprador de este cobro tiene ya un pedido con él en Stripe. La reconciliación lo "
            "apunta allí en unos minutos."
        )
    return paid


def _total_cents(paid: PaidIntent) -> int:
    return paid.contents.total_cents if paid.contents else paid.amount_cents


def _known(paid: PaidIntent) -> dict[str, Any]:
    """What the form begins with: the paid lines, and the student's data if there is a student."""
    lines = paid.contents.lines if paid.contents else ()
    student = Student.objects.with_email(paid.email) if paid.email else None
    return {
        "email": paid.email,
        "phone": student.phone if student else "",
        "first_name": student.first_name if student else "",
        "last_name": student.last_name if student else "",
        "subjects": [line.subject_id for line in lines if line.lesson_id is None],
        "lessons": [line.lesson_id for line in lines if line.lesson_id is not None],
    }


def _lost_order(paid: PaidIntent, form: RecreateForm) -> LostOrder:
    data = form.cleaned_data
    contents = paid.contents
    sold_at = {
        (line.subject_id, line.lesson_id): line.price_cents
        for line in (contents.lines if contents else ())
    }
    subjects = data["subjects"].select_related("degree__university")
    lessons = data["lessons"].select_related("subject__degree__university")
    lines = [CartLine.today(subject) for subject in subjects]
    lines += [CartLine.today(lesson.subject, lesson) for lesson in lessons]
    return LostOrder(
        reference=paid.reference,
        customer=paid.customer,
        payment_method=paid.payment_method,
        paid_cents=paid.amount_cents,
        paid_at=paid.created_at,
        email=data["email"],
        phone=data["phone"],
        first_name=data["first_name"],
        last_name=data["last_name"],
        lines=[
            replace(line, price_cents=sold_at.get(line.key, line.price_cents)) for line in lines
        ],
        total_cents=_total_cents(paid),
        plan=contents.plan if contents else None,
        gift_on=contents.gift_on if contents else None,
        is_as_paid=bool(sold_at) and sold_at.keys() == {line.key for line in lines},
    )


def _make(lost: LostOrder, *, user: Any) -> Order:
    """Make the order, then record the later instalments that the same customer has paid."""
    order = recreate_order(lost, user=user)
    if order.in_instalments and order.customer_reference:
        later = [paid for paid in list_intents(order.customer_reference) if paid.instalments]
        for paid in sorted(later, key=lambda each: each.instalments):
            if paid.status == "succeeded":
                adopt_payment(paid.reference, order)
                report(paid, actor=user.get_username())
        order.refresh_from_db()
    return order
