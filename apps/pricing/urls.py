from django.urls import path

from apps.core.page_cache.policy import public_answer
from apps.pricing import api

urlpatterns = [path("pricing", public_answer(api.Pricing.as_view()), name="api-pricing")]
