import re
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import localdate

from apps.core.dates import today
from apps.invoices.models import SeriesCounter
from apps.invoices.numbering import SERIES, go_on_after, restores_to_confirm
from apps.invoices.snapshot import SellerDataMissing, seller
from apps.invoices.verifactu.sending import FAILURES, codes_of_month

Series = tuple[str, int]
# A greater step is a mistyped number: it would leave a gap that the law does not allow.
MOST_LOST = 5_000
_CODE = re.compile(r"([A-Z])(\d{4})-(\d{1,7})")


class Command(BaseCommand):
    help = (
        "Vuelve a emitir facturas tras restaurar una copia, detrás del último número que se dio "
        "de cada serie, también después de la copia: está en el correo de la última factura, en la "
        "asesoría o en la sede de la Agencia Tributaria. De una serie sin facturas, el 0."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("last", nargs="*", metavar="F2026-00123", help="el último de una serie")
        parser.add_argument(
            "--offline", action="store_true", help="con VERIFACTU, sin preguntar a Hacienda"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        restores = list(restores_to_confirm().order_by("backup_made_at"))
        if not restores:
            raise CommandError("No hay nada que confirmar: no se ha restaurado ninguna copia.")
        known = _in_backup(localdate(restores[0].backup_made_at).year)
        stated = dict(_parsed(code) for code in options["last"])
        problems = [*_missing(known, stated), *_wrong(known, stated)]
        if not problems and settings.VERIFACTU and not options["offline"]:
            problems = _below(_at_agency(localdate(restores[0].backup_made_at)), stated)
        if problems:
            raise CommandError("\n".join(problems))
        go_on_after(stated)
        for (series, year), last in sorted(stated.items()):
            self.stdout.write(f"La siguiente de la serie {series} de {year}: la {last + 1}.")
        self.stdout.write("Las facturas en espera se emiten en unos minutos.")


def _in_backup(first_year: int) -> dict[Series, int]:
    """The last numbers in the database, of the years in which numbers may have been lost."""
    rows = SeriesCounter.objects.filter(year__gte=first_year)
    counted = {(row.series, row.year): row.last_number for row in rows}
    years = range(first_year, today().year + 1)
    return {(name, year): 0 for name in sorted(set(SERIES.values())) for year in years} | counted


def _parsed(code: str) -> tuple[Series, int]:
    found = _CODE.fullmatch(code.upper())
    if found is None:
        raise CommandError(f"«{code}» no es un número de factura como F2026-00123.")
    return (found[1], int(found[2])), int(found[3])


def _missing(known: dict[Series, int], stated: dict[Series, int]) -> list[str]:
    return [
        f"Falta el último número de la serie {series} de {year}; en la copia es "
        f"{series}{year}-{last:05}."
        for (series, year), last in known.items()
        if (series, year) not in stated
    ]


def _wrong(known: dict[Series, int], stated: dict[Series, int]) -> list[str]:
    problems = []
    for (series, year), last in stated.items():
        in_backup = known.get((series, year))
        if in_backup is None:
            problems.append(f"No hay ninguna serie {series} de {year} que confirmar.")
        elif not in_backup <= last <= in_backup + MOST_LOST:
            problems.append(
                f"El último número de la serie {series} de {year} en la copia es {in_backup}: no "
                f"puede ser {last}."
            )
    return problems


def _below(at_agency: dict[Series, int], stated: dict[Series, int]) -> list[str]:
    return [
        f"Hacienda tiene ya la {series}{year}-{last:05}: el último número no puede ser "
        f"{stated[series, year]}."
        for (series, year), last in sorted(at_agency.items())
        if last > stated.get((series, year), last)
    ]


def _at_agency(backup_on: date) -> dict[Series, int]:
    """The last numbers that the tax agency knows. Raises CommandError without an answer."""
    # An invoice is filed under the month of its operation, which may be that before its issue.
    month = (backup_on.replace(day=1) - timedelta(days=1)).replace(day=1)
    found: dict[Series, int] = {}
    try:
        while month <= today():
            for code in codes_of_month(seller(), month):
                if _CODE.fullmatch(code):
                    name, number = _parsed(code)
                    found[name] = max(number, found.get(name, 0))
            month = (month + timedelta(days=31)).replace(day=1)
    except (*FAILURES, SellerDataMissing) as error:
        raise CommandError(
            "No se ha podido preguntar a Hacienda por los últimos números. Repite la orden, o "
            f"añade --offline si los has mirado en su sede. ({type(error).__name__}: {error})"
        ) from error
    return found
