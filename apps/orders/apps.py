from django.apps import AppConfig


class OrdersConfig(AppConfig):
    name = "apps.orders"
    verbose_name = "Pedidos"

    def ready(self) -> None:
        from apps.classroom.access import Cause, register_notice
        from apps.orders import instalment_mails, mails, refund_mails
        from apps.orders.instalments import tell_overdue

        mails.register()
        instalment_mails.register()
        refund_mails.register()
        register_notice(Cause.OVERDUE, tell_overdue)
