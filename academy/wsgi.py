"""The web process. With unsafe settings it ends with one sentence (`apps.payments.checks`)."""

import gc
import os
import sys
from typing import NoReturn

import django
from django.core.exceptions import ImproperlyConfigured


def refuse(reason: str) -> NoReturn:
    """End this process. Status 3 tells gunicorn to end as well instead of restarting it."""
    print(f"No se puede arrancar: {reason}", file=sys.stderr, flush=True)
    sys.exit(3)


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "academy.settings")
# As in manage.py.
gc.disable()
try:
    django.setup(set_prefix=False)
    from apps.core.web.wsgi import Handler

    application = Handler()
except ImproperlyConfigured as error:
    refuse(str(error))

from django.core.checks import run_checks  # noqa: E402  (needs the settings)

from apps.core.checks import START  # noqa: E402  (needs the app registry)

if problems := [problem.msg for problem in run_checks(tags=[START]) if problem.is_serious()]:
    refuse(" ".join(problems))

from django.db import Error, connection  # noqa: E402  (needs the settings)

try:
    # A rehearsal's database refuses a process that does not rehearse.
    connection.ensure_connection()
except ImproperlyConfigured as error:
    refuse(str(error))
except Error:
    pass  # The database may be up later.
finally:
    # The workers are forked from this process, and must not share its connection.
    connection.close()

from apps.payments.stripe.client import client  # noqa: E402  (needs the app registry)

# Create Stripe's client before threads start. Otherwise two first requests could each create one,
# each with its own limits.
client()
