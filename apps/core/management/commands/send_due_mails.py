from typing import Any

from django.core.management.base import BaseCommand

from apps.core.mail.outbox import requeue_stuck_mails


class Command(BaseCommand):
    help = (
        "Vuelve a poner en la cola los correos pendientes cuya tarea se perdió, por ejemplo porque "
        "el trabajador se cayó a mitad. Se puede ejecutar cuantas veces se quiera."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Correos recuperados: {requeue_stuck_mails()}")
