from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.utils.dateparse import parse_datetime
from django.utils.timezone import localtime

from apps.core.backup.restore import load_backup


class Command(BaseCommand):
    help = (
        "Carga una copia de «manage.py backup» en una base de datos y unas carpetas vacías, aplica "
        "las migraciones que falten y termina con audit_money, que nombra cada cobro de Stripe "
        "posterior a la copia. Antes hay que parar todos los procesos de la tienda."
    )
    # The database is empty: there is nothing to check the migrations against.
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path)
        parser.add_argument("--identity", default="", help="el archivo con la clave de age")
        parser.add_argument(
            "--over-existing",
            action="store_true",
            help="borra la base de datos y los archivos que haya",
        )
        parser.add_argument("--offline", action="store_true", help="sin preguntar a Stripe")

    def handle(self, *args: Any, **options: Any) -> None:
        loaded = load_backup(
            options["archive"],
            identity=options["identity"],
            over_existing=options["over_existing"],
        )
        made_at = parse_datetime(loaded.made_at)
        moment = f"{localtime(made_at):%d/%m/%Y %H:%M:%S}" if made_at else loaded.made_at
        self.stdout.write(f"Restaurada la copia del {moment}, con {loaded.files} archivos.")
        call_command("migrate", interactive=False, verbosity=0)
        if not options["offline"]:
            # A shop that was just restored has no payment under way: no charge is too young.
            call_command("reconcile_payments", after_restore=True, stdout=self.stdout)
        call_command(
            "audit_money",
            after_restore=True,
            offline=options["offline"],
            stdout=self.stdout,
        )
