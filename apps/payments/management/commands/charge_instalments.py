from typing import Any

from django.core.management.base import BaseCommand

from apps.payments.plan.charge_due import charge_instalments


class Command(BaseCommand):
    help = (
        "Cobra los plazos que vencen y avisa de los que se cobrarán en dos días. Se puede repetir "
        "siempre, a la vez desde varias máquinas; el reloj (`manage.py clock`) lo hace cada cinco "
        "minutos."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(charge_instalments().summary() or "Nada que cobrar.")
