from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    name = "apps.payments"
    verbose_name = "Pagos con tarjeta"

    def ready(self) -> None:
        from apps.payments import (
            checks,  # noqa: F401  (registers them)
            mails,
        )

        mails.register()
