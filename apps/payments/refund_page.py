"""The admin's page "Devolver": how much and why, then what else would change, then the deed."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from apps.core.errors import AcademyError
from apps.core.money import format_euros, to_cents, to_euros
from apps.orders import refunds as returns
from apps.orders.models import Instalment, Order, OrderLine, Refund
from apps.orders.refunds import Wanted
from apps.payments.refunds import give_back


class RefundForm(forms.Form):
    """`batch` and `seen` come with the preview: what was confirmed is done once, as it was seen."""

    amount = forms.DecimalField(
        label="Importe (€)",
        max_digits=8,
        decimal_places=2,
        min_value=to_euros(1),
        localize=True,
    )
    lines = forms.ModelMultipleChoiceField(
        label="Retirar el acceso a",
        queryset=OrderLine.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Sin marcar ninguna, el acceso no cambia; con todo el importe se retira entero.",
    )
    cancels_plan = forms.BooleanField(label="Anular los plazos que quedan", required=False)
    reason = forms.CharField(
        label="Motivo",
        max_length=300,
        widget=forms.Textarea(attrs={"rows": 2, "cols": 60}),
        help_text="Lo lee el equipo, no el alumno.",
    )
    batch = forms.CharField(max_length=80, required=False, widget=forms.HiddenInput)
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, order: Order, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        lines: Any = self.fields["lines"]
        lines.queryset = returns.lines_left(order)
        if not order.instalments.exclude(status__in=Instalment.SETTLED).exists():
            del self.fields["cancels_plan"]

    def wanted(self) -> Wanted:
        data = self.cleaned_data
        return Wanted(
            amount_cents=to_cents(data["amount"]),
            reason=data["reason"],
            line_ids=frozenset(line.pk for line in data["lines"]),
            cancels_plan=data.get("cancels_plan", False),
        )


def refund_page(request: HttpRequest, order_id: int, *, context: dict[str, Any]) -> HttpResponse:
    """Form, preview and confirmation. The provider is asked outside any transaction."""
    if not request.user.has_perm("orders.refund_order"):
        raise PermissionDenied
    order = get_object_or_404(Order, pk=order_id)
    most = returns.refundable_cents(order)
    context = {
        **context,
        "title": f"Devolver dinero del pedido {order.pk}",
        "order": order,
        "opts": Order._meta,
        "most": format_euros(most),
        "left_today": format_euros(returns.left_today_cents(request.user)),
        "preview": None,
    }
    if request.method != "POST":
        form = RefundForm(order, initial={"amount": to_euros(most)})
        return _page(request, {**context, "form": form})
    form = RefundForm(order, request.POST)
    if not form.is_valid():
        return _page(request, {**context, "form": form})
    wanted = form.wanted()
    if "confirm" in request.POST and form.cleaned_data["batch"]:
        try:
            made = give_back(
                order_id=order.pk,
                wanted=wanted,
                batch=form.cleaned_data["batch"],
                user=request.user,
                seen_cents=form.cleaned_data["seen"] or 0,
            )
        except AcademyError as refused:
            form.add_error(None, refused.message)
        else:
            _tell(request, made)
            return redirect("admin:orders_order_change", order.pk)
    if form.is_valid() and "change" not in request.POST:
        try:
            context["preview"] = returns.preview(order, wanted)
            context["wanted"] = format_euros(wanted.amount_cents)
            context |= {"batch": uuid4().hex, "seen": most}
        except AcademyError as refused:
            form.add_error(None, refused.message)
    return _page(request, {**context, "form": form})


def _page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    return TemplateResponse(request, "payments/refund.html", context)


def _tell(request: HttpRequest, made: list[Refund]) -> None:
    """How each part of it stands."""
    for refund in made:
        amount = format_euros(refund.amount_cents)
        if refund.status == Refund.Status.SUCCEEDED:
            messages.success(request, f"Devueltos {amount}.")
        elif refund.status == Refund.Status.PENDING:
            messages.success(request, f"Devolución de {amount} aceptada: está en camino.")
        elif refund.status == Refund.Status.REQUESTED:
            messages.warning(
                request,
                f"Stripe no ha contestado a la devolución de {amount}. Se aclara sola en unos "
                "minutos: no la pidas otra vez.",
            )
        else:
            messages.error(request, f"No se han devuelto {amount}. {refund.problem}")
