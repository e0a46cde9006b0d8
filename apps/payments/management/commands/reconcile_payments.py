import time
from dataclasses import astuple
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import close_old_connections

from apps.payments.reconcile import reconcile


class Command(BaseCommand):
    help = (
        "Pregunta a Stripe por los pagos abiertos, trata los eventos pendientes, libera los "
        "códigos reservados hace más de 30 minutos y caduca los carritos viejos. "
        "Se puede repetir siempre."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--every",
            type=int,
            metavar="SEGUNDOS",
            help="Repetir cada tantos segundos, hasta que se detenga el proceso.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self._run(quiet=options["every"] is not None)
        while options["every"]:
            time.sleep(options["every"])
            # Between runs the connection may have been closed by the database.
            close_old_connections()
            self._run(quiet=True)

    def _run(self, *, quiet: bool = False) -> None:
        found = reconcile()
        if quiet and not any(astuple(found)):
            return
        self.stdout.write(
            f"Eventos tratados: {found.events}. Pagos aclarados: {found.payments}. "
            f"Reservas liberadas: {found.released}. Carritos caducados: {found.expired}."
        )
        if found.problems:
            self.stderr.write(
                f"{found.problems} consultas no han tenido respuesta; se repetirán la próxima vez."
            )
