from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.core.backup.make import delete_older, make_backup


class Command(BaseCommand):
    help = (
        "Copia la base de datos y los archivos guardados en un solo archivo, cifrado para "
        "BACKUP_RECIPIENT. SECRET_KEY y los demás ajustes no van dentro."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--folder", type=Path, help="carpeta; de partida, BACKUP_DIR")
        parser.add_argument(
            "--keep",
            type=int,
            metavar="N",
            help="conserva las N últimas copias",
        )
        parser.add_argument(
            "--unencrypted",
            action="store_true",
            help="sin cifrar: la copia tiene datos personales y segundos factores legibles",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        recipient = "" if options["unencrypted"] else settings.BACKUP_RECIPIENT
        if not recipient and not options["unencrypted"]:
            raise CommandError(
                "Falta BACKUP_RECIPIENT, la clave pública de age o GPG que cifra la copia. "
                "Con --unencrypted se guarda sin cifrar."
            )
        if options["keep"] is not None and options["keep"] < 1:
            raise CommandError("--keep quiere al menos 1.")
        folder = options["folder"] or settings.BACKUP_DIR
        made = make_backup(folder, recipient)
        self.stdout.write(
            f"{made.path}: {made.size_bytes} bytes, con la base de datos y {made.files} archivos."
        )
        if made.missing:
            self.stdout.write(f"Archivos borrados mientras se copiaba: {made.missing}.")
        if options["keep"]:
            self.stdout.write(
                f"Copias viejas borradas: {delete_older(folder, keep=options['keep'])}."
            )
