from django.apps import AppConfig


class PricingConfig(AppConfig):
    name = "apps.pricing"
    verbose_name = "Precios y códigos"

    def ready(self) -> None:
        from apps.pricing import checks  # noqa: F401  (registers them)
