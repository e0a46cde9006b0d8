from typing import Any

from django.core.management.base import BaseCommand

from apps.classroom.services import requeue_stuck_provisionings


class Command(BaseCommand):
    help = (
        "Vuelve a poner en la cola las altas en el aula cuya tarea se perdió, por ejemplo porque "
        "el trabajador se cayó a mitad. Se puede ejecutar cuantas veces se quiera."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Altas recuperadas: {requeue_stuck_provisionings()}")
