from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    help = (
        "Avisa al equipo por correo de que ha fallado una unidad de systemd. No usa la base de "
        "datos, que puede ser la causa."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("unit", help="por ejemplo academia-backup.service")

    def handle(self, *args: Any, **options: Any) -> None:
        unit = options["unit"]
        send_mail(
            f"Ha fallado {unit}",
            f"En el servidor de {settings.SITE_URL} ha fallado {unit}.\n\n"
            f"Qué ha pasado: journalctl --unit {unit} --since today\n"
            f"Para repetirlo: systemctl start {unit}\n",
            None,
            [settings.STAFF_EMAIL],
        )
