from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register


@register()
def check_former_settings(**kwargs: Any) -> list[CheckMessage]:
    """Warn about settings that the terms of sale have replaced.

    This is no error: `migrate` runs the checks too, and takes the old values over.
    """
    return [
        Warning(
            f"{name} ya no es un ajuste: «manage.py migrate» pasa su valor a «Condiciones de "
            "venta», en la administración. Quita la línea después de migrar, no antes.",
            id="pricing.W001",
        )
        for name in settings.FORMER_SETTINGS
    ]
