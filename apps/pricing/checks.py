from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from apps.core.checks import START

INSTALMENT_COUNTS = range(2, 13)
DAYS_BETWEEN_INSTALMENTS = range(1, 91)


@register(START)
def check_instalment_plan(**kwargs: Any) -> list[CheckMessage]:
    problems: list[CheckMessage] = []
    if settings.INSTALMENT_COUNT not in INSTALMENT_COUNTS:
        problems.append(Error("INSTALMENT_COUNT solo admite de 2 a 12 plazos.", id="pricing.E001"))
    if settings.INSTALMENT_EVERY_DAYS not in DAYS_BETWEEN_INSTALMENTS:
        problems.append(
            Error("INSTALMENT_EVERY_DAYS solo admite de 1 a 90 días.", id="pricing.E002")
        )
    return problems
