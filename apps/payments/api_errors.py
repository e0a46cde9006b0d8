"""How the API's document describes an error that Stripe causes (docs/rules.md, "Card payments")."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers


class ProviderBusyOutput(serializers.Serializer[dict[str, Any]]):
    success = serializers.BooleanField(default=False)
    error = serializers.CharField()
    code = serializers.ChoiceField(choices=("provider_busy",))
    fields = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))  # type: ignore[assignment]


class CheckoutBusyOutput(ProviderBusyOutput):
    # The browser's next attempt continues with this order.
    order_id = serializers.IntegerField(required=False)
    token = serializers.CharField(required=False)


BUSY = OpenApiResponse(ProviderBusyOutput, description="Stripe no responde; no se ha cobrado nada.")
CHECKOUT_BUSY = OpenApiResponse(
    CheckoutBusyOutput, description="Stripe no responde; el pedido se conserva."
)
RETRY_AFTER = OpenApiParameter(
    "Retry-After",
    int,
    OpenApiParameter.HEADER,
    response=[503],
    description="Segundos tras los que volver a intentarlo.",
)
