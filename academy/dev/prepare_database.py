"""`python -m academy.dev.prepare_database [--seed]`: migrate, and fill an empty database.

One process for both, since half of the time each takes is Django's start. Runs inside `.venv`.
"""

import os
import sys

import django


def main(arguments: list[str]) -> None:
    """Bring the database of DATABASE_URL up to date; `--seed` renews the sample data as well."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "academy.settings")
    django.setup()

    from django.core.management import call_command
    from django.db import transaction

    from apps.catalogue.models import University

    call_command("migrate", interactive=False, verbosity=0)
    if "--seed" in arguments or not University.objects.exists():
        # All or nothing: half a catalogue would pass for a filled one at the next start.
        with transaction.atomic():
            call_command("seed", verbosity=0)


if __name__ == "__main__":
    main(sys.argv[1:])
