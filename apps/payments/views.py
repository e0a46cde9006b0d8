"""The pages around a payment: success, cancel and the recovery link (shop spec, section 2)."""

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from apps.core.context import academy_props
from apps.core.models import SiteSettings
from apps.core.response_headers import private_page
from apps.orders.checkout.remind import order_of_unsubscribe_token, stop_reminders
from apps.pricing.reads import current_pricing, instalment_plan_on_sale


@require_safe
@private_page
def success(request: HttpRequest) -> HttpResponse:
    """After a payment. With neither reference there is nothing to show: back to the start."""
    session_id = request.GET.get("session_id", "")
    payment_intent_id = request.GET.get("payment_intent_id", "")
    if not session_id and not payment_intent_id:
        return HttpResponseRedirect(reverse("home"))
    contact = SiteSettings.current()
    props = {
        "session_id": session_id,
        "payment_intent_id": payment_intent_id,
        "portal_url": contact.portal,
        "portal_profile_url": contact.portal_profile,
        "instalment_count": instalment_plan_on_sale().count,
        "academy": academy_props(contact),
    }
    return render(request, "payments/success.html", {"props": props})


@require_safe
@private_page
def cancel(request: HttpRequest) -> HttpResponse:
    """A payment that was left: nothing was charged, and the saved order leads back to the cart.

    Stripe's own page sends here with the order alone; the tab that sent the buyer there has the
    order's token, and its island adds it.
    """
    order, token = request.GET.get("order", ""), request.GET.get("token", "")
    recovery_url = ""
    if order and token:
        recovery_url = (
            f"{reverse('complete-payment')}?{urlencode({'order': order, 'token': token})}"
        )
    context = {"recovery_url": recovery_url, "order": order, "props": {"order": order}}
    return render(request, "payments/cancel.html", context)


@require_safe
@private_page
def complete_payment(request: HttpRequest) -> HttpResponse:
    """The page behind a recovery link: its island asks for the order, and says what is wrong."""
    props = {
        "order": request.GET.get("order", ""),
        "token": request.GET.get("token", ""),
        "pricing": current_pricing(),
        "academy": academy_props(),
    }
    return render(request, "payments/complete_payment.html", {"props": props})


# Mail programs post here on their reader's behalf, without a cookie (RFC 8058): the signed token
# is all that is asked for, and all that it can do is end reminders.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@private_page
def stop_cart_reminders(request: HttpRequest) -> HttpResponse:
    """The link under a cart reminder. GET only shows, so that mail scanners change nothing."""
    order = order_of_unsubscribe_token(request.GET.get("aviso", ""))
    if order is None:
        raise Http404
    if request.method == "POST":
        stop_reminders(order)
    stopped = request.method == "POST" or order.reminders_stopped_at is not None
    return render(request, "payments/stop_reminders.html", {"stopped": stopped})


@require_safe
@private_page
def plazos(request: HttpRequest) -> HttpResponse:
    """A plan of instalments behind its personal link: its island asks for it, and POSTs act."""
    props = {
        "order": request.GET.get("pedido", ""),
        "token": request.GET.get("clave", ""),
        "academy": academy_props(),
    }
    return render(request, "payments/instalments.html", {"props": props})
