from contextlib import suppress
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.classroom.provisioning import account_status
from apps.core.errors import Invalid
from apps.core.money import as_json, to_cents
from apps.core.web.api import PublicAPIView
from apps.core.web.response_headers import NO_STORE, PRIVATE
from apps.core.web.throttle import Limit, widest_network
from apps.orders.checkout.existing_order import open_order
from apps.orders.checkout.recover import (
    contact_was_typed_later,
    is_of_plan,
    may_be_known_to_others,
    note_link_opened,
    recover,
)
from apps.orders.email_correction import CorrectionClosed, ask_for_correction
from apps.orders.errors import AlreadyPaid, CartChanged, OrderNotFound, Unavailable
from apps.orders.ledger.balance import balance_of
from apps.orders.ledger.lines import lines_left
from apps.orders.ledger.payments import amount_paid_cents
from apps.orders.models import Gift, Order, Payment
from apps.orders.models.statuses import ACTIVE, EventKind
from apps.orders.offer.bought_before import names_bought_twice
from apps.orders.offer.lesson_credit import paid_for_lessons
from apps.orders.offer.offer import Asked, offer_for
from apps.orders.promo import uses as promo_uses
from apps.orders.recovery_link import has_another_address
from apps.orders.serializers import (
    CorrectEmailInput,
    CorrectEmailOutput,
    LessonCreditOutput,
    PaidOrderOutput,
    PromoInput,
    PromoOutput,
    RecoverOutput,
    RecoverWishes,
    to_items,
)
from apps.pricing.models import PromoCode
from apps.pricing.promo_checks import PromoRefused
from apps.pricing.reads import current_terms
from apps.pricing.rules import promo_discount_cents
from apps.students.session import current_student, is_known_buyer

PROMO_TRIES = Limit("promo", times=20, seconds=600)
# For each student: what they paid for each lesson is read anew.
CREDITS = Limit("lesson-credit", times=300, seconds=600)
# A cart of 200 lines takes 40 ms: its total is computed for both payment types.
RECOVERIES = Limit("recover", times=300, seconds=600)
# Of one order and network: many buyers share an address, and others may know a payment's id.
PAID_ORDERS = Limit("by-payment", times=100, seconds=600)


class ValidatePromoCode(PublicAPIView):
    errors = (Unavailable,)
    limits = (PROMO_TRIES,)

    @extend_schema(
        summary="Comprueba un código promocional", request=PromoInput, responses=PromoOutput
    )
    def post(self, request: Request) -> Response:
        form = PromoInput(data=request.data)
        form.is_valid(raise_exception=True)
        data = form.validated_data
        code = data["code"].strip().upper()
        try:
            promo, discount_cents = _priced_promo(
                code, data, buyer_is_known=is_known_buyer(request, data["email"] or "")
            )
        except PromoRefused as refusal:
            return Response(_promo_answer(code, error=refusal.message))
        return Response(_promo_answer(code, promo=promo, discount_cents=discount_cents))


def _priced_promo(
    code: str, data: dict[str, Any], *, buyer_is_known: bool
) -> tuple[PromoCode, int]:
    """The code and its discount in cents. Raises PromoRefused.

    The server prices the items of the request. If it has none, `cart_total` is the amount in euros
    that remains after the other discounts.
    """
    email, order = data["email"] or "", _order_of(data)
    standing = promo_uses.standing(
        promo_uses.find(code),
        email=email,
        order=order,
        check_purchases=buyer_is_known,
        buyer_is_known=buyer_is_known,
    )
    total_cents = to_cents(data["cart_total"])
    asked = Asked(
        items=to_items(data.get("cart_items") or []),
        payment_type=data["payment_type"],
        code=code,
        order=order,
        standing=standing,
        subtotal_cents=total_cents,
    )
    offer = offer_for(asked)
    if refusal := offer.refusal(Unavailable, PromoRefused):
        raise refusal
    promo = standing.promo
    if not asked.items:
        return promo, promo_discount_cents(promo.terms(), total_cents)
    return promo, offer.price.promo_cents


def _order_of(data: dict[str, Any]) -> Order | None:
    """The buyer's open order; None if id and token do not match an open order."""
    if data["recovery_order_id"] is None:
        return None
    with suppress(OrderNotFound, AlreadyPaid):
        return open_order(order_id=data["recovery_order_id"], token=data["token"] or "")
    return None


def _promo_answer(
    code: str, *, promo: PromoCode | None = None, discount_cents: int = 0, error: str | None = None
) -> dict[str, object]:
    return {
        "is_valid": promo is not None,
        "discount_amount": as_json(discount_cents),
        "discount_type": promo.kind if promo else None,
        "valor_descuento": as_json(to_cents(promo.value)) if promo else 0,
        "code": code,
        "is_referral_code": promo.is_referral_code if promo else False,
        "error_message": error,
        **_maximum(promo),
    }


def _maximum(promo: PromoCode | None) -> dict[str, object]:
    """What a percentage takes off at most, if it has a maximum."""
    if promo is None or promo.maximum_discount is None:
        return {}
    return {"maximum_discount": as_json(to_cents(promo.maximum_discount))}


class LessonCredit(PublicAPIView):
    @extend_schema(
        summary="Lo que quien ha iniciado sesión ya pagó por lecciones de cada asignatura",
        description="Se descuenta al comprar la asignatura entera, si la academia lo ofrece.",
        responses=LessonCreditOutput,
    )
    def get(self, request: Request) -> Response:
        student = current_student(request)
        offered = student is not None and current_terms().lesson_credit
        paid = {}
        if student is not None and offered:
            CREDITS.count_key(str(student.pk))
            paid = paid_for_lessons(student.pk)
        rows = [{"subject_id": pk, "amount": as_json(cents)} for pk, cents in paid.items()]
        return Response({"credits": rows}, headers=NO_STORE)


class RecoverOrder(PublicAPIView):
    errors = (OrderNotFound, AlreadyPaid, CartChanged)

    @extend_schema(
        summary="Un pedido sin pagar, por su enlace de recuperación",
        parameters=[
            OpenApiParameter("order", int, required=True, description="El número del pedido."),
            OpenApiParameter("token", str, required=True),
            OpenApiParameter("correo", str, description="Lo que lleva un enlace enviado."),
            RecoverWishes,
        ],
        description="El enlace lleva el número del pedido y su clave. Los demás parámetros dicen "
        "qué cambiaría el comprador: la respuesta tiene los precios con esos cambios, y no se "
        "guarda nada.",
        responses=RecoverOutput,
    )
    def get(self, request: Request) -> Response:
        order, token = request.query_params.get("order"), request.query_params.get("token")
        if not order or not token:
            raise Invalid("Enlace de recuperación inválido")
        # Only ASCII digits: int() would also accept " 7 ", "7_0" and digits of other scripts.
        if not (order.isascii() and order.isdigit()) or len(order) > 18:
            raise Invalid("ID de orden inválido")
        RECOVERIES.count(request)
        form = RecoverWishes(data=request.query_params)
        form.is_valid(raise_exception=True)
        wishes = form.wishes()
        # Guessing codes here is counted like guessing them in the dialog. It is counted before the
        # code is checked: above the limit, a right code must not be told from a wrong one.
        if wishes.promo_code:
            PROMO_TRIES.count(request)
        mailed_to = request.query_params.get("correo", "")

        def is_for_buyer(found: Order) -> bool:
            if mailed_to or not contact_was_typed_later(found):
                return True
            student = current_student(request)
            return student is not None and student.pk == found.student_id

        recovered = recover(
            order_id=int(order), token=token, wishes=wishes, is_for_buyer=is_for_buyer
        )
        if has_another_address(recovered.order, mailed_to):
            raise CartChanged
        if wishes.promo_code and recovered.now.typed_code is not None:
            PROMO_TRIES.take_back_request(request)
        note_link_opened(recovered.order)
        return Response(recovered.as_json)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Send the private headers with errors too: the address contains the token."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        for name, value in PRIVATE.items():
            answer[name] = value
        return answer


class CorrectEmail(PublicAPIView):
    errors = (OrderNotFound, CorrectionClosed)
    limits = (Limit("correct-email", times=10, seconds=3600),)

    @extend_schema(
        summary="Corrige el correo de un pedido recién pagado, tras confirmarlo por correo",
        request=CorrectEmailInput,
        responses=CorrectEmailOutput,
    )
    def post(self, request: Request) -> Response:
        form = CorrectEmailInput(data=request.data)
        form.is_valid(raise_exception=True)
        ask_for_correction(**form.validated_data, network=widest_network(request))
        email = mask_email(form.validated_data["email"])
        return Response({"success": True, "email": email}, headers=PRIVATE)


class OrderByPayment(PublicAPIView):
    errors = (OrderNotFound,)

    @extend_schema(
        summary="El pedido de un pago, para la página de éxito",
        description="Hace falta `session_id` o `payment_intent_id`.",
        parameters=[
            OpenApiParameter("session_id", str),
            OpenApiParameter("payment_intent_id", str),
        ],
        responses=PaidOrderOutput,
    )
    def get(self, request: Request) -> Response:
        session = request.query_params.get("session_id", "")
        payment = request.query_params.get("payment_intent_id", "")
        if not session and not payment:
            raise Invalid("Falta session_id o payment_intent_id.")
        order = order_by_payment(session=session, payment=payment)
        PAID_ORDERS.count_key(f"{order.pk} {widest_network(request)}")
        # Whoever prepared the cart knows the payment's id, too.
        is_buyers_alone = not (
            may_be_known_to_others(order) or is_of_plan(order, session or payment)
        )
        return Response(
            {
                "id": order.pk,
                "reference": f"ORD-{(session or payment)[-8:]}",
                "status": order.status if is_buyers_alone else _status_at_payment(order),
                "created_at": timezone.localtime(order.created_at),
                "total_amount": as_json(order.total_cents),
                "amount_paid": as_json(amount_paid_cents(order)),
                "items_count": order.lines.count(),
                "account_status": account_status(order.pk),
                "student": {
                    "first_name": order.first_name if is_buyers_alone else "",
                    "email": _address_at_payment(order, is_buyers_alone, order.email),
                },
                **_gift_answer(order, is_buyers_alone),
                **(_refund_answer(order) if is_buyers_alone else {}),
                **(_bought_twice_answer(order) if is_buyers_alone else {}),
            },
            headers=PRIVATE,
        )


def _status_at_payment(order: Order) -> str:
    """The order's status without what has become of it since its payment."""
    later = (Order.Status.OVERDUE, Order.Status.PARTIALLY_REFUNDED, Order.Status.REFUNDED)
    return Order.Status.PAID if order.status in later else order.status


def _address_at_payment(order: Order, is_buyers_alone: bool, email: str) -> str:
    """A masked address; nothing of one that was changed since, unless only the buyer asks."""
    changed = order.events.filter(kind__in=(EventKind.EMAIL_CHANGED, EventKind.GIFT_CHANGED))
    return mask_email(email) if is_buyers_alone or not changed.exists() else "•••"


def _gift_answer(order: Order, is_buyers_alone: bool) -> dict[str, object]:
    """The field `gift` of an order that is one."""
    gift = Gift.objects.filter(order=order).first()
    if gift is None:
        return {}
    address = gift.address_for_buyer
    email = _address_at_payment(order, is_buyers_alone, address) if address else "•••"
    return {"gift": {"email": email, "deliver_on": gift.deliver_on, "status": gift.status}}


def _refund_answer(order: Order) -> dict[str, object]:
    """The field `refund` of an order whose money was returned, in whole or in part.

    `access` says what is left of the access that this order gave: "kept", "partly" or "ended".
    """
    if order.status not in (Order.Status.PARTIALLY_REFUNDED, Order.Status.REFUNDED):
        return {}
    lines = order.lines.count()
    # The refund of everything withdraws all access, whichever lines it names.
    left = 0 if order.status == Order.Status.REFUNDED else lines_left(order).count()
    access = "ended" if left == 0 else "kept" if left == lines else "partly"
    return {"refund": {"amount": as_json(balance_of(order).returned), "access": access}}


def _bought_twice_answer(order: Order) -> dict[str, object]:
    """The field `bought_twice` of a paid order that gave its student something not new.

    A free order answers nothing: a stranger could place it to learn what an address has bought.
    """
    was_told = order.events.filter(kind=EventKind.BOUGHT_TWICE).exists()
    if not was_told or order.status not in ACTIVE or amount_paid_cents(order) == 0:
        return {}
    names = names_bought_twice(order)
    return {"bought_twice": names} if names else {}


def order_by_payment(*, session: str = "", payment: str = "") -> Order:
    """The order of a payment or a Checkout Session. Raises OrderNotFound."""
    if "\x00" in session + payment:
        raise OrderNotFound
    payments = Payment.objects.named(session or payment)
    order = Order.objects.prefetch_related("payments").filter(payments__in=payments).first()
    if order is None:
        raise OrderNotFound("Orden no encontrada. Verifica el enlace de pago.")
    return order


def mask_email(email: str) -> str:
    """ "a•••@example.com": the owner recognises the address, and nobody else learns it."""
    local, _, domain = email.partition("@")
    return f"{local[:1]}•••@{domain}"
