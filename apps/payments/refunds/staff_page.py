"""The admin's page "Devolver": a form for amount and reason, a preview, and the confirmed refund.

The rules are in docs/rules.md, "Refunds and disputes".
"""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from apps.core.errors import AcademyError
from apps.core.input_fields import EurosField
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff.admin_log import log_about
from apps.core.staff.fresh_password import fresh_password_required
from apps.orders.ledger.lines import lines_left
from apps.orders.ledger.plan_end import takes_instalments
from apps.orders.models import Dispute, Order, OrderLine, Refund
from apps.orders.models.statuses import DISPUTE_HELD, INSTALMENT_SETTLED
from apps.orders.refunds.available import left_today_cents, refundable_cents
from apps.orders.refunds.effects import RefundRequest, lines_kept_open
from apps.orders.refunds.preview import preview
from apps.payments.refunds.at_stripe import make_refund


class RefundForm(forms.Form):
    """The refund's form.

    The preview fills two hidden fields: `batch` is the idempotency key of the refund, and `seen` is
    the refundable amount that the clerk saw.
    """

    amount = EurosField(
        label="Importe (€)",
        max_digits=8,
        decimal_places=2,
        min_value=to_euros(1),
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
        lines.queryset = lines_left(order)
        kept = lines_kept_open(order, lines.queryset)
        if kept:
            lines.label_from_instance = lambda line: (
                f"{line} (la tiene también por otro pedido)" if line in kept else str(line)
            )
            lines.help_text += " Lo que tiene también por otro pedido sigue abierto."
        if not order.instalments.exclude(status__in=INSTALMENT_SETTLED).exists():
            del self.fields["cancels_plan"]

    def refund_request(self) -> RefundRequest:
        data = self.cleaned_data
        return RefundRequest(
            amount_cents=to_cents(data["amount"]),
            reason=data["reason"],
            line_ids=frozenset(line.pk for line in data["lines"]),
            cancels_plan=data.get("cancels_plan", False),
        )


def refund_page(request: HttpRequest, order_id: int, *, context: dict[str, Any]) -> HttpResponse:
    """Show form and preview, and make the confirmed refund, outside any transaction.

    It needs the permission to refund and a fresh password.
    """
    if not request.user.has_perm("orders.refund_order"):
        raise PermissionDenied
    answer: HttpResponse = _refund(request, order_id, context)
    return answer


@fresh_password_required
def _refund(request: HttpRequest, order_id: int, context: dict[str, Any]) -> HttpResponse:
    order = get_object_or_404(Order, pk=order_id)
    most = refundable_cents(order)
    context = {
        **context,
        "title": f"Devolver dinero del pedido {order.pk}",
        "order": order,
        "opts": Order._meta,
        "most": format_euros(most),
        "left_today": format_euros(left_today_cents(request.user)),
        "notices": _notices(order),
        "preview": None,
    }
    if request.method != "POST":
        form = RefundForm(order, initial={"amount": to_euros(most)})
        return _page(request, {**context, "form": form})
    form = RefundForm(order, request.POST)
    if not form.is_valid():
        return _page(request, {**context, "form": form})
    confirmed = form.refund_request()
    if "confirm" in request.POST and form.cleaned_data["batch"]:
        batch = form.cleaned_data["batch"]
        is_repeated = Refund.objects.filter(batch=batch, payment__order=order).exists()
        try:
            refunds = make_refund(
                order_id=order.pk,
                request=confirmed,
                batch=batch,
                user=request.user,
                seen_cents=form.cleaned_data["seen"] or 0,
            )
        except AcademyError as error:
            form.add_error(None, error.message)
        else:
            if not is_repeated:
                amount = format_euros(confirmed.amount_cents)
                log_about(request, order, f"Devolución de {amount} pedida: {confirmed.reason}")
            _show_outcomes(request, refunds)
            return redirect("admin:orders_order_change", order.pk)
    if form.is_valid() and "change" not in request.POST:
        try:
            context["preview"] = preview(order, confirmed)
            context["amount"] = format_euros(confirmed.amount_cents)
            context |= {"batch": uuid4().hex, "seen": most}
        except AcademyError as error:
            form.add_error(None, error.message)
    return _page(request, {**context, "form": form})


def _notices(order: Order) -> list[str]:
    """Why less than expected can be refunded: an unanswered refund, or a dispute."""
    requested = Refund.objects.unanswered().filter(payment__order=order).order_by("pk")
    disputes = Dispute.objects.filter(payment__order=order, status__in=DISPUTE_HELD).order_by("pk")
    return [
        f"Ya está pedida una devolución de {format_euros(refund.amount_cents)} y Stripe aún no ha "
        "contestado. Se aclara sola en unos minutos: no la pidas otra vez."
        for refund in requested
    ] + [_about_dispute(dispute) for dispute in disputes]


def _about_dispute(dispute: Dispute) -> str:
    amount = format_euros(dispute.amount_cents)
    if dispute.status == Dispute.Status.LOST:
        return f"El banco ha devuelto ya al alumno {amount}: la disputa está perdida."
    return (
        f"El alumno ha reclamado {amount} a su banco. Ese pago no se puede devolver mientras el "
        "banco no decida; se responde en el panel de Stripe."
    )


def _page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    return TemplateResponse(request, "payments/refund.html", context)


def _show_outcomes(request: HttpRequest, refunds: list[Refund]) -> None:
    """One message for each part of the refund."""
    for refund in refunds:
        amount = format_euros(refund.amount_cents)
        if refund.status == Refund.Status.SUCCEEDED and refund.follows is not None:
            messages.success(request, f"Devueltos también {amount}, cobrados mientras tanto.")
        elif refund.status == Refund.Status.SUCCEEDED:
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
            problem = refund.problem.rstrip(".")
            messages.error(request, f"No se han devuelto {amount}. {problem}.{_plan_note(refund)}")


def _plan_note(refund: Refund) -> str:
    """A Spanish sentence: does the plan go on after its refund was rejected?"""
    order = refund.payment.order
    ends_plan = refund.cancels_plan or refund.ends_order
    if order is None or not ends_plan or not takes_instalments(order):
        return ""
    return " El plan sigue como estaba."
