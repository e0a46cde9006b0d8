"""Settings of the classroom with which a shop must not start (docs/rules.md, "Checks at start")."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from apps.classroom.backends import CLASSROOMS
from apps.core.checks import START
from apps.core.setting_ranges import range_problems

SHORTEST_SECRET = 32
RANGES: dict[str, tuple[float, float]] = {
    "MOODLE_MAILDISPLAY": (0, 2),
    "MOODLE_STUDENT_ROLE": (1, 1_000_000),
}


def configuration_problems() -> list[str]:
    """One Spanish sentence for each setting that prevents the start. [] if there is none."""
    problems = []
    if settings.CLASSROOM not in CLASSROOMS:
        problems.append(f"CLASSROOM solo admite {' o '.join(CLASSROOMS)}.")
    if settings.CLASSROOM == "moodle" and not (settings.MOODLE_URL and settings.MOODLE_TOKEN):
        problems.append("CLASSROOM=moodle necesita MOODLE_URL y MOODLE_TOKEN.")
    if not _is_group_pattern(settings.MOODLE_GROUP):
        problems.append("MOODLE_GROUP solo admite {semester} y {year} entre llaves.")
    problems += [
        f"{name} debe ser una dirección como https://aula.midominio.es, o /aula en este sitio."
        for name in ("PORTAL_URL", "PORTAL_PROFILE_URL")
        if not _is_address(getattr(settings, name))
    ]
    problems += [
        f"{name} no puede ser {page} si el aula es otra web: esa página lleva al aula."
        for name, page in {"PORTAL_URL": "/aula", "PORTAL_PROFILE_URL": "/aula/perfil"}.items()
        if settings.CLASSROOM in CLASSROOMS
        and settings.CLASSROOM != "local"
        and getattr(settings, name) == page
    ]
    problems += range_problems(RANGES)
    if settings.CLASSROOM_SIGN_IN:
        problems += _sign_in_problems()
    if not settings.DEBUG and not settings.ALLOW_LOCAL_SITE:
        problems += _addresses_in_clear()
    return problems


@register(START)
def check_classroom_settings(**kwargs: Any) -> list[CheckMessage]:
    return [Error(problem, id="classroom.E001") for problem in configuration_problems()]


def _sign_in_problems() -> list[str]:
    problems = []
    if settings.CLASSROOM != "moodle" or not settings.STUDENT_LOGIN:
        problems.append("CLASSROOM_SIGN_IN necesita CLASSROOM=moodle y STUDENT_LOGIN=true.")
    if len(settings.OIDC_CLIENT_SECRET) < SHORTEST_SECRET:
        problems.append(
            "OIDC_CLIENT_SECRET debe tener al menos 32 caracteres: es el que escribe el guion de "
            "«manage.py check_moodle --create-role --sign-in»."
        )
    # Imported here: without the switch the package is not needed.
    from apps.classroom.one_sign_in.signing_key import BadKey, signing_key

    try:
        signing_key()
    except BadKey as error:
        problems.append(str(error))
    return problems


def _is_group_pattern(text: str) -> bool:
    try:
        text.format(semester="", year=2027)
    except (AttributeError, LookupError, ValueError):
        return False
    return True


def _is_address(text: str) -> bool:
    """Whether a link may lead there: a page of this site, or a web address and no script."""
    try:
        address = urlsplit(text)
        is_web = address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        return False
    return is_web or (text.startswith("/") and not text.startswith(("//", "/\\")))


def _addresses_in_clear() -> list[str]:
    """The token of Moodle's web service, and students' passwords, must not travel in clear."""
    addresses = {
        "PORTAL_URL": settings.PORTAL_URL,
        "PORTAL_PROFILE_URL": settings.PORTAL_PROFILE_URL,
    }
    if settings.CLASSROOM == "moodle":
        addresses["MOODLE_URL"] = settings.MOODLE_URL
    return [
        f"{name} debe empezar por https://."
        for name, address in addresses.items()
        if address.lower().startswith("http:")
    ]
