"""The admin's pages for an order made by staff and for a transfer that has arrived.

Each asks first what would happen, and does it once it is confirmed. The rules are in docs/rules.md,
"Orders made by staff".
"""

from decimal import Decimal
from secrets import token_hex
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from rest_framework.serializers import ValidationError as SerializerError

from apps.catalogue.models import Lesson, Subject
from apps.core.dates import today
from apps.core.errors import AcademyError
from apps.core.input_fields import EmailFormField, RowsField
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff.admin_buttons import Repeated
from apps.core.staff.admin_log import log_action, log_reading
from apps.core.staff.fresh_password import (
    PasswordConfirmation,
    RepeatedAct,
    ask_password,
    password_is_fresh,
    password_required_for,
    without_password,
)
from apps.core.staff.limits import OverLimit, check_discount
from apps.core.staff.public_texts import check_name
from apps.orders.by_staff.create import (
    OrderRefused,
    OrderRequest,
    PricedRequest,
    create_order,
    price_request,
    was_mailed,
)
from apps.orders.by_staff.edit import check_editable, edit_order, price_edit, why_to_approve
from apps.orders.by_staff.receive import (
    ReceivedTransfer,
    left_today_cents,
    missing_cents,
    outcome_of,
    receive_transfer,
)
from apps.orders.contact_rules import clean_phone
from apps.orders.models import Order, OrderLine, StaffOrder
from apps.orders.models.order import CARD_MINIMUM_CENTS, CART_LIFE
from apps.orders.models.staff_order import LARGE_DISCOUNT_PERCENT, is_large_discount
from apps.orders.models.statuses import EventKind
from apps.orders.offer.cart import MOST_LINES, CheckoutItem
from apps.pricing.payment_type import PaymentType
from apps.students.models import Student

# In the session: what forms of new orders begin with, by the key in their address. The values
# themselves are no part of the address, which would write personal data into logs.
_DRAFTS = "staff_order_drafts"
_KEY = "borrador"
MOST_DRAFTS = 10


class OrderContentsForm(forms.Form):
    """Who buys what. Another page that makes an order has it, too."""

    email = EmailFormField(label="Correo", max_length=254)
    phone = forms.CharField(label="Teléfono", max_length=20)
    first_name = forms.CharField(
        label="Nombre", max_length=80, required=False, validators=[check_name]
    )
    last_name = forms.CharField(
        label="Apellidos", max_length=120, required=False, validators=[check_name]
    )
    subjects = RowsField(
        label="Asignaturas completas",
        queryset=Subject.objects.all(),
        required=False,
        widget=AutocompleteSelectMultiple(OrderLine._meta.get_field("subject"), admin.site),
    )
    lessons = RowsField(
        label="Lecciones sueltas",
        queryset=Lesson.objects.all(),
        required=False,
        widget=AutocompleteSelectMultiple(OrderLine._meta.get_field("lesson"), admin.site),
    )

    def clean_phone(self) -> str:
        if not self.cleaned_data["phone"]:
            return ""
        try:
            return clean_phone(self.cleaned_data["phone"])
        except SerializerError as error:
            raise forms.ValidationError("El teléfono debe tener al menos 9 dígitos.") from error


class StaffOrderForm(OrderContentsForm):
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

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if not data.get("subjects") and not data.get("lessons"):
            self.add_error("subjects", "Elige al menos una asignatura o una lección.")
        if len(data.get("subjects") or ()) + len(data.get("lessons") or ()) > MOST_LINES:
            # Each opening of its link prices every line, for whoever has the link.
            self.add_error(None, f"Un pedido tiene como mucho {MOST_LINES} líneas.")
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

    def arrived(self) -> ReceivedTransfer:
        data = self.cleaned_data
        return ReceivedTransfer(to_cents(data["amount"]), data["received_on"], data["proof"])


def staff_order_urls() -> list[URLPattern]:
    return [
        path("nuevo/", admin.site.admin_view(new_order), name="orders_order_nuevo"),
        path(
            "<int:order_id>/transferencia/",
            admin.site.admin_view(transfer),
            name="orders_order_transferencia",
        ),
        path("<int:order_id>/editar/", admin.site.admin_view(edit), name="orders_order_editar"),
    ]


def draft_address(request: HttpRequest, values: dict[str, Any]) -> str:
    """Store what the form of a new order begins with. Returns the address of that form.

    Each draft has a key of its own, so that no tab shows the buyer of another one.
    """
    newest = list(request.session.get(_DRAFTS, {}).items())[-MOST_DRAFTS + 1 :]
    key = token_hex(8)
    request.session[_DRAFTS] = {**dict(newest), key: values}
    return f"{reverse('admin:orders_order_nuevo')}?{urlencode({_KEY: key})}"


def _taken_draft(request: HttpRequest) -> dict[str, Any] | None:
    """The draft that the address names, which is then forgotten."""
    drafts = dict(request.session.get(_DRAFTS, {}))
    values: dict[str, Any] | None = drafts.pop(request.GET.get(_KEY, ""), None)
    if values is not None:
        request.session[_DRAFTS] = drafts
    return values


def new_order(request: HttpRequest) -> HttpResponse:
    """Show the form, then its price, then make the order."""
    if not request.user.has_perm("orders.add_stafforder"):
        raise PermissionDenied
    first = _taken_draft(request) if request.method == "GET" else None
    form = StaffOrderForm(request.POST or None, initial=first)
    context: dict[str, Any] = {"title": "Pedido nuevo", "form": form, "priced": None}
    if request.method != "POST" or not form.is_valid():
        return _page(request, "orders/staff_order.html", context)
    key = form.cleaned_data["form_key"] or uuid4()
    wanted = form.order_request(key)
    # The total that is confirmed, by which the discount is judged again.
    seen_cents = form.cleaned_data["seen"] or 0
    try:
        if "confirm" in request.POST:
            if _lacks_password(request, wanted, seen_cents):
                return _ask_for_password(request, form)
            order = create_order(
                wanted,
                seen_cents=seen_cents,
                user=request.user,
            )
            log_action(request, order, f"Pedido creado: {format_euros(order.total_cents)}")
            messages.success(request, _made(order))
            return redirect("admin:orders_order_change", order.pk)
        if "change" not in request.POST:
            priced = price_request(wanted)
            if _lacks_password(request, wanted, priced.agreed.total_cents):
                return _ask_for_password(request, form)
            _log_purchases(request, wanted, priced)
            over_limit = _over_limit(request, priced, wanted)
            context |= _preview_of(wanted, priced) | {"over_limit": over_limit}
    except AcademyError as refusal:
        form.add_error(None, refusal.message)
    return _page(request, "orders/staff_order.html", context)


def _log_purchases(request: HttpRequest, wanted: OrderRequest, priced: PricedRequest) -> None:
    """Log the reading of the student of whom the page says what they have bought before."""
    student = Student.objects.with_email(wanted.email) if priced.bought_before else None
    if student is not None:
        log_reading(request, student)


def _preview_of(wanted: OrderRequest, priced: PricedRequest) -> dict[str, Any]:
    """The variables of the page that shows the price before the order is made or edited."""
    return {
        "priced": priced,
        "lines": [(line.name, format_euros(line.list_price_cents)) for line in priced.today.lines],
        "discounts": [
            (each.name, format_euros(each.amount_cents)) for each in priced.today.discounts
        ],
        "buyer": _buyer(wanted),
        "discount": wanted.discount_cents and format_euros(wanted.discount_cents),
        "today": format_euros(priced.today.total_cents),
        "total": format_euros(priced.agreed.total_cents),
        "seen": priced.agreed.total_cents,
        "form_key": wanted.form_key,
    }


def _buyer(wanted: OrderRequest) -> str:
    """ "Ana Ruiz, ana@example.com", or the address alone."""
    name = f"{wanted.first_name} {wanted.last_name}".strip()
    return f"{name}, {wanted.email}" if name else wanted.email


def _made(order: Order) -> str:
    if order.by_staff.awaits_approval:
        return "Pedido creado. Espera a que otra persona apruebe el descuento."
    return f"Pedido creado. {order.email} recibe un correo con el pago."


def _over_limit(request: HttpRequest, priced: PricedRequest, wanted: OrderRequest) -> str:
    """Why the discount needs a second person. Empty if it does not."""
    full_cents = priced.today.total_cents
    try:
        check_discount(request.user, full_cents=full_cents, discount_cents=wanted.discount_cents)
    except OverLimit as refusal:
        return refusal.message
    return ""


def _lacks_password(request: HttpRequest, wanted: OrderRequest, total_cents: int) -> bool:
    """Whether the buyer pays little or nothing, and the password is not fresh.

    A card is not charged less than its minimum.
    """
    by_card = wanted.paid_by == StaffOrder.PaidBy.LINK
    is_cheap = is_large_discount(wanted.discount_cents, agreed_cents=total_cents)
    is_guarded = is_cheap or (by_card and total_cents < CARD_MINIMUM_CENTS)
    return is_guarded and not password_is_fresh(request)


def _ask_for_password(request: HttpRequest, form: StaffOrderForm) -> HttpResponse:
    """Open the password page, and after it the form as it was typed."""
    typed = {field.name: field.value() for field in form.visible_fields()}
    messages.info(
        request,
        f"Un descuento de más del {LARGE_DISCOUNT_PERCENT} % pide tu contraseña, igual que un "
        f"pedido de menos de {format_euros(CARD_MINIMUM_CENTS)}, que no se cobra con tarjeta. "
        "Después vuelve a ver el precio.",
    )
    return PasswordConfirmation(request, back=draft_address(request, typed))


class EditForm(StaffOrderForm):
    """The form of an open order. Its address stays: who has its link would read another buyer's."""

    version = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].disabled = True
        self.fields["email"].help_text = "Se cambia en la página del pedido."


def edit(request: HttpRequest, order_id: int) -> HttpResponse:
    """Show the order in its form, then what would change, then change it."""
    if not request.user.has_perm("orders.add_stafforder"):
        raise PermissionDenied
    order = get_object_or_404(Order, pk=order_id)
    log_reading(request, order)
    without_password(request)
    try:
        row = check_editable(order, getattr(order, "by_staff", None))
    except OrderRefused as refusal:
        messages.error(request, refusal.message)
        return redirect("admin:orders_order_change", order.pk)
    form = EditForm(request.POST or None, initial=_as_agreed(order, row))
    context: dict[str, Any] = {
        "title": f"Editar el pedido {order.pk}",
        "form": form,
        "priced": None,
        "order": order,
        "version": form["version"].value(),
    }
    if request.method != "POST" or not form.is_valid():
        return _page(request, "orders/staff_order.html", context)
    wanted = form.order_request(form.cleaned_data["form_key"] or uuid4())
    version, seen_cents = form.cleaned_data["version"], form.cleaned_data["seen"] or 0
    try:
        if "confirm" in request.POST:
            if _lacks_password(request, wanted, seen_cents):
                return ask_password(request)
            return _edited(request, order, wanted, version=version, seen_cents=seen_cents)
        if "change" not in request.POST:
            edited = price_edit(order, row, wanted)
            if _lacks_password(request, wanted, edited.priced.agreed.total_cents):
                return ask_password(request)
            over_limit = why_to_approve(edited, row, wanted.discount_cents, user=request.user)
            context |= _preview_of(wanted, edited.priced) | {
                "edited": edited,
                "over_limit": over_limit,
                "was_mailed": was_mailed(order),
                "valid_until": order.created_at + CART_LIFE,
            }
    except AcademyError as refusal:
        form.add_error(None, refusal.message)
    return _page(request, "orders/staff_order.html", context)


def _edited(
    request: HttpRequest, order: Order, wanted: OrderRequest, *, version: str, seen_cents: int
) -> HttpResponse:
    try:
        sentence = edit_order(
            order.pk, wanted, seen=version, seen_cents=seen_cents, user=request.user
        )
    except Repeated as repeated:
        messages.info(request, repeated.message)
    else:
        entry = order.events.filter(kind=EventKind.EDITED).latest("pk")
        log_action(request, order, f"Pedido editado: {entry.reason}")
        messages.success(request, sentence)
    return redirect("admin:orders_order_change", order.pk)


def _as_agreed(order: Order, row: StaffOrder) -> dict[str, Any]:
    """What the form of an open order begins with."""
    lines = list(order.lines.all())
    return {
        "email": order.email,
        "phone": order.phone,
        "first_name": order.first_name,
        "last_name": order.last_name,
        "subjects": [line.subject_id for line in lines if line.lesson_id is None],
        "lessons": [line.lesson_id for line in lines if line.lesson_id is not None],
        "payment_type": order.payment_type,
        "paid_by": row.paid_by,
        "discount": row.discount or None,
        "reason": row.reason,
        "version": row.version,
    }


def transfer(request: HttpRequest, order_id: int) -> HttpResponse:
    """Show the form, then what the transfer would do, then record it."""
    if not request.user.has_perm("orders.add_transferreceipt"):
        raise PermissionDenied
    answer: HttpResponse = _transfer(request, order_id)
    return answer


@password_required_for(RepeatedAct.TRANSFER)
def _transfer(request: HttpRequest, order_id: int) -> HttpResponse:
    order = get_object_or_404(Order, pk=order_id)
    log_reading(request, order)
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
            log_action(request, order, f"Transferencia ({form.arrived().proof}): {sentence}")
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
