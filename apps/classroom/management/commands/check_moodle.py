import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.classroom.backends.moodle.check import check_moodle
from apps.classroom.backends.moodle.setup_script import setup_script


class Command(BaseCommand):
    help = (
        "Pregunta al Moodle de MOODLE_URL si está listo para la tienda, sin cambiar nada en él: "
        "dirección, clave, funciones, permisos y cursos. Escribe cada cosa que falta y dónde se "
        "pone; termina con 1 si falta alguna."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--create-role",
            action="store_true",
            help="escribe un guion de PHP que prepara Moodle desde su línea de órdenes",
        )

        parser.add_argument(
            "--sign-in",
            action="store_true",
            help="con --create-role: el guion hace además que Moodle deje entrar con la cuenta de "
            "la tienda (CLASSROOM_SIGN_IN)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["create_role"]:
            self.stdout.write(setup_script(with_sign_in=options["sign_in"]), ending="")
            return
        report = check_moodle()
        for missing in report.missing:
            self.stdout.write(missing.sentence)
        for note in report.notes:
            self.stdout.write(f"Aviso: {note}")
        self.stdout.write(report.summary())
        if not report.is_ready:
            sys.exit(1)
