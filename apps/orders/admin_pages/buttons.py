"""The buttons of an order's page: each asks for its permission, accepts POST, logs and answers."""

from collections.abc import Callable

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern, path

from apps.core.errors import Invalid
from apps.core.input_fields import EmailFormField
from apps.core.staff.admin_buttons import button_view, form_key
from apps.orders.by_staff import actions
from apps.orders.by_staff.approve import approve_order, refuse_order
from apps.orders.by_staff.change import cancel_order, change_payment
from apps.orders.models import Order, StaffOrder
from apps.students.services import count_address_change

# Does the work for a request, and returns a Spanish sentence for staff.
Work = Callable[[HttpRequest, Order], str]


class NoteForm(forms.Form):
    text = forms.CharField(label="Nota", max_length=1000, widget=forms.Textarea(attrs={"rows": 2}))
    due_on = forms.DateField(
        label="Volver el", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )


class RefusalForm(forms.Form):
    reason = forms.CharField(
        label="Por qué", max_length=300, widget=forms.Textarea(attrs={"rows": 2})
    )


class EmailForm(forms.Form):
    email = EmailFormField(label="Correo nuevo", max_length=254)


def _checked(form: forms.Form) -> forms.Form:
    if not form.is_valid():
        first = next(iter(form.errors.values()))
        raise Invalid(str(first[0]))
    return form


def _actor(request: HttpRequest) -> str:
    return str(request.user.get_username())


def _resend_confirmation(request: HttpRequest, order: Order) -> str:
    return actions.resend_confirmation(order.pk, actor=_actor(request), form_key=form_key(request))


def _send_link(request: HttpRequest, order: Order) -> str:
    return actions.send_link(order.pk, actor=_actor(request), form_key=form_key(request))


def _change_address(request: HttpRequest, order: Order) -> str:
    form = _checked(EmailForm(request.POST))
    count_address_change(request.user)
    return actions.change_address(order.pk, email=form.cleaned_data["email"], actor=_actor(request))


def _retry_access(request: HttpRequest, order: Order) -> str:
    return actions.retry_access(order.pk, actor=_actor(request))


def _charge(request: HttpRequest, order: Order) -> str:
    return actions.charge_overdue(order.pk, actor=_actor(request))


def _add_note(request: HttpRequest, order: Order) -> str:
    data = _checked(NoteForm(request.POST)).cleaned_data
    return actions.add_note(
        order.pk,
        text=data["text"],
        due_on=data["due_on"],
        actor=_actor(request),
        form_key=form_key(request),
    )


def _tick_off(request: HttpRequest, order: Order) -> str:
    number = request.POST.get("note", "")
    if not number.isdecimal() or len(number) > 18:
        raise Invalid
    return actions.tick_off_note(order.pk, int(number), actor=_actor(request))


def _approve(request: HttpRequest, order: Order) -> str:
    return approve_order(order.pk, user=request.user, seen=request.POST.get("seen", ""))


def _refuse(request: HttpRequest, order: Order) -> str:
    data = _checked(RefusalForm(request.POST)).cleaned_data
    seen = request.POST.get("seen", "")
    return refuse_order(order.pk, user=request.user, seen=seen, reason=data["reason"])


def _cancel(request: HttpRequest, order: Order) -> str:
    return cancel_order(order.pk, actor=_actor(request))


def _change_payment(request: HttpRequest, order: Order) -> str:
    paid_by = request.POST.get("paid_by", "")
    if paid_by not in StaffOrder.PaidBy.values:
        raise Invalid
    return change_payment(
        order.pk, paid_by=paid_by, actor=_actor(request), form_key=form_key(request)
    )


# The name of each button's address, its permission, its work and its phrase in the admin's log.
BUTTONS: tuple[tuple[str, str, Work, str], ...] = (
    ("reenviar-confirmacion", "orders.resend_order_mail", _resend_confirmation, "Confirmación"),
    ("enviar-enlace", "orders.resend_order_mail", _send_link, "Enlace"),
    ("cambiar-correo", "students.change_student", _change_address, "Cambio de correo"),
    ("reintentar-acceso", "classroom.change_provisioning", _retry_access, "Acceso"),
    ("cobrar-plazos", "orders.change_instalment", _charge, "Cobro de plazos"),
    ("aprobar", "orders.approve_stafforder", _approve, "Aprobación"),
    ("rechazar", "orders.approve_stafforder", _refuse, "Rechazo"),
    ("anular", "orders.add_stafforder", _cancel, "Anulación"),
    ("cambiar-pago", "orders.add_stafforder", _change_payment, "Forma de pago"),
    ("nota", "orders.add_ordernote", _add_note, "Nota"),
    ("nota-hecha", "orders.change_ordernote", _tick_off, "Nota hecha"),
)
ASK_PASSWORD = ("cambiar-correo", "aprobar")


def button_urls() -> list[URLPattern]:
    """The addresses of all buttons, named "orders_order_" and the name of the button."""
    return [
        path(
            f"<int:order_id>/{name}/",
            admin.site.admin_view(
                button_view(
                    Order,
                    permission=permission,
                    work=work,
                    phrase=phrase,
                    asks_password=name in ASK_PASSWORD,
                )
            ),
            name=f"orders_order_{name.replace('-', '_')}",
        )
        for name, permission, work, phrase in BUTTONS
    ]
