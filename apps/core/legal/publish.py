from datetime import date
from pathlib import Path
from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps

from apps.core.legal.placeholders import numbers_of_a_new_shop

FIRST_VERSION = Path(__file__).parent / "v1"
FIRST_VERSION_DATE = date(2025, 7, 10)
DATES = {"accesibilidad": date(2026, 11, 26)}
TITLES = {
    "terminos": "Términos y condiciones",
    "privacidad": "Política de privacidad",
    "cookies": "Política de cookies",
    "aviso-legal": "Aviso legal",
    "accesibilidad": "Accesibilidad",
}


def publish_first_versions(apps: Apps = current_apps, **kwargs: Any) -> None:
    """Create version 1 of each legal text that has no version yet (post_migrate handler).

    This is a signal handler and not a data migration because `flush`, which ends every
    transactional test, deletes the texts and sends post_migrate. Staff add later versions in the
    admin.
    """
    try:
        legal_texts = apps.get_model("core", "LegalText")._default_manager
    except LookupError:  # Migrating backwards: the model is gone.
        return
    published = set(legal_texts.values_list("kind", flat=True))
    legal_texts.bulk_create(
        [
            legal_texts.model(
                kind=kind,
                version=1,
                title=title,
                body=(FIRST_VERSION / f"{kind}.html").read_text(encoding="utf-8"),
                published_on=DATES.get(kind, FIRST_VERSION_DATE),
                numbers=numbers_of_a_new_shop(),
            )
            for kind, title in TITLES.items()
            if kind not in published
        ],
        ignore_conflicts=True,
    )
