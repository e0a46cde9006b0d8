from django.apps import AppConfig


class PricingConfig(AppConfig):
    name = "apps.pricing"
    verbose_name = "Precios y códigos"

    def ready(self) -> None:
        from apps.core.page_cache.triggers import shown_publicly
        from apps.pricing.models import Campaign

        shown_publicly(Campaign)
