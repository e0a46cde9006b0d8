from django.apps import AppConfig


class PricingConfig(AppConfig):
    name = "apps.pricing"
    verbose_name = "Precios y códigos"
