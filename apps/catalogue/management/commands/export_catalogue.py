"""`manage.py export_catalogue FILE` writes the catalogue for `import_catalogue` to read."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from apps.catalogue.exchange.error_messages import file_reason
from apps.catalogue.exchange.file_errors import BadFile
from apps.catalogue.exchange.writing import write_catalogue
from apps.catalogue.models import Subject
from apps.core.management.progress_bar import progress_bar


class Command(BaseCommand):
    help = "Escribe el catálogo entero en un archivo .csv, .xlsx o .json."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="ARCHIVO")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        count = Subject.objects.count()
        try:
            with transaction.atomic(), progress_bar(count, "Asignaturas") as progress:
                file.write_bytes(write_catalogue(file.name, progress.update))
        except BadFile as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(file_reason(error)) from None
        self.stdout.write(f"{file}: {count} asignaturas.")
