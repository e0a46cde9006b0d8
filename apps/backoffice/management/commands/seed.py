"""`manage.py seed` adds sample data."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from apps.backoffice.accounts.staff_groups import create_groups
from apps.backoffice.sample import seed_trade
from apps.backoffice.seed import seed_admin, seed_orders
from apps.catalogue.models import Subject, University
from apps.catalogue.seed import SUBJECTS, seed_catalogue
from apps.catalogue.seed_many import seed_many
from apps.catalogue.services import refresh_statistics
from apps.core.management.progress_bar import progress_bar
from apps.core.models import SiteSettings
from apps.invoices.snapshot import seller_is_known
from apps.leads.seed import seed_answer_templates
from apps.pages.seed import seed_pages
from apps.pricing.seed import seed_campaigns, seed_promo_codes

# Its check digit is right. The sample shop issues invoices with it.
SAMPLE_TAX_ID = "B12345674"
SAMPLE_ADDRESS = "Calle del Faro 7, 28001 Madrid"


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

        parser.add_argument(
            "--subjects",
            type=int,
            default=0,
            metavar="N",
            help="llena el catálogo hasta N asignaturas inventadas, siempre las mismas",
        )
        parser.add_argument(
            "--trade",
            action="store_true",
            help="con DEBUG: también un año de pedidos, alumnos, contactos y correos inventados",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG and not options["sample"]:
            raise CommandError(
                "Los datos de ejemplo son para desarrollo: con DEBUG=false hace falta --sample."
            )
        if options["if_empty"] and University.objects.exists():
            self.stdout.write("Ya hay datos: no se añade nada.")
            return
        self._seed(options["subjects"], trade=options["trade"])
        if options["subjects"]:
            refresh_statistics()
        self.stdout.write(
            f"Listo: {University.objects.count()} universidades, "
            f"{Subject.objects.count()} asignaturas."
        )

    @transaction.atomic
    def _seed(self, subjects: int, *, trade: bool) -> None:
        seed_catalogue()
        # The subjects of the small catalogue count towards N.
        more = max(0, subjects - SUBJECTS)
        with progress_bar(more, "Asignaturas") as progress:
            seed_many(more, progress.update)
        seed_campaigns()
        seed_pages()
        seed_answer_templates()
        create_groups()
        # Never on a real site: codes for free purchases and accounts with a known password.
        if settings.DEBUG:
            seed_promo_codes()
            admin = seed_admin()
            if trade:  # Before the sample orders, which are of today: numbers rise with time.
                _set_sample_seller()
                seed_trade(admin)
            seed_orders()


def _set_sample_seller() -> None:
    """Give a new site, with which no invoice can be issued, a valid NIF and an address."""
    if seller_is_known():
        return
    site = SiteSettings.current()
    site.tax_id, site.legal_address = SAMPLE_TAX_ID, SAMPLE_ADDRESS
    site.save(update_fields=["tax_id", "legal_address"])
