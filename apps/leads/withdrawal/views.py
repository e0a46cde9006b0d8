"""The page /desistimiento: two steps, without an account and without JavaScript.

Directive (EU) 2023/2673 (article 11a of Directive 2011/83/EU) asks for it, with the labels of both
buttons. The rules are in docs/rules.md, "Withdrawal".
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.core.errors import CrossSite, TooManyRequests
from apps.core.web.api import refuse_cross_site
from apps.core.web.bad_requests import refusal
from apps.core.web.response_headers import private_form_page
from apps.core.web.throttle import Limit
from apps.core.web.timing import constant_time
from apps.leads.withdrawal.forms import WithdrawalForm
from apps.leads.withdrawal.mails import facts
from apps.leads.withdrawal.services import record_withdrawal
from apps.leads.withdrawal.statement import Statement

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
        record_withdrawal(statement, token=token)
    # Nothing of the stored case: a stranger may repeat the statement of another person.
    context = {"received_at": timezone.now(), "facts": facts(statement)}
    return render(request, "leads/withdrawal_received.html", context)


def _form(request: HttpRequest, form: WithdrawalForm, status: int = 200) -> HttpResponse:
    return render(request, "leads/withdrawal.html", {"form": form}, status=status)
