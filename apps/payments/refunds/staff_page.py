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
from django.utils.text import capfirst

from apps.core.errors import AcademyError
from apps.core.input_fields import EurosField, RowsField
from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff.admin_log import log_action, log_reading
from apps.core.staff.fresh_password import RepeatedAct, password_required_for
from apps.orders.ledger.disputed_credit import disputed_credit_cents
from apps.orders.ledger.lines import OrderMoney, order_money
from apps.orders.ledger.plan_end import takes_instalments
from apps.orders.models import Dispute, Order, OrderLine, Refund
from apps.orders.models.statuses import DISPUTE_HELD, INSTALMENT_SETTLED, UNPAID
from apps.orders.refunds.available import (
    left_today_cents,
    refundable_cents,
    waiting_rests_words,
)
from apps.orders.refunds.effects import RefundRequest, lines_kept_open
from apps.orders.refunds.open_cases import open_cases
from apps.orders.refunds.preview import preview
from apps.orders.refunds.request import requested_words
from apps.payments.refunds.at_stripe import make_refund


class RefundForm(forms.Form):
    """The refund's form.

    The preview fills two hidden fields: `batch` is the idempotency key of the refund, and `seen` is
    the refundable amount that the clerk saw. An empty amount becomes what is left of the lines that
    are ticked.
    """

    # `payments/refund.html` draws the lines as a table.
    lines = RowsField(queryset=OrderLine.objects.none(), required=False)
    amount = EurosField(
        label="Importe (€)",
        max_digits=8,
        decimal_places=2,
        min_value=to_euros(1),
        required=False,
        help_text="Vacío, se devuelve lo que queda de lo marcado. Sin marcar nada es un importe "
        "libre: nadie pierde el acceso, salvo que sea todo lo cobrado.",
    )
    cancels_plan = forms.BooleanField(label="Anular los plazos que quedan", required=False)
    reason = forms.CharField(
        label="Motivo",
        max_length=300,
        widget=forms.Textarea(attrs={"rows": 2, "cols": 60}),
        help_text="Lo lee el equipo, no el alumno.",
    )
    batch = forms.UUIDField(required=False, widget=forms.HiddenInput)
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, order: Order, money: OrderMoney, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.money = money
        lines: Any = self.fields["lines"]
        lines.queryset = order.lines.filter(
            pk__in=[row.line.pk for row in money.lines if not row.is_refunded]
        )
        self.is_unpaid = order.status in UNPAID
        if self.is_unpaid:
            self.fields["amount"].required = True
            self.fields["amount"].help_text = "El pedido no está pagado: se devuelve sin líneas."
        self.kept = lines_kept_open(order, lines.queryset)
        if not order.instalments.exclude(status__in=INSTALMENT_SETTLED).exists():
            del self.fields["cancels_plan"]

    def clean_reason(self) -> str:
        """The reason in one line: the owner's mail has it between lines of its own."""
        reason = self.cleaned_data["reason"]
        return " ".join("".join(x if x.isprintable() else " " for x in reason).split())

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if "amount" in self.errors or "lines" in self.errors or data["amount"] is not None:
            return data
        ticked = {line.pk for line in data["lines"]}
        cents = sum(row.left for row in self.money.lines if row.line.pk in ticked)
        if not ticked:
            self.add_error("amount", "Marca lo que se devuelve, o escribe un importe.")
        elif not cents:
            self.add_error("amount", "De lo marcado no queda nada que devolver.")
        else:
            data["amount"] = to_euros(cents)
            # The preview shows the form again as hidden fields: the amount is confirmed as seen.
            sent: Any = self.data
            shown_again = sent.copy()
            shown_again["amount"] = self.fields["amount"].prepare_value(data["amount"])
            self.data = shown_again
        return data

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The lines as the table shows them: their money, and whether they are ticked.

        None of an order that is not paid: its lines are not refunded one by one.
        """
        if self.is_unpaid:
            return []
        ticked = {str(pk) for pk in self["lines"].value() or ()}
        return [
            {
                "money": row,
                "is_ticked": str(row.line.pk) in ticked,
                "is_kept": row.line in self.kept,
            }
            for row in self.money.lines
        ]

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


@password_required_for(RepeatedAct.REFUND)
def _refund(request: HttpRequest, order_id: int, context: dict[str, Any]) -> HttpResponse:
    order = get_object_or_404(Order, pk=order_id)
    log_reading(request, order)
    most = refundable_cents(order)
    money = order_money(order)
    context = {
        **context,
        "title": f"Devolver dinero del pedido {order.pk}",
        "order": order,
        "opts": Order._meta,
        "most": format_euros(most),
        "left_today": format_euros(left_today_cents(request.user)),
        "waiting": waiting_rests_words(request.user),
        "notices": _notices(order, money),
        "preview": None,
    }
    if request.method != "POST":
        # Lines are refunded after the money that was paid twice.
        first = {"amount": to_euros(money.excess_left)} if money.excess_left else {}
        form = RefundForm(order, money, initial=first)
        return _page(request, {**context, "form": form})
    form = RefundForm(order, money, request.POST)
    if not form.is_valid():
        return _page(request, {**context, "form": form})
    confirmed = form.refund_request()
    if "confirm" in request.POST and form.cleaned_data["batch"]:
        batch = form.cleaned_data["batch"].hex
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
                words = f"{requested_words(order, batch)}: {confirmed.reason}"
                log_action(request, order, words)
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


def _notices(order: Order, money: OrderMoney) -> list[str]:
    """What the clerk has to know first: money paid twice, and what else is open."""
    requested = Refund.objects.unanswered().filter(payment__order=order).order_by("pk")
    disputes = Dispute.objects.filter(payment__order=order, status__in=DISPUTE_HELD).order_by("pk")
    notices = []
    if money.excess_left:
        excess = format_euros(money.excess_left)
        notices.append(f"Se cobraron {excess} de más. Se devuelven aparte, antes que las líneas.")
    notices += [
        f"Ya está pedida una devolución de {format_euros(refund.amount_cents)} y Stripe aún no ha "
        "contestado. Se aclara sola en unos minutos: no la pidas otra vez."
        for refund in requested
    ]
    notices += [f"{capfirst(case.text)}." for case in open_cases(order)]
    notices += [_about_dispute(dispute) for dispute in disputes]
    if in_dispute := disputed_credit_cents(order):
        notices.append(
            f"{format_euros(in_dispute)} de este pedido se pagaron con dinero de otro que está en "
            "disputa, o que se perdió en ella, y no se pueden devolver."
        )
    return notices


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
