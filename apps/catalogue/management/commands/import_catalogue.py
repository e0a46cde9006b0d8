"""`manage.py import_catalogue FILE`: the catalogue as a file says, all of it or nothing."""

from argparse import ArgumentParser
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from apps.catalogue.exchange.apply import import_lines
from apps.catalogue.exchange.errors import BadFile
from apps.catalogue.exchange.plan import Plan, make_plan
from apps.catalogue.exchange.reading import read_lines
from apps.catalogue.exchange.reasons import file_reason
from apps.catalogue.services import after_many_changes, prices_changed_by
from apps.core.progress import bar

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
            "--user", metavar="USUARIO", help="quien queda en el historial de precios"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        try:
            lines = read_lines(file.read_bytes(), file.name)
            if options["dry_run"]:
                self._tell(make_plan(lines), "Cambiaría:")
                return
            with ExitStack() as stack:
                if options["user"]:
                    stack.enter_context(prices_changed_by(_user(options["user"])))
                progress = stack.enter_context(bar(len(lines), "Líneas"))
                plan = import_lines(lines, on_progress=progress.update)
        except BadFile as error:
            raise CommandError(f"No se ha importado nada.\n{error}") from None
        except OSError as error:
            raise CommandError(f"No se ha importado nada.\n{file_reason(error)}") from None
        after_many_changes()
        self._tell(plan, "Hecho:")

    def _tell(self, plan: Plan, title: str) -> None:
        details = plan.details()
        for line in islice(details, MOST_SHOWN):
            self.stdout.write(line)
        if more := sum(1 for _ in details):
            self.stdout.write(f"… y {more} más")
        self.stdout.write("\n".join([title, *plan.summary()]))


def _user(name: str) -> Any:
    user = get_user_model().objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"No hay ninguna cuenta «{name}».")
    return user
