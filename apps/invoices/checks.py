"""Checks at start of the settings of invoices (docs/rules.md, "Checks at start")."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from apps.core.checks import START
from apps.invoices.verifactu.sending import ENDPOINTS


def configuration_problems() -> list[str]:
    """What is wrong with the settings, as Spanish sentences."""
    if not settings.VERIFACTU:
        return []
    if settings.VERIFACTU not in ENDPOINTS:
        return ["VERIFACTU solo puede estar vacío o ser «pruebas» o «produccion»."]
    if not settings.VERIFACTU_CERTIFICATE:
        return ["Con VERIFACTU hace falta VERIFACTU_CERTIFICATE: el certificado de la academia."]
    if not Path(settings.VERIFACTU_CERTIFICATE).is_file():
        return ["No existe el archivo de VERIFACTU_CERTIFICATE."]
    return []


@register(START)
def check_invoice_settings(**kwargs: Any) -> list[CheckMessage]:
    return [Error(problem, id="invoices.E001") for problem in configuration_problems()]
