from django.apps import AppConfig


class OrdersConfig(AppConfig):
    name = "apps.orders"
    verbose_name = "Pedidos"

    def ready(self) -> None:
        from apps.classroom.access import Cause, register_notice
        from apps.orders import mails, receivers  # noqa: F401  (receivers connect themselves)
        from apps.orders.by_staff import mails as staff_order_mails
        from apps.orders.gifts import mails as gift_mails
        from apps.orders.offer.offer import price_in_instalments
        from apps.orders.plan import mails as instalment_mails
        from apps.orders.plan.plan_link import overdue_pause_notice
        from apps.orders.refunds import mails as refund_mails
        from apps.pricing.campaign_preview import price_carts_with

        mails.register()
        gift_mails.register()
        instalment_mails.register()
        refund_mails.register()
        staff_order_mails.register()
        price_carts_with(price_in_instalments)
        register_notice(Cause.OVERDUE, overdue_pause_notice)
