from django.apps import AppConfig


class InvoicesConfig(AppConfig):
    name = "apps.invoices"
    verbose_name = "Facturas"

    def ready(self) -> None:
        from apps.invoices import mails, receivers

        mails.register()
        receivers.connect()
