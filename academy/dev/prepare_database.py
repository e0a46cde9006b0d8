"""`python -m academy.dev.prepare_database [--seed]`: migrate, and fill an empty database.

One process for both, since half of the time each takes is Django's start. Runs inside `.venv`.
"""

import os
import sys

import django


def main(arguments: list[str]) -> None:
    """Bring the database of DATABASE_URL up to date; `--seed` adds what new sample data there is.

    Without DEBUG there is no sample data: nobody sells it by mistake.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "academy.settings")
    django.setup()

    from django.conf import settings
    from django.core.management import CommandError, call_command
    from django.db import OperationalError

    from apps.payments.checks import configuration_problems

    if problems := configuration_problems():
        sys.exit(" ".join(problems))
    try:
        call_command("migrate", interactive=False, verbosity=0)
        if settings.DEBUG:
            call_command("seed", if_empty="--seed" not in arguments)
    except (CommandError, OperationalError) as error:
        # A missing key or a server that isn't there: the developer needs the sentence alone.
        sys.exit(str(error).strip())


if __name__ == "__main__":
    main(sys.argv[1:])
