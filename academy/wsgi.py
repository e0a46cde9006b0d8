"""The web process. Stops with one sentence where the settings would cost money or trust."""

import os
import sys

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "academy.settings")
application = get_wsgi_application()

from apps.payments.checks import configuration_problems  # noqa: E402  (needs the app registry)

if problems := configuration_problems():
    print("No se puede arrancar: " + " ".join(problems), file=sys.stderr, flush=True)
    sys.exit(3)  # To gunicorn: this worker will never boot, so end instead of trying for ever.
