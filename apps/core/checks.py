"""Settings with which a shop must not go public (docs/rules.md, "Checks at start").

Each problem is one Spanish sentence. Without DEBUG any of them stops the start.
"""

import importlib
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.http.request import split_domain_port, validate_host

from apps.core.setting_forms import (
    backup_recipient,
    bucket_keys,
    misspelt_names,
    transfer_iban,
)
from apps.core.setting_ranges import RANGES, range_problems

# The web process runs the checks with this tag, all other processes run all checks.
START = "start"
SHORTEST_SECRET_KEY = 50
SHORTEST_MONITOR_TOKEN = 20
# The SECRET_KEY of deploy/compose.env.example.
PUBLISHED_KEY = "change-me-to-fifty-or-more-random-characters-of-your-own"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104
# Mails are kept as files, printed or dropped: nobody gets them.
MAIL_NOT_SENT = (
    "apps.core.mail.backends.FileBackend",
    *(
        f"django.core.mail.backends.{name}.EmailBackend"
        for name in ("console", "dummy", "filebased", "locmem")
    ),
    "anymail.backends.console.EmailBackend",
    "anymail.backends.test.EmailBackend",
)


def deployment_problems() -> list[str]:
    """The problems of a shop; with DEBUG the values that are possible nowhere."""
    problems = _impossible_values()
    if not settings.DEBUG:
        problems += [*_secret_key(), *_hosts(), *_rate_limits(), *_monitor_token()]
        problems += [*bucket_keys(), *misspelt_names()]
        if not settings.ALLOW_LOCAL_SITE:
            problems += [*_published_key(), *_site(), *_mail(), *_database()]
            problems += [] if settings.REHEARSAL else backup_recipient()
    return problems


@register(START)
def check_deployment(**kwargs: Any) -> list[CheckMessage]:
    return [Error(problem, id="core.E001") for problem in deployment_problems()]


def _impossible_values() -> list[str]:
    return [*transfer_iban(), *range_problems(RANGES)]


def _secret_key() -> list[str]:
    problems = []
    if not _is_hard_to_guess(settings.SECRET_KEY):
        problems.append(
            f"SECRET_KEY debe ser aleatoria y tener al menos {SHORTEST_SECRET_KEY} caracteres."
        )
    # Signatures of former keys are accepted, too.
    if not all(_is_hard_to_guess(key) for key in settings.SECRET_KEY_FALLBACKS):
        problems.append(
            "Cada clave de SECRET_KEY_FALLBACKS debe ser aleatoria y tener al menos "
            f"{SHORTEST_SECRET_KEY} caracteres."
        )
    return problems


def _published_key() -> list[str]:
    """The key of a sample file. Only a rehearsal on one machine may keep it."""
    if PUBLISHED_KEY in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        return ["SECRET_KEY es la del archivo de ejemplo, que está publicada: haz una propia."]
    return []


def _is_hard_to_guess(key: str) -> bool:
    is_long = len(key) >= SHORTEST_SECRET_KEY and len(set(key)) >= 5
    return is_long and not key.startswith("django-insecure-")


def _rate_limits() -> list[str]:
    # Written so that "nan" is a problem. The payment checks refuse 0.
    if settings.RATE_LIMIT_SCALE == 0 or 0.1 <= settings.RATE_LIMIT_SCALE <= 10:
        return []
    return ["RATE_LIMIT_SCALE solo admite de 0.1 a 10."]


def _monitor_token() -> list[str]:
    if settings.MONITOR_TOKEN and len(settings.MONITOR_TOKEN) < SHORTEST_MONITOR_TOKEN:
        return [f"MONITOR_TOKEN debe tener al menos {SHORTEST_MONITOR_TOKEN} caracteres al azar."]
    return []


def _hosts() -> list[str]:
    if not settings.ALLOWED_HOSTS:
        return ["Falta ALLOWED_HOSTS en el entorno."]
    if "*" in settings.ALLOWED_HOSTS:
        return ["ALLOWED_HOSTS no puede ser *; pon los dominios que atiende."]
    return []


def _site() -> list[str]:
    problems = []
    try:
        site = urlsplit(settings.SITE_URL)
        host = (site.hostname or "").removesuffix(".")
        is_origin = bool(host) and f"{site.scheme}://{site.netloc}" == settings.SITE_URL
    except ValueError:
        is_origin = False
    if not is_origin:
        return ["SITE_URL debe ser una dirección como https://midominio.es, sin nada detrás."]
    hosts = settings.ALLOWED_HOSTS
    if hosts and not validate_host(split_domain_port(site.netloc)[0], hosts):
        problems.append("El dominio de SITE_URL no está en ALLOWED_HOSTS.")
    if site.scheme != "https":
        problems.append("SITE_URL debe empezar por https://.")
    if host in LOCAL_HOSTS or host.endswith((".localhost", ".local")):
        problems.append("SITE_URL apunta a esta máquina; debe ser la dirección pública.")
    if _is_example(host):
        problems.append("SITE_URL es una dirección de ejemplo.")
    return problems


def _mail() -> list[str]:
    problems = []
    if settings.REHEARSAL:
        return []
    if settings.EMAIL_BACKEND in MAIL_NOT_SENT:
        problems.append("Falta un proveedor de correo: EMAIL_URL o ANYMAIL_BACKEND.")
    elif not _exists(settings.EMAIL_BACKEND):
        problems.append("ANYMAIL_BACKEND no es un proveedor de django-anymail.")
    for name in ("DEFAULT_FROM_EMAIL", "STAFF_EMAIL"):
        local, _, domain = parseaddr(getattr(settings, name))[1].rpartition("@")
        if not local:
            problems.append(f"{name} no es una dirección de correo.")
        elif _is_example(domain):
            problems.append(f"{name} es una dirección de ejemplo.")
    return problems


def _exists(path: str) -> bool:
    module, _, name = path.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), name)
    except (ImportError, ValueError):
        return False


def _database() -> list[str]:
    if settings.DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
        return ["SQLite solo vale con DEBUG=true; en producción hace falta PostgreSQL."]
    return []


def _is_example(host: str) -> bool:
    """Whether the name is reserved for examples (RFC 2606), as the defaults are."""
    return host.lower().endswith(".example")
