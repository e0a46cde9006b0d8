from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.core.privacy import CannotErase, erase_all, preview_erasure


class Command(BaseCommand):
    help = (
        "Borra los datos de una persona: lo que la ley obliga a conservar queda sin ellos. "
        "Sin --yes solo dice qué pasaría."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="CORREO")
        parser.add_argument("--yes", action="store_true", help="Borrar de verdad.")

    def handle(self, *args: Any, **options: Any) -> None:
        email, really = options["email"], options["yes"]
        try:
            sentences = erase_all(email) if really else preview_erasure(email)
        except CannotErase as refusal:
            raise CommandError(refusal.message) from refusal
        for sentence in sentences or ["No hay datos de esta dirección."]:
            self.stdout.write(sentence)
        if sentences and not really:
            self.stdout.write("No se ha borrado nada todavía: repite la orden con --yes.")
