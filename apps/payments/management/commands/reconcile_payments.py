from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.core.backup.numbers import skip_ids
from apps.core.models import Restore
from apps.orders.models import Order
from apps.payments.audit.charges_without_order import RECORDING_TIME
from apps.payments.events.reconcile import reconcile
from apps.payments.refunds.reconcile import reconcile_returns
from apps.payments.stripe.client import ProviderError
from apps.payments.stripe.intents import highest_order_id


class Command(BaseCommand):
    help = (
        "Pregunta a Stripe por los pagos abiertos, trata los eventos pendientes, libera los "
        "códigos reservados hace más de 30 minutos, caduca los carritos viejos y busca las "
        "devoluciones y disputas de las que no llegó aviso. "
        "Se puede repetir siempre; el reloj (`manage.py clock`) lo hace cada cinco minutos con "
        "los carritos del último día, y cada noche con todos."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--after-restore",
            action="store_true",
            help="tras restaurar una copia: los números de pedido siguen tras los que tiene "
            "Stripe, y se avisa también de los cobros sin pedido de los últimos 10 minutos",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        recording_time = RECORDING_TIME
        if options["after_restore"]:
            recording_time = timedelta(0)
            self._pass_over_order_numbers()
        summaries = (
            reconcile(recording_time=recording_time).summary(),
            reconcile_returns().summary(),
        )
        self.stdout.write(" ".join(filter(None, summaries)) or "Nada que aclarar.")

    def _pass_over_order_numbers(self) -> None:
        """Move the order numbers beyond those at Stripe. Raises CommandError without an answer."""
        restore = Restore.objects.order_by("pk").last()
        if restore is None:
            return
        try:
            highest = highest_order_id(restore.backup_made_at)
        except ProviderError as error:
            raise CommandError(
                "Stripe no ha contestado. Antes de arrancar la tienda, repite «manage.py "
                "reconcile_payments --after-restore»: busca ahí los números de pedido ya usados."
            ) from error
        self.stdout.write(f"El próximo pedido será el {skip_ids(Order, highest)}.")
