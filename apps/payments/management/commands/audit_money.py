import sys
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.payments.audit import audit
from apps.payments.audit.charges_without_order import RECORDING_TIME


class Command(BaseCommand):
    help = (
        "Compara pedidos, líneas, descuentos, plazos, códigos, pagos, devoluciones y recompensas "
        "entre sí y con Stripe, sin cambiar nada. Escribe cada diferencia; termina con 1 si hay "
        "alguna, y con 2 si no la hay pero Stripe no ha contestado."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--since", metavar="AAAA-MM-DD", help="solo los pedidos cambiados desde ese día"
        )
        parser.add_argument("--offline", action="store_true", help="sin preguntar a Stripe")
        parser.add_argument(
            "--after-restore",
            action="store_true",
            help="también los cobros de los últimos 10 minutos, con todos los procesos parados",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        result = audit(
            since=_day(options["since"]),
            offline=options["offline"],
            recording_time=timedelta(0) if options["after_restore"] else RECORDING_TIME,
        )
        for sentence in result.differences:
            self.stdout.write(sentence)
        self.stdout.write(result.summary())
        if result.differences:
            sys.exit(1)
        if result.unanswered:
            sys.exit(2)


def _day(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        return timezone.make_aware(datetime.strptime(text, "%Y-%m-%d"))
    except ValueError as error:
        raise CommandError("--since quiere un día, como 2026-11-21.") from error
