"""`manage.py reset_second_factor NAME`, for staff who have lost their phone and backup codes."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from apps.backoffice.accounts.second_factor import remove


class Command(BaseCommand):
    help = "Quita el segundo factor de una cuenta del equipo, que tendrá que activar otro."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USUARIO")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"No hay ninguna cuenta «{options['username']}».")
        remove(user)
        self.stdout.write(f"{user.username} no tiene segundo factor: lo activará al entrar.")
