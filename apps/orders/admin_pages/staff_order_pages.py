"""The admin's pages for an order made by staff and for a transfer that has arrived.

Each asks first what would happen, and does it once it is confirmed. The rules are in docs/rules.md,
"Orders made by staff".
"""

from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from rest_framework.serializers import ValidationError as SerializerError

from apps.catalogue.models import Lesson, Subject
from apps.core.dates import today
from apps.core.errors import AcademyError
from apps.core.input_fields import EmailFormField
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff.admin_log import log_about
from apps.core.staff.fresh_password import (
    PasswordConfirmation,
    fresh_password_required,
    password_is_fresh,
)
from apps.orders.by_staff.create import OrderRequest, create_order, price_request
from apps.orders.by_staff.receive import (
    Arrived,
    left_today_cents,
    missing_cents,
    outcome_of,
    receive_transfer,
)
from apps.orders.contact_rules import clean_phone
from apps.orders.models import Order, OrderLine, StaffOrder
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.offer.cart import CheckoutItem
from apps.pricing.payment_type import PaymentType

# Where another page stores what the form of a new order begins with. It is no part of the address,
# which would write personal data into logs.
PREFILLED = "staff_order_prefilled"


class StaffOrderForm(forms.Form):
    email = EmailFormField(label="Correo", max_length=254)
    phone = forms.CharField(label="Teléfono", max_length=20)
    first_name = forms.CharField(label="Nombre", max_length=80, required=False)
    last_name = forms.CharField(label="Apellidos", max_length=120, required=False)
    subjects = forms.ModelMultipleChoiceField(
        label="Asignaturas completas",
        queryset=Subject.objects.all(),
        required=False,
        widget=AutocompleteSelectMultiple(OrderLine._meta.get_field("subject"), admin.site),
    )
    lessons = forms.ModelMultipleChoiceField(
        label="Lecciones sueltas",
        queryset=Lesson.objects.all(),
        required=False,
        widget=AutocompleteSelectMultiple(OrderLine._meta.get_field("lesson"), admin.site),
    )
    payment_type = forms.ChoiceField(label="Forma de pago", choices=PaymentType.choices)
    paid_by = forms.ChoiceField(label="Se paga con", choices=StaffOrder.PaidBy.choices)
    discount = forms.DecimalField(
        label="Descuento (€)",
        max_digits=8,
        decimal_places=2,
        min_value=0,
        localize=True,
        required=False,
    )
    reason = forms.CharField(
        label="Motivo del descuento",
        max_length=300,
        required=False,
        help_text="Lo lee el equipo, no el comprador.",
    )
    form_key = forms.UUIDField(required=False, widget=forms.HiddenInput)
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def clean_phone(self) -> str:
        try:
            return clean_phone(self.cleaned_data["phone"])
        except SerializerError as error:
            raise forms.ValidationError("El teléfono debe tener al menos 9 dígitos.") from error

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if not data.get("subjects") and not data.get("lessons"):
            self.add_error("subjects", "Elige al menos una asignatura o una lección.")
        twice = {lesson.subject_id for lesson in data.get("lessons") or ()} & {
            subject.pk for subject in data.get("subjects") or ()
        }
        if twice:
            self.add_error("lessons", "Una de las lecciones es de una asignatura ya completa.")
        return data

    def order_request(self, form_key: UUID) -> OrderRequest:
        data = self.cleaned_data
        lessons: dict[int, list[int]] = {}
        for lesson in data["lessons"]:
            lessons.setdefault(lesson.subject_id, []).append(lesson.pk)
        return OrderRequest(
            email=data["email"],
            phone=data["phone"],
            first_name=data["first_name"],
            last_name=data["last_name"],
            items=(
                *(CheckoutItem(subject.pk) for subject in data["subjects"]),
                *(CheckoutItem(subject, tuple(ids)) for subject, ids in lessons.items()),
            ),
            payment_type=PaymentType(data["payment_type"]),
            paid_by=data["paid_by"],
            discount_cents=to_cents(data["discount"] or Decimal(0)),
            reason=data["reason"],
            form_key=form_key,
        )


class TransferForm(forms.Form):
    amount = forms.DecimalField(
        label="Importe recibido (€)",
        max_digits=8,
        decimal_places=2,
        min_value=to_euros(1),
        localize=True,
    )
    received_on = forms.DateField(
        label="Recibida el", widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    proof = forms.CharField(
        label="Justificante del banco",
        max_length=120,
        help_text="La referencia del movimiento en el extracto. Cada una se apunta una vez.",
    )
    form_key = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def clean_proof(self) -> str:
        """The reference as it is compared: copied from a bank's page, it has other spaces."""
        return " ".join(self.cleaned_data["proof"].split())

    def arrived(self) -> Arrived:
        data = self.cleaned_data
        return Arrived(to_cents(data["amount"]), data["received_on"], data["proof"])


def staff_order_urls() -> list[URLPattern]:
    return [
        path("nuevo/", admin.site.admin_view(new_order), name="orders_order_nuevo"),
        path(
            "<int:order_id>/transferencia/",
            admin.site.admin_view(transfer),
            name="orders_order_transferencia",
        ),
    ]


def new_order(request: HttpRequest) -> HttpResponse:
    """Show the form, then its price, then make the order."""
    if not request.user.has_perm("orders.add_stafforder"):
        raise PermissionDenied
    first = request.session.pop(PREFILLED, None) if request.method == "GET" else None
    form = StaffOrderForm(request.POST or None, initial=first)
    context: dict[str, Any] = {"title": "Pedido nuevo", "form": form, "priced": None}
    if request.method != "POST" or not form.is_valid():
        return _page(request, "orders/staff_order.html", context)
    key = form.cleaned_data["form_key"] or uuid4()
    wanted = form.order_request(key)
    # The total that is confirmed. An order that gives access away needs a fresh password.
    seen_cents = form.cleaned_data["seen"] or 0
    try:
        if "confirm" in request.POST:
            if _is_given_away(wanted, seen_cents) and not password_is_fresh(request):
                return _ask_for_password(request, form)
            order = create_order(
                wanted,
                seen_cents=seen_cents,
                actor=request.user.get_username(),
            )
            log_about(request, order, f"Pedido creado: {format_euros(order.total_cents)}")
            messages.success(request, f"Pedido creado. {order.email} recibe un correo con el pago.")
            return redirect("admin:orders_order_change", order.pk)
        if "change" not in request.POST:
            priced = price_request(wanted)
            total = priced.agreed.total_cents
            if _is_given_away(wanted, total) and not password_is_fresh(request):
                return _ask_for_password(request, form)
            context |= {
                "priced": priced,
                "lines": [
                    (line.name, format_euros(line.list_price_cents)) for line in priced.today.lines
                ],
                "today": format_euros(priced.today.total_cents),
                "total": format_euros(priced.agreed.total_cents),
                "seen": priced.agreed.total_cents,
                "form_key": key,
            }
    except AcademyError as refusal:
        form.add_error(None, refusal.message)
    return _page(request, "orders/staff_order.html", context)


def _is_given_away(wanted: OrderRequest, total_cents: int) -> bool:
    """Whether the buyer gets access without a payment: a card is not charged so little."""
    by_card = wanted.paid_by == StaffOrder.PaidBy.LINK
    return by_card and total_cents < CARD_MINIMUM_CENTS


def _ask_for_password(request: HttpRequest, form: StaffOrderForm) -> HttpResponse:
    """Open the password page, and after it the form as it was typed."""
    request.session[PREFILLED] = {field.name: field.value() for field in form.visible_fields()}
    messages.info(
        request,
        f"Menos de {format_euros(CARD_MINIMUM_CENTS)} no se cobran con tarjeta: un pedido así pide "
        "tu contraseña. Después vuelve a ver el precio.",
    )
    return PasswordConfirmation(request)


def transfer(request: HttpRequest, order_id: int) -> HttpResponse:
    """Show the form, then what the transfer would do, then record it."""
    if not request.user.has_perm("orders.add_transferreceipt"):
        raise PermissionDenied
    answer: HttpResponse = _transfer(request, order_id)
    return answer


@fresh_password_required
def _transfer(request: HttpRequest, order_id: int) -> HttpResponse:
    order = get_object_or_404(Order, pk=order_id)
    missing = missing_cents(order)
    first = {"received_on": today(), "amount": to_euros(missing)}
    form = TransferForm(request.POST) if request.method == "POST" else TransferForm(initial=first)
    context: dict[str, Any] = {
        "title": f"Transferencia del pedido {order.pk}",
        "form": form,
        "order": order,
        "missing": format_euros(missing),
        "left_today": format_euros(left_today_cents(request.user)),
        "outcome": "",
    }
    if request.method != "POST" or not form.is_valid():
        return _page(request, "orders/transfer.html", context)
    key = form.cleaned_data["form_key"]
    if "confirm" in request.POST and key:
        try:
            sentence = receive_transfer(
                order_id=order.pk, arrived=form.arrived(), form_key=key, user=request.user
            )
        except AcademyError as refusal:
            form.add_error(None, refusal.message)
        else:
            log_about(request, order, f"Transferencia ({form.arrived().proof}): {sentence}")
            messages.success(request, sentence)
            return redirect("admin:orders_order_change", order.pk)
    elif "change" not in request.POST:
        context |= {
            "outcome": outcome_of(order, form.arrived().amount_cents),
            "amount": format_euros(form.arrived().amount_cents),
            "form_key": uuid4(),
        }
    return _page(request, "orders/transfer.html", context)


def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    site = admin.site.each_context(request)
    return TemplateResponse(request, template, {**site, "opts": Order._meta, **context})
