"""The page with the invoices of an order, opened by a personal link or after the payment.

The rules are in docs/rules.md, "Invoices".
"""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from apps.core.errors import AcademyError, CrossSite, NotFound, TooManyRequests
from apps.core.web.api import refuse_cross_site
from apps.core.web.response_headers import private_form_page, private_page
from apps.core.web.throttle import Limit, plain_refusal, widest_network
from apps.invoices.billing import (
    InvoiceByLink,
    full_invoice_of,
    give_details,
    order_of_link,
    order_of_payment,
)
from apps.invoices.expected import expected_cents
from apps.invoices.forms import BillingForm
from apps.invoices.models import BillingDetails, Invoice
from apps.orders.invoice_link import invoice_token
from apps.orders.models import Order

REQUESTS = Limit("factura", times=20, seconds=600)
DOWNLOADS = Limit("factura-pdf", times=60, seconds=600)
# Each, also of a refused form, asks a dozen tables: 30 ms. Others may know the payment's id.
PAGES_OF_ORDER = Limit("factura-pagina-order", times=100, seconds=600)
# Each refund and each corrected recipient adds one.
MOST_INVOICES = 100
# A PDF costs up to 1.3 s of CPU, and the link of an order may be anywhere.
DOWNLOADS_OF_ORDER = Limit("factura-pdf-order", times=20, seconds=600)


# The link's token is the only credential, and the page uses no cookie.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@private_form_page
def factura(request: HttpRequest) -> HttpResponse:
    """Show the invoices of an order and the form for the buyer's details.

    The personal link shows all. The id of a payment, which the page after the payment knows, only
    opens the form: it shows neither invoices nor details that were given before.
    """
    try:
        order, is_personal = _order_of(request)
    except InvoiceByLink as refusal:
        context = {"refusal": refusal.message, "noindex": True}
        return render(request, "invoices/invoices.html", context, status=refusal.status)
    try:
        PAGES_OF_ORDER.count_key(f"{order.pk} {widest_network(request)}")
    except TooManyRequests as refusal:
        return plain_refusal(refusal)
    if request.method == "POST":
        return _save(request, order, is_personal)
    return _page(request, order, is_personal, BillingForm(initial=_initial(order, is_personal)))


def _order_of(request: HttpRequest) -> tuple[Order, bool]:
    try:
        if "pago" in request.GET:
            return order_of_payment(request.GET["pago"]), False
        return order_of_link(request.GET.get("pedido", ""), request.GET.get("clave", "")), True
    except NotFound as missing:
        raise Http404 from missing


def _save(request: HttpRequest, order: Order, is_personal: bool) -> HttpResponse:
    form = BillingForm(request.POST)
    try:
        refuse_cross_site(request)
        REQUESTS.count(request)
        if form.is_valid():
            give_details(order, form.cleaned_data)
            return redirect(request.get_full_path())
    except CrossSite as refusal:
        raise PermissionDenied from refusal
    except AcademyError as refusal:
        form.is_valid()
        form.add_error(None, refusal.message)
        response = _page(request, order, is_personal, form, status=refusal.status)
        if isinstance(refusal, TooManyRequests):
            response["Retry-After"] = str(refusal.retry_after)
        return response
    return _page(request, order, is_personal, form, status=400)


def _initial(order: Order, is_personal: bool) -> dict[str, Any]:
    if not is_personal:
        return {}
    details = BillingDetails.objects.filter(order=order).first()
    if details is not None:
        return details.as_recipient()
    return {"name": f"{order.first_name} {order.last_name}".strip()}


def _page(
    request: HttpRequest, order: Order, is_personal: bool, form: BillingForm, status: int = 200
) -> HttpResponse:
    full = full_invoice_of(order)
    context = {
        "order": order,
        "form": form,
        "is_personal": is_personal,
        "token": invoice_token(order) if is_personal else "",
        "invoices": _invoices(order) if is_personal else (),
        "is_issued": full is not None,
        "is_waiting": full is None and BillingDetails.objects.filter(order=order).exists(),
        "can_ask": full is None and expected_cents(order) > 0,
        "noindex": True,
    }
    return render(request, "invoices/invoices.html", context, status=status)


def _invoices(order: Order) -> QuerySet[Invoice]:
    """The newest invoices, the oldest of them first, without what they show."""
    newest = order.invoices.order_by("-pk").values("pk")[:MOST_INVOICES]
    rows = order.invoices.filter(pk__in=newest).select_related("replaced_by", "root__replaced_by")
    hidden = ("content", "replaced_by__content", "root__content", "root__replaced_by__content")
    return rows.defer(*hidden).order_by("pk")


@require_safe
@private_page
def factura_pdf(request: HttpRequest, code: str) -> HttpResponse:
    """Download an invoice with the personal link of its order."""
    if "pago" in request.GET:
        raise Http404
    order, _ = _order_of(request)
    try:
        DOWNLOADS.count(request)
        DOWNLOADS_OF_ORDER.count_key(str(order.pk))
    except TooManyRequests as refusal:
        return plain_refusal(refusal)
    return pdf_response(get_object_or_404(Invoice, order=order, code=code))


def pdf_response(invoice: Invoice) -> HttpResponse:
    """The invoice's PDF as a download."""
    # Imported here because the library for PDF takes 15 MB of each process that imports it.
    from apps.invoices.pdf import invoice_pdf

    answer = HttpResponse(invoice_pdf(invoice), content_type="application/pdf")
    answer["Content-Disposition"] = f'attachment; filename="{invoice.code}.pdf"'
    return answer
