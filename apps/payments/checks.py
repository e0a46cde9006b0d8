"""Settings with which the site must not start (docs/rules.md, "Checks at start")."""

import re
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from apps.core.checks import START
from apps.core.setting_ranges import range_problems

RANGES: dict[str, tuple[float, float]] = {
    "REFUSED_CARDS_PER_MINUTE": (1, 100_000),
    # Stripe cancels an unpaid PaymentIntent of its own accord after a day.
    "OPEN_PAYMENT_MINUTES": (5, 1_440),
    "STRIPE_TIMEOUT": (1, 120),
    "STRIPE_REQUEST_SECONDS": (1, 120),
    "STRIPE_MAX_WAITING": (1, 100),
    "STRIPE_BREAKER_FAILURES": (1, 1_000),
    "STRIPE_BREAKER_SECONDS": (1, 3_600),
}

# A key as Stripe writes it. "sk_live_…", as in the guide, is none.
_KEY = re.compile(r"(?:(?:sk|rk|pk)_(?:live|test)_|whsec_)[A-Za-z0-9_+/=]+", re.ASCII)


def configuration_problems() -> list[str]:
    """One Spanish sentence for each setting that prevents the start. [] if there is none."""
    problems = []
    keys = {
        "STRIPE_SECRET_KEY": settings.STRIPE_SECRET_KEY,
        "STRIPE_PUBLISHABLE_KEY": settings.STRIPE_PUBLISHABLE_KEY,
        "STRIPE_WEBHOOK_SECRET": settings.STRIPE_WEBHOOK_SECRET,
    }
    missing = [name for name, value in keys.items() if not value]
    if missing and not settings.STRIPE_SANDBOX:
        problems.append(f"Faltan {', '.join(missing)} en el entorno.")
    problems += [*_wrong_keys(), *range_problems(RANGES)]
    if settings.STRIPE_CHECKOUT not in ("embedded", "hosted"):
        problems.append("STRIPE_CHECKOUT solo admite embedded o hosted.")
    if settings.APPLE_PAY_DOMAIN_FILE and not Path(settings.APPLE_PAY_DOMAIN_FILE).is_file():
        problems.append("No existe el archivo de APPLE_PAY_DOMAIN_FILE.")
    if not settings.DEBUG:
        is_rehearsal = settings.ALLOW_TEST_KEYS and settings.ALLOW_LOCAL_SITE
        is_live = "_live_" in settings.STRIPE_SECRET_KEY
        problems += [
            f"{name} solo vale con DEBUG=true, o en un ensayo con ALLOW_TEST_KEYS=1 y "
            "ALLOW_LOCAL_SITE=1."
            for name in ("STRIPE_SANDBOX", "STRIPE_API_BASE")
            if getattr(settings, name) and (is_live or not is_rehearsal)
        ]
        if not settings.ALLOW_TEST_KEYS and any("_test_" in value for value in keys.values()):
            problems.append(
                "Las claves de Stripe son de pruebas; para permitirlas, ALLOW_TEST_KEYS=1."
            )
        if not settings.RATE_LIMIT_SCALE:
            problems.append("RATE_LIMIT_SCALE=0 solo vale con DEBUG=true.")
    return problems


def _wrong_keys() -> list[str]:
    """Keys in the wrong setting. The publishable key is sent to every visitor, so it matters."""
    problems = []
    secret, publishable = settings.STRIPE_SECRET_KEY, settings.STRIPE_PUBLISHABLE_KEY
    if publishable and not publishable.startswith("pk_"):
        problems.append("STRIPE_PUBLISHABLE_KEY debe empezar por pk_: se entrega a los visitantes.")
    if secret and not secret.startswith(("sk_", "rk_")):
        problems.append("STRIPE_SECRET_KEY debe empezar por sk_ o rk_.")
    if settings.STRIPE_WEBHOOK_SECRET and not settings.STRIPE_WEBHOOK_SECRET.startswith("whsec_"):
        problems.append("STRIPE_WEBHOOK_SECRET debe empezar por whsec_.")
    if not all(key.startswith("whsec_") for key in settings.STRIPE_WEBHOOK_SECRET_FALLBACKS):
        problems.append("Cada clave de STRIPE_WEBHOOK_SECRET_FALLBACKS debe empezar por whsec_.")
    keys = {
        "STRIPE_SECRET_KEY": [secret],
        "STRIPE_PUBLISHABLE_KEY": [publishable],
        "STRIPE_WEBHOOK_SECRET": [settings.STRIPE_WEBHOOK_SECRET],
        "STRIPE_WEBHOOK_SECRET_FALLBACKS": settings.STRIPE_WEBHOOK_SECRET_FALLBACKS,
    }
    problems += [
        f"{name} no está completa: copia la clave entera del panel de Stripe."
        for name, values in keys.items()
        if any(value and not _KEY.fullmatch(value) for value in values)
    ]
    if secret and publishable and ("_live_" in secret) != ("_live_" in publishable):
        problems.append("STRIPE_SECRET_KEY y STRIPE_PUBLISHABLE_KEY no son del mismo modo.")
    if settings.DEBUG and "_live_" in secret:
        problems.append("Las claves reales de Stripe no valen con DEBUG=true.")
    return problems


@register(START)
def check_payment_settings(**kwargs: Any) -> list[CheckMessage]:
    return [Error(problem, id="payments.E001") for problem in configuration_problems()]
