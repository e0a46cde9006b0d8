from typing import Any

from django.core.management.base import BaseCommand

from apps.payments.reconcile import reconcile


class Command(BaseCommand):
    help = (
        "Pregunta a Stripe por los pagos abiertos, trata los eventos pendientes, libera los "
        "códigos reservados hace más de 30 minutos y caduca los carritos viejos. "
        "Se puede repetir siempre."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        found = reconcile()
        self.stdout.write(
            f"Eventos tratados: {found.events}. Pagos aclarados: {found.payments}. "
            f"Reservas liberadas: {found.released}. Carritos caducados: {found.expired}."
        )
        if found.problems:
            self.stderr.write(
                f"{found.problems} consultas no han tenido respuesta; se repetirán la próxima vez."
            )
