import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.timezone import is_naive, localtime, make_aware

from apps.core.backup.make import place
from apps.core.backup.numbers import skip_lost_ids
from apps.core.backup.restore import load_backup
from apps.core.models import Restore
from apps.core.rehearsal import NOTE

WHICH = (
    "¿Es un ensayo, o esta máquina sustituye a la tienda? Escribe «ensayo» o «sustituye», o repite "
    "la orden con --rehearsal o --takeover."
)


class Command(BaseCommand):
    help = (
        "Carga una copia de «manage.py backup» en una base de datos y unas carpetas vacías, aplica "
        "las migraciones que falten, salta los números que pudieron darse después de la copia y "
        "termina con audit_money, que nombra cada cobro de Stripe posterior a la copia. Antes hay "
        "que parar todos los procesos de la tienda. Con --rehearsal es un ensayo, que no toca nada "
        "de fuera. Con --restored-to hace lo mismo tras una restauración de PostgreSQL."
    )
    # The database is empty: there is nothing to check the migrations against.
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, nargs="?")
        parser.add_argument(
            "--restored-to",
            type=_moment,
            metavar="MOMENTO",
            help="sin copia de «manage.py backup»: PostgreSQL ya ha vuelto a ese momento por otro "
            "medio, como pgBackRest; por ejemplo 2026-11-22T18:30:00+01:00",
        )
        parser.add_argument("--identity", default="", help="el archivo con la clave de age")
        parser.add_argument(
            "--over-existing",
            action="store_true",
            help="borra la base de datos y los archivos que haya",
        )
        parser.add_argument("--offline", action="store_true", help="sin preguntar a Stripe")
        kind = parser.add_mutually_exclusive_group()
        kind.add_argument(
            "--rehearsal",
            action="store_true",
            help="un ensayo, con REHEARSAL=true: no se cobra, no se envía y no se matricula",
        )
        kind.add_argument(
            "--takeover",
            action="store_true",
            help="esta es la tienda desde ahora; la de antes no volverá a arrancar",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        is_rehearsal = settings.REHEARSAL
        _refuse_wrong_kind(options)
        if is_rehearsal and options["over_existing"]:
            _refuse_real_database()
        if options["restored_to"] is None:
            loaded = load_backup(
                options["archive"],
                identity=options["identity"],
                over_existing=options["over_existing"],
                allow=lambda manifest: self._allow(manifest, is_takeover=options["takeover"]),
            )
            made_at = datetime.fromisoformat(loaded.made_at)
            done = f"Restaurada la copia del {{moment}}, con {loaded.files} archivos."
        else:
            made_at = options["restored_to"]
            done = "La base de datos es la del {moment}."
        call_command("migrate", interactive=False, verbosity=0)
        with transaction.atomic():
            skip_lost_ids()
            Restore.objects.create(backup_made_at=made_at, is_rehearsal=is_rehearsal)
        self.stdout.write(done.format(moment=f"{localtime(made_at):%d/%m/%Y %H:%M:%S}"))
        if is_rehearsal:
            self.stdout.write(self.style.ERROR(f"ENSAYO. {NOTE}"))
        self.stdout.write(
            "No se emite ninguna factura hasta que «manage.py resume_invoices» sepa el último "
            "número de cada serie."
        )
        if not options["offline"]:
            # A shop that was just restored has no payment under way: no charge is too young.
            call_command("reconcile_payments", after_restore=True, stdout=self.stdout)
        call_command(
            "audit_money",
            after_restore=True,
            offline=options["offline"],
            stdout=self.stdout,
        )

    def _allow(self, manifest: dict[str, Any], *, is_takeover: bool) -> None:
        """Refuse, or ask, if this place may not be the one that the backup was made in."""
        if settings.REHEARSAL:
            return
        if manifest.get("is_rehearsal"):
            raise CommandError("La copia es de un ensayo: con ella no se puede volver a vender.")
        made_in = manifest.get("place", "otra máquina")
        if is_takeover or made_in == place():
            return
        self.stdout.write(f"La copia se hizo en: {made_in}.\nEsto es: {place()}.")
        if not sys.stdin.isatty():
            raise CommandError(WHICH)
        answer = input(f"{WHICH} ").strip().lower()
        if answer == "ensayo":
            raise CommandError(
                "Para el ensayo pon REHEARSAL=true en el entorno y repite la orden con --rehearsal."
            )
        if answer != "sustituye":
            raise CommandError("No se ha restaurado nada.")


def _moment(text: str) -> datetime:
    """A moment in the past, of the shop's time zone unless the text has another."""
    at = datetime.fromisoformat(text)
    at = make_aware(at) if is_naive(at) else at
    if at > timezone.now():
        raise ValueError(text)
    return at


def _refuse_wrong_kind(options: dict[str, Any]) -> None:
    if (options["archive"] is None) == (options["restored_to"] is None):
        raise CommandError("Di qué copia se carga, o a qué momento ha vuelto ya PostgreSQL.")
    if options["restored_to"] and not (options["takeover"] or options["rehearsal"]):
        raise CommandError("Con --restored-to hace falta --takeover, o --rehearsal para un ensayo.")
    if options["rehearsal"] and not settings.REHEARSAL:
        raise CommandError(
            "Pon antes REHEARSAL=true en el entorno: sin ese ajuste los procesos cobrarían y "
            "enviarían correos de verdad."
        )
    if options["takeover"] and settings.REHEARSAL:
        raise CommandError("Con REHEARSAL=true esto es un ensayo. Quita el ajuste o --takeover.")


def _refuse_real_database() -> None:
    """Raise CommandError unless the database that is to be replaced is a rehearsal's, too."""
    try:
        last = Restore.objects.order_by("-pk").values_list("is_rehearsal", flat=True).first()
    except DatabaseError:
        last = None
    if not last:
        raise CommandError(
            "Esta base de datos no es la de un ensayo: un ensayo no la borra. Da otra, vacía."
        )
