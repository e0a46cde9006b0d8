from django.apps import AppConfig
from django.db.models.signals import post_delete


class LeadsConfig(AppConfig):
    name = "apps.leads"
    verbose_name = "Formularios y presupuestos"

    def ready(self) -> None:
        from apps.leads import mails
        from apps.leads.attachments import remove_file_after_commit
        from apps.leads.models import Attachment
        from apps.leads.quote_lookup import find_quote
        from apps.leads.withdrawal import mails as withdrawal_mails
        from apps.leads.withdrawal import receivers as withdrawal_receivers
        from apps.leads.withdrawal.open_withdrawals import withdrawals_of
        from apps.orders.offer.binding_quotes import look_up_quotes_with
        from apps.orders.refunds.open_cases import look_up_cases_with

        mails.register()
        withdrawal_mails.register()
        withdrawal_receivers.connect()
        look_up_quotes_with(find_quote)
        look_up_cases_with(withdrawals_of)
        post_delete.connect(remove_file_after_commit, sender=Attachment)
