import logging
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.classroom.provisioning import AccessNotReady, account_status, resend_access_mail
from apps.core.errors import AcademyError, Forbidden, TooManyRequests
from apps.core.identity import email_identity
from apps.core.input_fields import EmailField
from apps.core.mail.recipient_limits import FORM_MAILS_OF_NETWORK
from apps.core.web.api import PublicAPIView
from apps.core.web.response_headers import NO_STORE
from apps.core.web.throttle import Limit, client_networks, counted_once_done, widest_network
from apps.orders.checkout.by_transfer import TransferUnavailable
from apps.orders.checkout.existing_order import credentials, open_order
from apps.orders.checkout.request import Checkout
from apps.orders.errors import (
    AlreadyBought,
    AlreadyPaid,
    GiftChanged,
    InstalmentsUnavailable,
    OrderAwaitsApproval,
    OrderIsPersonal,
    OrderNotFound,
    PaymentInProgress,
    PriceChanged,
    Unavailable,
)
from apps.orders.models import Gift, Order, Payment
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.statuses import EVER_PAID
from apps.orders.serializers import ID, CheckoutInput, CheckoutOutput, ProviderIdField
from apps.orders.settlement.gift_delivery import check_gift_is_delivered, open_access
from apps.payments.card_testing import PaymentsPaused
from apps.payments.checkout.start import start
from apps.payments.crowds import BuyersLimit
from apps.payments.events.unheard import count_refused_event
from apps.payments.report import report
from apps.payments.stripe.client import OPTIONAL_METHODS, STRIPE_ERRORS, PaymentNotFound
from apps.payments.stripe.declines import EXPIRED
from apps.payments.stripe.events import BadSignature, read_event
from apps.payments.stripe.intents import (
    HasPaymentIds,
    PaymentIds,
    ProviderPayment,
    retrieve_payment,
)
from apps.payments.webhooks import receive
from apps.pricing.promo_checks import PromoRefused
from apps.students.models import Consent
from apps.students.session import current_student, is_known_buyer

logger = logging.getLogger(__name__)

# Carts of strangers with reminders, which go to typed addresses a day later. Above it a cart is
# placed without them.
REMINDERS_OF_NETWORK = (
    Limit("reminders-network", times=30, seconds=3600),
    Limit("reminders-network-day", times=100, seconds=86_400),
)


# For each mailbox: what it has got is read at each of its checkouts.
FREE_ORDERS = Limit("free-orders", times=20, seconds=86_400)


class NotConfirmed(AcademyError):
    status = 409
    code = "not_confirmed"
    message = "El pago todavía no está confirmado."


class StripePublicKeyOutput(serializers.Serializer[dict[str, Any]]):
    publishableKey = serializers.CharField()
    scriptUrl = serializers.CharField()


class StripePublicKey(PublicAPIView):
    @extend_schema(
        summary="La clave pública de Stripe y su script", responses=StripePublicKeyOutput
    )
    def get(self, request: Request) -> Response:
        return Response(
            {
                "publishableKey": settings.STRIPE_PUBLISHABLE_KEY,
                "scriptUrl": settings.STRIPE_SCRIPT_URL,
            }
        )


class ProcessCheckout(PublicAPIView):
    errors = (
        InstalmentsUnavailable,
        OrderNotFound,
        PriceChanged,
        Unavailable,
        AlreadyBought,
        PromoRefused,
        AlreadyPaid,
        GiftChanged,
        OrderAwaitsApproval,
        OrderIsPersonal,
        PaymentInProgress,
        TransferUnavailable,
        *STRIPE_ERRORS,
        PaymentsPaused,
    )
    links = {
        "recover": {
            "operationId": "orders_recover_retrieve",
            "parameters": {
                "order": "$response.body#/order_id",
                "token": "$response.body#/token",
            },
        },
        "complete": {
            "operationId": "complete_payment_create",
            "requestBody": {"payment_intent_id": "$response.body#/payment_intent_id"},
        },
        "order": {
            "operationId": "orders_by_payment_retrieve",
            "parameters": {"payment_intent_id": "$response.body#/payment_intent_id"},
        },
    }
    limits = (
        BuyersLimit("checkout", times=60, seconds=3600),
        Limit("checkout-day", times=1_200, seconds=86_400),
    )

    @extend_schema(
        summary="Crea o retoma un pedido y su pago",
        request=CheckoutInput,
        description="Con los errores de Stripe (502 y 503) vienen `order_id` y `token`: el pedido "
        "se conserva, y el siguiente intento lo retoma.",
        responses=CheckoutOutput,
    )
    def post(self, request: Request) -> Response:
        form = CheckoutInput(data=request.data)
        form.is_valid(raise_exception=True)
        student = current_student(request)
        checkout = form.to_checkout(
            signed_in_as=student.pk if student else None,
            buyer_is_known=is_known_buyer(request, form.validated_data["email"]),
        )
        wants_reminders = Consent.Kind.REMINDERS in checkout.accepted
        if wants_reminders and not (checkout.buyer_is_known or _may_remind(request)):
            checkout = replace(checkout, accepted=checkout.accepted - {Consent.Kind.REMINDERS})
        # An order that costs nothing is confirmed by mail at once, and its access is mailed.
        is_free = checkout.expected_total_cents < CARD_MINIMUM_CENTS
        # A buyer whose address is known to be theirs writes to their own mailbox, but for a gift.
        mails_stranger = (is_free and _may_be_gift(checkout)) or (
            not checkout.buyer_is_known
            and (checkout.save_for_later or checkout.by_transfer or is_free)
        )
        uses = [(FORM_MAILS_OF_NETWORK, widest_network(request))] if mails_stranger else []
        if is_free and not checkout.save_for_later:
            # Strangers who type the address use up none of its owner's.
            who = "owner" if checkout.buyer_is_known else "stranger"
            uses.append((FREE_ORDERS, f"{who} {email_identity(checkout.email)}"))
            if recipient := _recipient(checkout):
                uses.append((FREE_ORDERS, f"recipient {email_identity(recipient)}"))
        with counted_once_done(*uses):
            started = start(checkout, networks=client_networks(request))
        return Response(started.as_json, headers=NO_STORE)


def _may_be_gift(checkout: Checkout) -> bool:
    """Whether the checkout is of a gift, or continues an order that may be one."""
    continues = checkout.order_id is not None or Order.objects.with_key(checkout.order_key).exists()
    return checkout.gift is not None or (checkout.keeps_gift and continues)


def _recipient(checkout: Checkout) -> str:
    """The address to which the checkout's gift goes, or an empty text."""
    if checkout.gift is not None or not checkout.keeps_gift:
        return checkout.gift.email if checkout.gift is not None else ""
    # Without the order's token the answer must not tell whose gift it is.
    with suppress(OrderNotFound, AlreadyPaid):
        if (named := credentials(checkout)) is not None:
            order = open_order(order_id=named[0], token=named[1])
            stored = Gift.objects.filter(order=order).first()
            return stored.recipient_email if stored is not None else ""
    return ""


def _may_remind(request: Request) -> bool:
    """Count a stranger's checkout; whether its network may cause another cart with reminders."""
    try:
        for limit in REMINDERS_OF_NETWORK:
            limit.count_key(widest_network(request))
    except TooManyRequests:
        return False
    return True


class CompletePaymentInput(serializers.Serializer[dict[str, Any]]):
    payment_intent_id = ProviderIdField(
        required=False, default="", help_text="Es obligatorio si falta `session_id`."
    )
    session_id = ProviderIdField(required=False, default="")
    resend_email = serializers.BooleanField(required=False, default=False)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if not data["payment_intent_id"] and not data["session_id"]:
            raise serializers.ValidationError({"payment_intent_id": ["Este campo es obligatorio."]})
        return data


class CompletePaymentOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()
    status = serializers.CharField()
    account_status = serializers.CharField()
    seconds_left = serializers.IntegerField(required=False)
    attempts_left = serializers.IntegerField(required=False)


class CompletePayment(PublicAPIView):
    errors = (PaymentNotFound, NotConfirmed, AccessNotReady, *STRIPE_ERRORS)
    limits = (BuyersLimit("complete", times=120, seconds=3600),)

    @extend_schema(
        summary="Completa un pago confirmado; repetirlo no cambia nada",
        request=CompletePaymentInput,
        responses=CompletePaymentOutput,
    )
    def post(self, request: Request) -> Response:
        form = CompletePaymentInput(data=request.data)
        form.is_valid(raise_exception=True)
        data = form.validated_data
        order, processing = _settle(_named_payment(data))
        answer: dict[str, object] = {
            "success": True,
            "status": "processing" if processing else _public_status(order),
            "account_status": account_status(order.pk),
        }
        if data["resend_email"]:
            if processing:
                raise NotConfirmed
            check_gift_is_delivered(order.pk)
            sent = resend_access_mail(order_id=order.pk)
            answer |= {"seconds_left": sent.seconds_left, "attempts_left": sent.attempts_left}
        return Response(answer, headers=NO_STORE)


def _named_payment(data: dict[str, Any]) -> HasPaymentIds:
    """The payment that the browser names by either field.

    Returns the shop's row if there is one, because a browser may mix the two fields up.
    """
    provider_id = data["payment_intent_id"] or data["session_id"]
    row = Payment.objects.named(provider_id).first()
    if row is not None:
        return row
    if data["payment_intent_id"]:
        return PaymentIds(provider_id)
    return PaymentIds.of_session(provider_id)


def _settle(ids: HasPaymentIds) -> tuple[Order, bool]:
    """The order of a payment or Checkout Session, and whether the bank is still confirming it.

    Records the payment if it has succeeded and no webhook event has reported it yet. Raises
    PaymentNotFound for a payment that is not this shop's, NotConfirmed if it has not succeeded, and
    ProviderError if Stripe can't be reached.
    """
    if isinstance(ids, Payment) and ids.status == Payment.Status.SUCCEEDED and ids.order:
        return ids.order, False
    payment = retrieve_payment(ids)
    order = report(payment, actor="comprador")
    if order is None:
        raise PaymentNotFound
    if payment.status == "processing":
        return order, True
    if payment.status != "succeeded":
        raise NotConfirmed(**_refused_elsewhere(payment))
    return order, False


def _refused_elsewhere(payment: ProviderPayment) -> dict[str, Any]:
    """Of a payment that Bizum or PayPal refused, its method and whether it expired.

    The buyer is back from another site, and is told why.
    """
    if payment.refused_method not in OPTIONAL_METHODS:
        return {}
    expired = payment.refusal_code in EXPIRED
    return {"method": payment.refused_method, "reason": "expired" if expired else "declined"}


def _public_status(order: Order) -> str:
    """The API's status of a paid order: `paying` while instalments remain, else `paid`.

    Raises NotConfirmed if the payment did not fit the order and was flagged.
    """
    if order.status in (Order.Status.CART, Order.Status.EXPIRED):
        raise NotConfirmed("Hemos recibido tu pago y lo estamos revisando. Te escribiremos pronto.")
    return "paying" if order.status in (Order.Status.PAYING, Order.Status.OVERDUE) else "paid"


class CreateAuthUserInput(serializers.Serializer[dict[str, Any]]):
    order_id = serializers.IntegerField(**ID)
    payment_intent_id = ProviderIdField(required=False, default="")
    session_id = ProviderIdField(required=False, default="")
    student_id = serializers.IntegerField(**ID, required=False)
    email = EmailField(required=False)
    first_name = serializers.CharField(max_length=80, required=False, allow_blank=True)
    last_name = serializers.CharField(max_length=120, required=False, allow_blank=True)


class CreateAuthUserOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()
    account_status = serializers.CharField()


class CreateAuthUser(PublicAPIView):
    errors = (Forbidden,)
    limits = (BuyersLimit("auth-user", times=60, seconds=3600),)

    @extend_schema(
        summary="Pide el acceso al aula de un pedido pagado; solo actúa una vez",
        request=CreateAuthUserInput,
        responses=CreateAuthUserOutput,
    )
    def post(self, request: Request) -> Response:
        form = CreateAuthUserInput(data=request.data)
        form.is_valid(raise_exception=True)
        order = _paid_order(form.validated_data)
        with transaction.atomic():
            open_access(order)
        return Response({"success": True, "account_status": account_status(order.pk)})


def _paid_order(data: dict[str, Any]) -> Order:
    """The paid order that all given references match. Raises Forbidden if one does not match."""
    order = Order.objects.select_related("student").filter(pk=data["order_id"]).first()
    payment, session = data["payment_intent_id"], data["session_id"]
    known = Q(reference=payment) if payment else Q(session=session) & ~Q(session="")
    matches = (
        order is not None
        and order.status in EVER_PAID
        and order.payments.filter(known, status=Payment.Status.SUCCEEDED).exists()
        and data.get("student_id", order.student_id) == order.student_id
        and data.get("email", order.email).lower() == order.email.lower()
        and data.get("first_name", order.first_name) == order.first_name
        and data.get("last_name", order.last_name) == order.last_name
    )
    if order is None or not matches:
        raise Forbidden("Los datos no coinciden con un pedido pagado.")
    return order


class StoredOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()


class StripeWebhook(PublicAPIView):
    errors = (BadSignature,)
    # Stripe's signature authenticates the request, so no cross-site check is needed.
    own_site_only = False
    # A refused event would be lost, so the largest body is far above any event of Stripe's.
    largest_body = 1024 * 1024

    @extend_schema(
        summary="Los eventos firmados de Stripe",
        request=OpenApiTypes.OBJECT,
        responses=StoredOutput,
        parameters=[OpenApiParameter("Stripe-Signature", str, OpenApiParameter.HEADER)],
    )
    def post(self, request: Request) -> Response:
        try:
            event = read_event(request.body, request.META.get("HTTP_STRIPE_SIGNATURE", ""))
        except BadSignature as refused:
            logger.warning("an event for the webhook was refused: %s", refused.reason)
            count_refused_event(refused.reason)
            raise
        receive(event)
        return Response({"success": True})
