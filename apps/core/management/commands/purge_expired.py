from typing import Any

from django.core.management.base import BaseCommand

from apps.core.privacy import purge_all


class Command(BaseCommand):
    help = (
        "Aplica todos los plazos de conservación y dice qué ha borrado. El reloj lo hace cada "
        "noche; se puede repetir siempre."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        for title, count in purge_all():
            self.stdout.write(f"{title}: {count}")
