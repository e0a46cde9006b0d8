"""The admin's page "Cambiar un curso": a form, what the exchange would do, and the exchange.

The rules are in docs/rules.md, "Exchanges".
"""

from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.text import capfirst

from apps.catalogue.models import Lesson, Subject
from apps.core.errors import AcademyError
from apps.core.input_fields import EurosField, RowField
from apps.core.money import format_euros, to_cents
from apps.core.staff.admin_log import log_action, log_reading
from apps.core.staff.fresh_password import RepeatedAct, password_required_for
from apps.core.staff.limits import OverLimit, check_discount
from apps.orders.by_staff.exchange import (
    ExchangeRequest,
    PricedExchange,
    exchange_line,
    price_exchange,
)
from apps.orders.ledger.lines import LineMoney, order_money
from apps.orders.models import Order, OrderLine, Refund, StaffOrder
from apps.orders.offer.cart import CheckoutItem
from apps.orders.refunds.effects import lines_kept_open
from apps.orders.refunds.exchanges import rest_batch
from apps.orders.refunds.open_cases import open_cases
from apps.payments.refunds.at_stripe import settle_refund

PERMISSION = "orders.exchange_orderline"


def _autocomplete(field: str) -> AutocompleteSelect:
    return AutocompleteSelect(OrderLine._meta.get_field(field), admin.site)


class ExchangeForm(forms.Form):
    """Which line is exchanged, and for what.

    The preview fills the hidden fields: the key of the form, and the two amounts that were seen.
    """

    # `payments/exchange.html` draws the lines as a table.
    line = RowField(
        queryset=OrderLine.objects.none(),
        error_messages={"required": "Elige qué se cambia."},
        empty_label=None,
    )
    subject = RowField(
        label="Asignatura completa",
        queryset=Subject.objects.all(),
        required=False,
        widget=_autocomplete("subject"),
    )
    lesson = RowField(
        label="O una lección suelta",
        queryset=Lesson.objects.all(),
        required=False,
        widget=_autocomplete("lesson"),
    )
    discount = EurosField(
        label="Rebaja de la diferencia (€)",
        max_digits=8,
        decimal_places=2,
        min_value=0,
        required=False,
        help_text="Vacío, el alumno paga toda la diferencia. Cuenta en tu límite de descuentos.",
    )
    reason = forms.CharField(
        label="Motivo", max_length=300, help_text="Lo lee el equipo, no el alumno."
    )
    paid_by = forms.ChoiceField(
        label="La diferencia se paga con",
        choices=StaffOrder.PaidBy.choices,
        help_text="Solo si lo nuevo cuesta más.",
    )
    form_key = forms.UUIDField(required=False, widget=forms.HiddenInput)
    seen_left = forms.IntegerField(required=False, widget=forms.HiddenInput)
    seen_price = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, rows: list[LineMoney], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = rows
        lines: Any = self.fields["line"]
        lines.queryset = OrderLine.objects.filter(
            pk__in=[row.line.pk for row in rows if row.left and not row.is_refunded]
        )

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if bool(data.get("subject")) == bool(data.get("lesson")) and not self.errors:
            self.add_error("subject", "Elige una asignatura completa o una lección, y no las dos.")
        return data

    def exchange_request(self, form_key: UUID) -> ExchangeRequest:
        data = self.cleaned_data
        lesson, subject = data["lesson"], data["subject"]
        return ExchangeRequest(
            line=data["line"],
            item=CheckoutItem(lesson.subject_id, (lesson.pk,))
            if lesson
            else CheckoutItem(subject.pk),
            paid_by=data["paid_by"],
            discount_cents=to_cents(data["discount"] or Decimal(0)),
            reason=data["reason"],
            form_key=form_key,
        )


def exchange_page(request: HttpRequest, order_id: int, *, context: dict[str, Any]) -> HttpResponse:
    """Show form and preview, and exchange the line.

    It needs the permission to exchange and a fresh password, and the permission to refund if a part
    of the money goes back.
    """
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    answer: HttpResponse = _exchange(request, order_id, context)
    return answer


@password_required_for(RepeatedAct.REFUND)
def _exchange(request: HttpRequest, order_id: int, context: dict[str, Any]) -> HttpResponse:
    order = get_object_or_404(Order, pk=order_id)
    log_reading(request, order)
    made = _made_before(request)
    if made is not None:
        return _done(request, made)
    rows = list(order_money(order).lines)
    form = ExchangeForm(rows, request.POST if request.method == "POST" else None)
    context = {
        **context,
        "title": f"Cambiar un curso del pedido {order.pk}",
        "order": order,
        "opts": Order._meta,
        "form": form,
        "notices": [f"{capfirst(case.text)}." for case in open_cases(order)],
        "preview": None,
    }
    if request.method == "POST" and form.is_valid():
        key = form.cleaned_data["form_key"] or uuid4()
        wanted = form.exchange_request(key)
        try:
            if "confirm" in request.POST:
                return _confirmed(request, order, wanted, form)
            if "change" not in request.POST:
                exchange = price_exchange(wanted)
                _check_may_refund(request, wanted, exchange)
                context |= _preview(request, wanted, exchange)
        except AcademyError as refusal:
            form.add_error(None, refusal.message)
    return TemplateResponse(request, "payments/exchange.html", context)


def _check_may_refund(
    request: HttpRequest, wanted: ExchangeRequest, exchange: PricedExchange
) -> None:
    """Raise OverLimit if the exchange returns money or stands in the way of a withdrawal.

    While an exchange waits, the order can't be refunded.
    """
    if request.user.has_perm("orders.refund_order"):
        return
    if any(case.may_be_refunded for case in open_cases(wanted.line.order)):
        raise OverLimit("Tiene un desistimiento por resolver: lo cambia quien pueda devolver.")
    if exchange.back:
        raise OverLimit(
            f"Habría que devolver {format_euros(exchange.back)}, y tú no puedes devolver dinero: "
            "pídeselo a alguien que pueda."
        )


def _made_before(request: HttpRequest) -> Order | None:
    """The order that the first click on this form has made. Its line can't be chosen again."""
    try:
        key = UUID(request.POST.get("form_key", ""))
    except ValueError:
        return None
    return Order.objects.with_key(key).filter(by_staff__exchanged_line__isnull=False).first()


def _confirmed(
    request: HttpRequest, order: Order, wanted: ExchangeRequest, form: ExchangeForm
) -> HttpResponse:
    data = form.cleaned_data
    seen = (data["seen_left"] or 0, data["seen_price"] or 0)
    check = partial(_check_may_refund, request, wanted)
    new = exchange_line(wanted, seen=seen, user=request.user, check=check)
    log_action(request, order, f"«{wanted.line}» por el pedido {new.pk}: {wanted.reason}")
    for refund in Refund.objects.unanswered().filter(batch=rest_batch(new)):
        with suppress(AcademyError):
            settle_refund(refund.pk, is_watched=True)
    return _done(request, new)


def _done(request: HttpRequest, new: Order) -> HttpResponse:
    """Say what became of the exchange, and of the money that goes back."""
    messages.success(request, _outcome(new))
    for refund in Refund.objects.filter(batch=rest_batch(new)).order_by("pk"):
        if refund.status == Refund.Status.FAILED:
            text = f"No se han devuelto {format_euros(refund.amount_cents)}. {refund.problem}"
            messages.error(request, text)
    return redirect("admin:orders_order_change", new.pk)


def _outcome(new: Order) -> str:
    if new.by_staff.exchanged_at is not None:
        return "Cambio hecho: el acceso nuevo se está abriendo y el anterior se cierra."
    if new.by_staff.awaits_approval:
        return "El cambio espera a que otra persona lo apruebe."
    return "El alumno recibe un correo para pagar la diferencia. El cambio se hace cuando la pague."


def _preview(
    request: HttpRequest, wanted: ExchangeRequest, exchange: PricedExchange
) -> dict[str, Any]:
    new = exchange.priced.today.lines[0]
    refusal = _over_limit(request, wanted, exchange)
    counted = (
        ["Se compró hace más de 14 días, o ya vino de un cambio: lo pagado cuenta como descuento."]
        if exchange.gives_credit
        else []
    )
    waits = [f"{refusal} El cambio espera a que otra persona lo apruebe."] if refusal else []
    return {
        "preview": list(_effects(wanted, exchange, waits=bool(refusal))),
        "warnings": [
            *(f"Ya lo tiene: {name}." for name in exchange.priced.bought_before),
            *counted,
            *waits,
        ],
        "waits": bool(refusal),
        "exchange": exchange,
        "old_name": wanted.line.name,
        "new_name": new.name,
        "discount": wanted.discount_cents,
        "form_key": wanted.form_key,
    }


def _over_limit(request: HttpRequest, wanted: ExchangeRequest, exchange: PricedExchange) -> str:
    """Why the exchange needs a second person. Empty if it does not."""
    full_cents = exchange.priced.today.total_cents
    given_cents = wanted.discount_cents + (exchange.credit if exchange.gives_credit else 0)
    try:
        check_discount(request.user, full_cents=full_cents, discount_cents=given_cents)
    except OverLimit as refusal:
        return refusal.message
    return ""


def _effects(wanted: ExchangeRequest, exchange: PricedExchange, *, waits: bool) -> list[str]:
    """What the exchange would do, as Spanish sentences."""
    line = wanted.line
    kept = line in lines_kept_open(line.order, [line])
    closes = (
        f"El acceso a «{line}» sigue, porque lo tiene también por otro pedido."
        if kept
        else f"Se cierra el acceso a «{line}»."
    )
    if exchange.due:
        by_card = wanted.paid_by == StaffOrder.PaidBy.LINK
        how = "un enlace para pagar con tarjeta" if by_card else "los datos de la transferencia"
        then = "Cuando se apruebe, el" if waits else "El"
        return [
            f"{then} alumno recibe por correo {how} de {format_euros(exchange.due)}. Le vale 30 "
            "días.",
            f"Cuando pague, se abre lo nuevo y no antes. {closes}",
            f"Mientras tanto no se puede devolver nada del pedido {line.order_id}.",
        ]
    back = (
        f"Se devuelven {format_euros(exchange.back)} al alumno, por donde pagó."
        if exchange.back
        else "No se devuelve ni se cobra nada."
    )
    opens = "Cuando se apruebe, se abre lo nuevo." if waits else "Se abre lo nuevo enseguida."
    return [f"{opens} {closes}", back]
