from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.core.privacy import PurgeFailed, purge_all


class Command(BaseCommand):
    help = (
        "Aplica todos los plazos de conservación y dice qué ha borrado. El reloj lo hace cada "
        "noche; se puede repetir siempre."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            done, problem = purge_all(), None
        except PurgeFailed as failure:
            done, problem = failure.done, failure
        for title, count in done:
            self.stdout.write(f"{title}: {count}")
        if problem:
            raise CommandError(str(problem)) from problem
