"""The web process. It ends with one sentence if the settings would cost money or trust."""

import os
import sys
from typing import NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application


def refuse(reason: str) -> NoReturn:
    """End this process. Status 3 tells gunicorn to end as well, instead of trying again."""
    print(f"No se puede arrancar: {reason}", file=sys.stderr, flush=True)
    sys.exit(3)


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "academy.settings")
try:
    application = get_wsgi_application()
except ImproperlyConfigured as error:
    refuse(str(error))

from django.core.checks import run_checks  # noqa: E402  (needs the settings)

from apps.core.checks import START  # noqa: E402  (needs the app registry)

if problems := [problem.msg for problem in run_checks(tags=[START]) if problem.is_serious()]:
    refuse(" ".join(problems))

from apps.payments.stripe.client import client  # noqa: E402  (needs the app registry)

# Two threads that came first at once would make a client each, with limits of its own.
client()
