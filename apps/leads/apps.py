from django.apps import AppConfig


class LeadsConfig(AppConfig):
    name = "apps.leads"
    verbose_name = "Formularios y presupuestos"

    def ready(self) -> None:
        from apps.leads import mails, receivers

        mails.register()
        receivers.connect()
