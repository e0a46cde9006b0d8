from datetime import date
from pathlib import Path
from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps

FIRST_VERSION = Path(__file__).parent / "v1"
FIRST_VERSION_DATE = date(2025, 7, 10)  # shop spec, section 9, "Legal"
TITLES = {
    "terminos": "Términos y condiciones",
    "privacidad": "Política de privacidad",
    "cookies": "Política de cookies",
    "aviso-legal": "Aviso legal",
}


def publish_first_versions(apps: Apps = current_apps, **kwargs: Any) -> None:
    """Store version 1 of the legal texts where a text has no version yet (post_migrate).

    A signal and not a data migration: consents need the texts, and `flush`, which ends every
    transactional test, brings them back only this way. Staff publish later versions in the admin.
    """
    try:
        legal_texts = apps.get_model("core", "LegalText")._default_manager
    except LookupError:  # Migrated back to before there were legal texts.
        return
    published = set(legal_texts.values_list("kind", flat=True))
    legal_texts.bulk_create(
        [
            legal_texts.model(
                kind=kind,
                version=1,
                title=title,
                body=(FIRST_VERSION / f"{kind}.html").read_text(encoding="utf-8"),
                published_on=FIRST_VERSION_DATE,
            )
            for kind, title in TITLES.items()
            if kind not in published
        ],
        ignore_conflicts=True,
    )
