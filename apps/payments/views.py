"""The pages around a payment: success, cancel, the recovery link and the plan.

The rules are in docs/rules.md, "Success, cancel and recovery pages".
"""

from contextlib import suppress
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from apps.core.errors import TooManyRequests
from apps.core.models import SiteSettings
from apps.core.web.response_headers import private_page
from apps.core.web.throttle import Limit
from apps.orders.api import order_by_payment
from apps.orders.checkout.existing_order import open_order as open_cart
from apps.orders.checkout.remind import order_of_unsubscribe_token, stop_reminders
from apps.orders.email_correction import CorrectionBusy, order_to_correct, use_correction
from apps.orders.errors import AlreadyPaid, OrderNotFound
from apps.orders.models import Order
from apps.orders.models.statuses import PaymentStatus
from apps.orders.recovery_link import has_another_address, recovery_url
from apps.orders.renewals.renewals import CannotRenew, open_order, renewal_of
from apps.payments.context import academy_props
from apps.payments.stripe.page_policy import paying_page
from apps.pricing.reads import current_pricing, current_terms

RENEWALS = Limit("renovar", times=20, seconds=600)
RENEWAL_PAGES = Limit("renovar-pagina", times=300, seconds=600)
# Of one order: each press locks all orders of two students.
CONFIRMATIONS = Limit("correo-confirmar", times=20, seconds=600)


@require_safe
@private_page
def success(request: HttpRequest) -> HttpResponse:
    """The page after a payment. Without a payment or session in the URL it redirects home."""
    session_id = request.GET.get("session_id", "")
    payment_intent_id = request.GET.get("payment_intent_id", "")
    if not session_id and not payment_intent_id:
        return HttpResponseRedirect(reverse("home"))
    contact = SiteSettings.current()
    try:
        order = order_by_payment(session=session_id, payment=payment_intent_id)
        plan, bought = order.instalment_plan, list(order.lines.order_by("pk").values("id", "name"))
    except OrderNotFound:
        # The island asks Stripe, and says so if the payment is not this shop's.
        plan, bought = current_terms().plan, []
    props = {
        "session_id": session_id,
        "payment_intent_id": payment_intent_id,
        "portal_url": contact.portal,
        "portal_profile_url": contact.portal_profile,
        "instalment_count": plan.count,
        "instalment_every_days": plan.every_days,
        "bought": bought,
        "academy": academy_props(contact),
    }
    return render(request, "payments/success.html", {"props": props})


@require_safe
@private_page
def cancel(request: HttpRequest) -> HttpResponse:
    """The page after the buyer left Stripe's hosted page: nothing was charged.

    It links back to the order. Stripe's URL has only the order's number; the island adds the token,
    which is stored in the buyer's tab.
    """
    order, token = request.GET.get("order", ""), request.GET.get("token", "")
    back = ""
    if order and token:
        back = f"{reverse('complete-payment')}?{urlencode({'order': order, 'token': token})}"
    context = {"recovery_url": back, "order": order, "props": {"order": order}}
    return render(request, "payments/cancel.html", context)


@require_safe
@private_page
@paying_page
def complete_payment(request: HttpRequest) -> HttpResponse:
    """The page of a recovery link. Its island loads the order and shows any error.

    A mailed link does not open a cart that has another address by now.
    """
    if (changed := _cart_of_another(request)) is not None:
        is_paying = changed.payments.filter(status=PaymentStatus.PROCESSING).exists()
        context = {"is_paying": is_paying}
        return render(request, "payments/cart_changed.html", context, status=410)
    contact = SiteSettings.current()
    props = {
        "order": request.GET.get("order", ""),
        "token": request.GET.get("token", ""),
        "mailed_to": request.GET.get("correo", ""),
        "pricing": current_pricing(),
        "portal_url": contact.portal,
        "academy": academy_props(contact),
    }
    return render(request, "payments/complete_payment.html", {"props": props})


def _cart_of_another(request: HttpRequest) -> Order | None:
    """The cart that this link opens, if it was mailed to another address than the cart has."""
    order_id, mailed_to = request.GET.get("order", ""), request.GET.get("correo", "")
    if not mailed_to or not (order_id.isascii() and order_id.isdigit()) or len(order_id) > 18:
        return None
    with suppress(OrderNotFound, AlreadyPaid):
        order = open_cart(order_id=int(order_id), token=request.GET.get("token", ""))
        return order if has_another_address(order, mailed_to) else None
    return None


# Mail programs post here for their reader, without a cookie (RFC 8058). The signed token in the URL
# is the only credential, and it can only end reminders.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@private_page
def stop_cart_reminders(request: HttpRequest) -> HttpResponse:
    """The unsubscribe link of a cart reminder. Only POST acts, so that mail scanners do nothing."""
    order = order_of_unsubscribe_token(request.GET.get("aviso", ""))
    if order is None:
        raise Http404
    if request.method == "POST":
        stop_reminders(order)
    stopped = request.method == "POST" or order.reminders_stopped_at is not None
    return render(request, "payments/stop_reminders.html", {"stopped": stopped})


# The signed token in the URL is the only credential, as above.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@private_page
def confirm_email(request: HttpRequest) -> HttpResponse:
    """The link that confirms a buyer's corrected address. Only POST uses it up.

    The page is the same whether the address could be changed or staff have to decide.
    """
    token, template = request.GET.get("enlace", ""), "payments/confirm_email.html"
    status, notice, found = 200, "", order_to_correct(token)
    if request.method == "POST":
        try:
            if found is not None:
                CONFIRMATIONS.count_key(str(found[0].pk))
            if use_correction(token):
                return render(request, template, {"confirmed": True})
            found = None
        except (CorrectionBusy, TooManyRequests) as refusal:
            status, notice = refusal.status, refusal.message
    number, email = (found[0].pk, found[1]) if found else (None, "")
    return render(
        request,
        template,
        {"number": number, "email": email, "notice": notice},
        status=status if found else 410,
    )


@require_safe
@private_page
@paying_page
def plazos(request: HttpRequest) -> HttpResponse:
    """The page of a plan of instalments, opened by a signed link. Its island calls the API."""
    props = {
        "order": request.GET.get("pedido", ""),
        "token": request.GET.get("clave", ""),
        "academy": academy_props(),
    }
    return render(request, "payments/instalments.html", {"props": props})


# The signed link is the only credential, as above.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@private_page
def renew(request: HttpRequest) -> HttpResponse:
    """The link of a renewal: what ends, its price, and one button that leads to the payment."""
    token, template = request.GET.get("enlace", ""), "payments/renew.html"
    try:
        if request.method == "POST":
            RENEWALS.count(request)
            order = open_order(token)
            return HttpResponseRedirect(recovery_url(order))
        RENEWAL_PAGES.count(request)
        renewal = renewal_of(token)
    except (CannotRenew, TooManyRequests) as refusal:
        return render(request, template, {"refusal": refusal.message}, status=refusal.status)
    if renewal is None:
        raise Http404
    return render(request, template, {"renewal": renewal})
