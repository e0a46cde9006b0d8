"""The API of `/plazos`: show a plan of instalments, pay it by hand, and change its card.

A signed link opens it without signing in (docs/rules.md, "Instalments").
"""

from contextlib import suppress
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.dates import today
from apps.core.errors import AcademyError
from apps.core.money import as_json
from apps.core.web.api import PublicAPIView
from apps.core.web.response_headers import PRIVATE
from apps.core.web.throttle import Limit, client_networks
from apps.orders.errors import AlreadyPaid, PaymentInProgress
from apps.orders.ledger.plan_end import plan_is_ending
from apps.orders.models import Instalment, Order, Payment
from apps.orders.models.statuses import INSTALMENT_SETTLED, PLAN_RUNNING, RefusalKind
from apps.orders.plan.by_hand import PlanChanged
from apps.orders.plan.plan_link import PlanNotFound, open_plan
from apps.orders.serializers import ID, ProviderIdField
from apps.payments.card_testing import PaymentsPaused
from apps.payments.crowds import BuyersLimit
from apps.payments.plan.change_card import name_card, record_card, start_card_change
from apps.payments.plan.pay_by_hand import start_by_hand
from apps.payments.stripe.client import STRIPE_ERRORS
from apps.payments.stripe.transport import stripe_time_limit

# If Stripe takes longer to answer, the plan is shown without the name of its card.
CARD_NAME_SECONDS = 2
# Stripe is asked for a name until it has told one, and has few places for questions.
CARD_NAMES = Limit("instalments-card-name", times=5, seconds=600)


class PlanRow(serializers.Serializer[dict[str, Any]]):
    number = serializers.IntegerField()
    amount = serializers.FloatField()
    due_on = serializers.DateField()
    charge_on = serializers.DateField(allow_null=True)
    paid_at = serializers.DateTimeField(allow_null=True)
    state = serializers.ChoiceField(choices=("paid", "due", "refused", "overdue", "canceled"))


class PlanOutput(serializers.Serializer[dict[str, Any]]):
    order_id = serializers.IntegerField()
    status = serializers.CharField()
    items = serializers.ListField(child=serializers.CharField())
    instalments = PlanRow(many=True)
    total_amount = serializers.FloatField()
    next_amount = serializers.FloatField()
    rest_amount = serializers.FloatField()
    card = serializers.CharField(allow_null=True)
    card_works = serializers.BooleanField(help_text="Si se cobra sola la tarjeta guardada.")
    card_pays = serializers.BooleanField(
        help_text="Si el alumno puede pagar con la tarjeta guardada y confirmarlo con su banco."
    )
    # Whether charges are paused because a payment of the order is disputed.
    paused = serializers.BooleanField()
    in_progress = serializers.BooleanField()


class LinkInput(serializers.Serializer[dict[str, Any]]):
    order = serializers.IntegerField(**ID)
    token = serializers.CharField(max_length=80)

    def plan(self) -> Order:
        """The order that the link opens. Raises PlanNotFound."""
        return open_plan(order_id=self.validated_data["order"], token=self.validated_data["token"])


class Plan(PublicAPIView):
    errors = (PlanNotFound,)

    @extend_schema(
        summary="Un plan de plazos, por su enlace personal",
        parameters=[OpenApiParameter("order", int), OpenApiParameter("token", str)],
        responses=PlanOutput,
    )
    def get(self, request: Request) -> Response:
        form = LinkInput(data=request.query_params)
        if not form.is_valid():
            raise PlanNotFound
        return Response(plan_as_json(form.plan()), headers=PRIVATE)


class PayInput(LinkInput):
    # The instalment that the page shows as the next. The server compares it with its own.
    number = serializers.IntegerField(min_value=1, max_value=99)
    what = serializers.ChoiceField(choices=("next", "all"))


class PayOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()
    client_secret = serializers.CharField()
    payment_intent_id = serializers.CharField()
    amount = serializers.FloatField()
    saved_card = serializers.CharField(
        allow_null=True, help_text="La tarjeta guardada, con la que el navegador puede confirmarlo."
    )


class PayPlan(PublicAPIView):
    errors = (
        PlanNotFound,
        PlanChanged,
        AlreadyPaid,
        PaymentInProgress,
        *STRIPE_ERRORS,
        PaymentsPaused,
    )
    limits = (BuyersLimit("instalments-pay", times=60, seconds=3600),)

    @extend_schema(
        summary="Prepara el pago del próximo plazo o de todos los que quedan",
        request=PayInput,
        responses=PayOutput,
    )
    def post(self, request: Request) -> Response:
        form = PayInput(data=request.data)
        form.is_valid(raise_exception=True)
        order = form.plan()
        PAYMENTS_BY_ORDER.count_key(str(order.pk))
        payment = start_by_hand(
            order_id=order.pk,
            first=form.validated_data["number"],
            everything=form.validated_data["what"] == "all",
            networks=client_networks(request),
        )
        return Response(
            {
                "success": True,
                "client_secret": payment.client_secret,
                "payment_intent_id": payment.reference,
                "amount": as_json(payment.amount_cents),
                "saved_card": order.card_reference if card_pays(order) else None,
            },
            headers=PRIVATE,
        )


# The job that charges the plan asks Stripe for all payments of its customer, and the numbers of
# attempts are small ones.
PAYMENTS_BY_ORDER = Limit("instalments-pay-order", times=60, seconds=86400)


class CardOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()
    client_secret = serializers.CharField()
    setup_intent_id = serializers.CharField()


class ChangeCard(PublicAPIView):
    errors = (PlanNotFound, AlreadyPaid, *STRIPE_ERRORS, PaymentsPaused)
    # Each card set-up can be used to test stolen cards.
    limits = (Limit("instalments-card", times=10, seconds=3600),)

    @extend_schema(
        summary="Prepara el cambio de la tarjeta de los plazos",
        request=LinkInput,
        responses=CardOutput,
    )
    def post(self, request: Request) -> Response:
        form = LinkInput(data=request.data)
        form.is_valid(raise_exception=True)
        order = form.plan()
        CARDS_BY_ORDER.count_key(str(order.pk))
        setup = start_card_change(order, networks=client_networks(request))
        return Response(
            {
                "success": True,
                "client_secret": setup.client_secret,
                "setup_intent_id": setup.reference,
            },
            headers=PRIVATE,
        )


# The same number as refused cards that lock an order (docs/rules.md, "Rate limits").
CARDS_BY_ORDER = Limit("instalments-card-order", times=8, seconds=3600)


class CardSavedInput(LinkInput):
    setup_intent_id = ProviderIdField()


class CardSavedOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()
    card = serializers.CharField(allow_null=True)


class CardSaved(PublicAPIView):
    errors = (PlanNotFound, AlreadyPaid, *STRIPE_ERRORS)
    limits = (Limit("instalments-card-saved", times=60, seconds=3600),)

    @extend_schema(
        summary="Confirma la nueva tarjeta; repetirlo no cambia nada",
        request=CardSavedInput,
        responses=CardSavedOutput,
    )
    def post(self, request: Request) -> Response:
        form = CardSavedInput(data=request.data)
        form.is_valid(raise_exception=True)
        order = form.plan()
        record_card(form.validated_data["setup_intent_id"], actor="alumno", order_id=order.pk)
        order.refresh_from_db()
        return Response({"success": True, "card": order.card_label or None}, headers=PRIVATE)


def card_works(order: Order) -> bool:
    """Whether instalments are charged to the saved card without the student."""
    return bool(order.card_reference) and not order.card_refusal


def card_pays(order: Order) -> bool:
    """Whether the student can pay with the saved card, and confirm that with the bank if need be.

    A bank that asks for authentication refuses only charges without the student.
    """
    return bool(order.card_reference) and order.card_refusal in {"", RefusalKind.AUTHENTICATION}


def plan_as_json(order: Order) -> dict[str, object]:
    """The plan as its page shows it. Without name and address: the link may be passed on."""
    rows = list(order.instalments.order_by("number"))
    unpaid = [row for row in rows if row.status not in INSTALMENT_SETTLED]
    is_ending = plan_is_ending(order)
    payable = order.status in PLAN_RUNNING and not is_ending
    paused = order.disputed_at is not None
    if payable and unpaid:
        # The card's name is optional: without an answer from Stripe the page leaves it out.
        with suppress(AcademyError), stripe_time_limit(CARD_NAME_SECONDS):
            if not order.card_label:
                CARD_NAMES.count_key(str(order.pk))
            name_card(order)
    return {
        "order_id": order.pk,
        "status": order.status,
        "items": [line.name for line in order.lines.all()],
        "instalments": [_row(row, paused=paused, is_ending=is_ending) for row in rows],
        "total_amount": as_json(sum(row.amount_cents for row in rows)),
        "next_amount": as_json(unpaid[0].amount_cents if payable and unpaid else 0),
        "rest_amount": as_json(sum(row.amount_cents for row in unpaid) if payable else 0),
        "card": order.card_label or None,
        "card_works": card_works(order),
        "card_pays": card_pays(order),
        "paused": paused,
        "in_progress": order.payments.filter(status=Payment.Status.PROCESSING).exists(),
    }


def _row(row: Instalment, *, paused: bool, is_ending: bool) -> dict[str, object]:
    return {
        "number": row.number,
        "amount": as_json(row.amount_cents),
        "due_on": row.due_on,
        "charge_on": None if paused or is_ending else row.charge_on,
        "paid_at": row.paid_at,
        "state": _state(row, is_ending=is_ending),
    }


def _state(row: Instalment, *, is_ending: bool) -> str:
    """The state that the page shows. A confirmed refund counts before Stripe has answered."""
    if row.status in INSTALMENT_SETTLED:
        return str(row.status)
    if is_ending:
        return "canceled"
    if row.status == Instalment.Status.FAILED:
        return "overdue"
    return "refused" if row.first_refused_on and row.due_on <= today() else "due"
