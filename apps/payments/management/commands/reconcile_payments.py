from typing import Any

from django.core.management.base import BaseCommand

from apps.payments.reconcile import reconcile


class Command(BaseCommand):
    help = (
        "Pregunta a Stripe por los pagos abiertos, trata los eventos pendientes, libera los "
        "códigos reservados hace más de 30 minutos y caduca los carritos viejos. "
        "Se puede repetir siempre; el reloj (`manage.py clock`) lo hace cada cinco minutos."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(reconcile().summary() or "Nada que aclarar.")
