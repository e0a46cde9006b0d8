from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from apps.payments.charges_without_order import RECORDING_TIME
from apps.payments.reconcile import reconcile
from apps.payments.reconcile_refunds import reconcile_returns


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
            help="avisa también de los cobros sin pedido de los últimos 10 minutos",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        recording_time = timedelta(0) if options["after_restore"] else RECORDING_TIME
        summaries = (
            reconcile(recording_time=recording_time).summary(),
            reconcile_returns().summary(),
        )
        self.stdout.write(" ".join(filter(None, summaries)) or "Nada que aclarar.")
