"""How the mail about the accounts looks (`core.mail.samples`)."""

from typing import Any

from apps.core.mail.samples import STAFF, preview_mail


def _differences() -> dict[str, dict[str, Any]]:
    one = "Pedido 1042: los cobros suman 100,00 € en lugar de 194,40 €."
    other = "Código BIENVENIDA10: su contador dice 3 usos y hay 2."
    return {
        "Una": {"differences": [one], "count": 1, "more": 0},
        "Muchas": {"differences": [one, other], "count": 52, "more": 50},
    }


preview_mail(
    "audit_differences",
    when="Una vez al día, si la revisión nocturna de las cuentas encuentra diferencias",
    to=STAFF,
    samples=_differences,
)
