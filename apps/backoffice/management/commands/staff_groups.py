"""`manage.py staff_groups` creates the groups of staff."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from apps.backoffice.accounts.staff_groups import create_groups


class Command(BaseCommand):
    help = "Crea los grupos del equipo que faltan, con sus permisos. Los que existen no se tocan."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--reset", action="store_true", help="devuelve a los grupos sus permisos de origen"
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        names = create_groups(reset=options["reset"])
        self.stdout.write(f"Grupos: {', '.join(names)}." if names else "Ya están todos los grupos.")
