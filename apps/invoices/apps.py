from django.apps import AppConfig


class InvoicesConfig(AppConfig):
    name = "apps.invoices"
    verbose_name = "Facturas"

    def ready(self) -> None:
        from apps.invoices import (
            checks,  # noqa: F401  (registers them)
            mails,
            receivers,
        )

        mails.register()
        receivers.connect()
