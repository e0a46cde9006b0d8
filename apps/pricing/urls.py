from django.urls import path

from apps.pricing import api

urlpatterns = [path("pricing", api.Pricing.as_view(), name="api-pricing")]
