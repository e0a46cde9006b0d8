"""`manage.py seed`: something to sell and to look at."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from apps.backoffice.seed import seed_admin, seed_orders
from apps.catalogue.models import Subject, University
from apps.catalogue.seed import seed_catalogue
from apps.pages.seed import seed_pages
from apps.pricing.seed import seed_campaigns, seed_promo_codes


class Command(BaseCommand):
    help = (
        "Añade el catálogo de ejemplo, las campañas y, con DEBUG, códigos, pedidos y la cuenta "
        "de administración de prueba. Se puede repetir: lo que existe no se toca."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--if-empty", action="store_true", help="no hace nada si ya hay universidades"
        )
        parser.add_argument(
            "--sample",
            action="store_true",
            help="también con DEBUG=false: solo catálogo y páginas (oculto en el sitio) y campañas",
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG and not options["sample"]:
            raise CommandError(
                "Los datos de ejemplo son para desarrollo: con DEBUG=false hace falta --sample."
            )
        if options["if_empty"] and University.objects.exists():
            self.stdout.write("Ya hay datos: no se añade nada.")
            return
        seed_catalogue()
        seed_campaigns()
        seed_pages()
        # Codes that give things away and accounts with a known password stay off real sites.
        if settings.DEBUG:
            seed_promo_codes()
            seed_orders()
            seed_admin()
        self.stdout.write(
            f"Listo: {University.objects.count()} universidades, "
            f"{Subject.objects.count()} asignaturas."
        )
