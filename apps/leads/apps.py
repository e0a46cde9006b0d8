from django.apps import AppConfig


class LeadsConfig(AppConfig):
    name = "apps.leads"
    verbose_name = "Formularios y presupuestos"

    def ready(self) -> None:
        from apps.leads import mails, receivers
        from apps.leads.offers import QuoteBook
        from apps.orders.offers import keep_offers_in

        mails.register()
        receivers.connect()
        keep_offers_in(QuoteBook())
