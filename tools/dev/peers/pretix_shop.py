"""Fills a pretix with our subjects as the products of one event.

Runs with the Python of var/peers/pretix, after its own migrations:
`python -m tools.dev.peers.pretix_shop FILE`, where FILE is a JSON list of {"name", "price"}.
The shop is then at /academia/curso/.
"""

import json
import os
import sys
from datetime import timedelta
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pretix.settings")
django.setup()

from django.utils.timezone import now  # noqa: E402
from django_scopes import scopes_disabled  # noqa: E402
from pretix.base.models import Event, Organizer  # noqa: E402


def fill(file: Path) -> None:
    with scopes_disabled():
        organizer = Organizer.objects.create(name="Academia", slug="academia")
        event = Event.objects.create(
            organizer=organizer,
            name="Curso",
            slug="curso",
            currency="EUR",
            date_from=now() + timedelta(days=90),
            is_public=True,
            live=True,
        )
        quota = event.quotas.create(name="Todas", size=None)
        for number, row in enumerate(json.loads(file.read_text(encoding="utf-8"))):
            item = event.items.create(
                name=row["name"], default_price=row["price"], position=number, active=True
            )
            quota.items.add(item)


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
