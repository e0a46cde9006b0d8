"""`manage.py import_catalogue FILE` adds and changes catalogue rows, all of them or none."""

from argparse import ArgumentParser
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from apps.catalogue.exchange.apply import import_lines
from apps.catalogue.exchange.diff import CatalogueDiff, diff_catalogue
from apps.catalogue.exchange.error_messages import file_reason
from apps.catalogue.exchange.file_errors import BadFile
from apps.catalogue.exchange.reading import read_lines
from apps.catalogue.price_questions import PricesUnconfirmed
from apps.catalogue.services import prices_changed_by, refresh_statistics
from apps.core.management.progress_bar import progress_bar
from apps.core.staff.limits import OverLimit

MOST_SHOWN = 200


class Command(BaseCommand):
    help = (
        "Añade y cambia universidades, grados, asignaturas y lecciones según un archivo .csv, "
        ".xlsx o .json con las columnas de export_catalogue. Todo o nada; no borra nada."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="ARCHIVO")
        parser.add_argument(
            "--dry-run", action="store_true", help="dice qué cambiaría y no cambia nada"
        )
        parser.add_argument(
            "--confirm-prices",
            action="store_true",
            help="acepta precios de 0 € y cambios de más de la mitad",
        )
        parser.add_argument(
            "--user", metavar="USUARIO", help="quien queda en el historial de precios"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        try:
            lines = read_lines(file.read_bytes(), file.name)
            if options["dry_run"]:
                self._print(diff_catalogue(lines), "Cambiaría:", is_done=False)
                return
            with ExitStack() as stack:
                if options["user"]:
                    stack.enter_context(prices_changed_by(_user(options["user"])))
                progress = stack.enter_context(progress_bar(len(lines), "Líneas"))
                diff = import_lines(
                    lines, is_confirmed=options["confirm_prices"], on_progress=progress.update
                )
        except PricesUnconfirmed as unconfirmed:
            listed = "\n".join(unconfirmed.lines[:MOST_SHOWN])
            raise CommandError(
                "No se ha importado nada: estos precios quedan en 0 € o cambian más de la mitad. "
                f"Si son correctos, añade --confirm-prices.\n{listed}"
            ) from None
        except (BadFile, OverLimit) as error:
            raise CommandError(f"No se ha importado nada.\n{error}") from None
        except OSError as error:
            raise CommandError(f"No se ha importado nada.\n{file_reason(error)}") from None
        refresh_statistics()
        self._print(diff, "Hecho:", is_done=True)

    def _print(self, diff: CatalogueDiff, title: str, *, is_done: bool) -> None:
        details = diff.details()
        for line in islice(details, MOST_SHOWN):
            self.stdout.write(line)
        if more := sum(1 for _ in details):
            self.stdout.write(f"… y {more} más")
        near = diff.near_names()
        if near:
            self.stdout.write("\n".join(["Nombres casi iguales a otros:", *near[:MOST_SHOWN]]))
        self.stdout.write("\n".join([title, *diff.summary(is_done=is_done)]))


def _user(name: str) -> Any:
    user = get_user_model().objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"No hay ninguna cuenta «{name}».")
    return user
