"""The API by which a buyer asks for the invoice of a paid order (docs/rules.md, "Invoices")."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.web.api import PublicAPIView
from apps.core.web.response_headers import PRIVATE
from apps.core.web.throttle import Limit
from apps.invoices.billing import (
    LENGTHS,
    AlreadyInvoiced,
    InvoiceByLink,
    InvoicesNotFound,
    NothingToInvoice,
    clean_details,
    give_details,
    order_of_link,
    order_of_payment,
)
from apps.invoices.tax_ids import COUNTRIES
from apps.orders.models import Order
from apps.orders.serializers import ID, ProviderIdField

LATIN = "Con letras latinas."


def _text(name: str, help_text: str = LATIN) -> serializers.CharField:
    return serializers.CharField(
        max_length=LENGTHS[name],
        help_text=help_text,
        error_messages={
            "required": "Este campo es obligatorio.",
            "null": "Este campo es obligatorio.",
            "blank": "Este campo es obligatorio.",
        },
    )


class InvoiceDetailsInput(serializers.Serializer[dict[str, Any]]):
    """The order, by its personal link or by its payment, and the buyer's details."""

    order = serializers.IntegerField(
        required=False, help_text="Con `token`, el pedido del enlace personal.", **ID
    )
    token = serializers.CharField(
        required=False,
        default="",
        max_length=80,
        help_text="Obligatorio si faltan `payment_intent_id` y `session_id`.",
    )
    payment_intent_id = ProviderIdField(required=False, default="")
    session_id = ProviderIdField(required=False, default="")
    name = _text("name")
    tax_id = _text("tax_id", "NIF o NIE con su letra, o número de IVA con las letras del país.")
    address = _text("address")
    postal_code = _text("postal_code", "En España, cinco cifras.")
    city = _text("city")
    country = serializers.ChoiceField(
        choices=tuple(COUNTRIES.items()), required=False, default="ES"
    )

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if not (data["token"] or data["payment_intent_id"] or data["session_id"]):
            raise serializers.ValidationError({"token": ["Este campo es obligatorio."]})
        return data

    def paid_order(self) -> Order:
        """The order that the request names. Raises InvoicesNotFound and InvoiceByLink."""
        data = self.validated_data
        reference = data["payment_intent_id"] or data["session_id"]
        if reference:
            return order_of_payment(reference)
        return order_of_link(str(data.get("order", "")), data["token"])


class InvoiceDetailsOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField()


class InvoiceDetails(PublicAPIView):
    errors = (InvoicesNotFound, InvoiceByLink, AlreadyInvoiced, NothingToInvoice)
    limits = (Limit("invoice-details", times=20, seconds=600),)

    @extend_schema(
        summary="Pide la factura de un pedido pagado",
        description="La factura se emite enseguida y llega por correo.",
        request=InvoiceDetailsInput,
        responses=InvoiceDetailsOutput,
    )
    def post(self, request: Request) -> Response:
        form = InvoiceDetailsInput(data=request.data)
        form.is_valid(raise_exception=True)
        details = clean_details(form.validated_data)
        give_details(form.paid_order(), details)
        return Response({"success": True}, headers=PRIVATE)
