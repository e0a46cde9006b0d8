from django.apps import AppConfig


class OrdersConfig(AppConfig):
    name = "apps.orders"
    verbose_name = "Pedidos"

    def ready(self) -> None:
        from apps.orders import mails

        mails.register()
