from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core.web.api import PublicAPIView
from apps.pricing.reads import current_pricing


class InstallmentsOutput(serializers.Serializer[dict[str, object]]):
    count = serializers.IntegerField()
    every_days = serializers.IntegerField()
    minimum_total = serializers.FloatField()


class CampaignOutput(serializers.Serializer[dict[str, object]]):
    name = serializers.CharField()
    percent = serializers.IntegerField()
    calculator = serializers.BooleanField()
    cart = serializers.BooleanField()
    prices_include_it = serializers.BooleanField()
    ends_on = serializers.DateField()


class DegreeCampaignOutput(CampaignOutput):
    degree_ids = serializers.ListField(child=serializers.IntegerField())


class PricingOutput(serializers.Serializer[dict[str, object]]):
    currency = serializers.CharField()
    unit_base_price = serializers.FloatField()
    volume = serializers.ListField(child=serializers.ListField(child=serializers.FloatField()))
    full_payment_percent = serializers.IntegerField()
    invited_amount = serializers.FloatField()
    invitee_amount = serializers.FloatField()
    invitee_max = serializers.IntegerField()
    installments = InstallmentsOutput()
    campaign = CampaignOutput(allow_null=True)
    degree_campaigns = DegreeCampaignOutput(many=True, required=False)


class Pricing(PublicAPIView):
    @extend_schema(summary="Constantes de precio y campaña de hoy", responses=PricingOutput)
    def get(self, request: Request) -> Response:
        return Response(current_pricing())
