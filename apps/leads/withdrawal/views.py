"""The page /desistimiento: two steps, without an account and without JavaScript.

Directive (EU) 2023/2673 (article 11a of Directive 2011/83/EU) asks for it, with the labels of both
buttons. The rules are in docs/rules.md, "Withdrawal".
"""

import re
from typing import Any, cast

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.classroom.forms import SiteForm, email_field
from apps.core.errors import CrossSite, TooManyRequests
from apps.core.web.api import refuse_cross_site
from apps.core.web.bad_requests import refusal
from apps.core.web.response_headers import private_form_page
from apps.core.web.throttle import Limit, widest_network
from apps.core.web.timing import constant_time
from apps.leads.withdrawal.mails import facts
from apps.leads.withdrawal.services import record_withdrawal
from apps.leads.withdrawal.statement import Statement

# ASCII alone: in the digits of 66 scripts one order would have any number of numbers.
ORDER_NUMBER = re.compile(r"\D{0,20}(\d{1,12})\s*", re.ASCII)
WHICH_CONTRACT = "Escribe el número de pedido o, si no lo tienes, qué compraste y cuándo."


class WithdrawalForm(SiteForm):
    """The statement: who withdraws, from which contract, and where the acknowledgement goes."""

    name = forms.CharField(
        label="Nombre y apellidos",
        max_length=120,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
        error_messages={"required": "Escribe tu nombre."},
    )
    email = email_field()
    order_number = forms.CharField(
        label="Número de pedido",
        max_length=40,
        required=False,
        help_text="Está en el asunto de tu email de confirmación.",
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    details = forms.CharField(
        label="Qué compraste (si no tienes el número, o si desistes solo de una parte)",
        max_length=500,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    # The token of the link in the confirmation mail. A wrong one counts as none.
    clave = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].widget.attrs["autocomplete"] = "email"
        self.fields["email"].help_text = "El de tu compra. Ahí te enviamos el acuse de recibo."

    def clean_order_number(self) -> str:
        """The digits of "12", "n.º 12" or "Pedido 12"."""
        typed = self.cleaned_data["order_number"]
        if not typed:
            return ""
        found = ORDER_NUMBER.fullmatch(typed)
        if found is None:
            raise forms.ValidationError("El número de pedido solo tiene cifras.")
        return found[1].lstrip("0") or "0"

    def clean(self) -> dict[str, Any]:
        data = cast(dict[str, Any], super().clean())
        if not self.errors and not data["order_number"] and not data["details"]:
            self.add_error("order_number", WHICH_CONTRACT)
        return data


LIMIT = Limit("desistimiento", times=10, seconds=600)
DAY_LIMIT = Limit("desistimiento-dia", times=50, seconds=86_400)


# Public pages carry no cookie and no token (docs/rules.md, "Cross-site protection").
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@private_form_page
def withdrawal_page(request: HttpRequest) -> HttpResponse:
    """Show the form, then the statement to confirm, then the acknowledgement."""
    if request.method != "POST":
        number = request.GET.get("pedido", "")
        initial = {"order_number": number} if number.isascii() and number.isdecimal() else {}
        initial["clave"] = request.GET.get("clave", "")
        return _form(request, WithdrawalForm(initial=initial))
    try:
        refuse_cross_site(request)
    except CrossSite as error:
        return refusal(request, error)
    form = WithdrawalForm(request.POST)
    if not form.is_valid() or "change" in request.POST:
        return _form(request, form)
    if "confirm" not in request.POST:
        return render(request, "leads/withdrawal_confirm.html", {"form": form})
    try:
        LIMIT.count(request)
        DAY_LIMIT.count(request)
    except TooManyRequests as error:
        form.add_error(None, error.message)
        response = _form(request, form, status=error.status)
        response["Retry-After"] = str(error.retry_after)
        return response
    return _confirmed(request, form.cleaned_data)


def _confirmed(request: HttpRequest, data: dict[str, Any]) -> HttpResponse:
    """Record the statement. Page and response time are the same for known and unknown orders."""
    token = data.pop("clave")
    statement = Statement(**data)
    with constant_time():
        record_withdrawal(statement, token=token, network=widest_network(request))
    # Nothing of the stored case: a stranger may repeat the statement of another person.
    context = {"received_at": timezone.now(), "facts": facts(statement)}
    return render(request, "leads/withdrawal_received.html", context)


def _form(request: HttpRequest, form: WithdrawalForm, status: int = 200) -> HttpResponse:
    return render(request, "leads/withdrawal.html", {"form": form}, status=status)
