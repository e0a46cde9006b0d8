"""Reads settings from the environment and `.env`; the environment wins.

A value that can't be read is one Spanish sentence.
"""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent


class Env(environ.Env):  # type: ignore[misc]
    def get_value(self, var: Any, *args: Any, **kwargs: Any) -> Any:
        with _one_sentence(var):
            return super().get_value(var, *args, **kwargs)

    def db_url(self, var: Any, *args: Any, **kwargs: Any) -> Any:
        # The package prints a warning about a URL that names no database, and accepts it.
        with _one_sentence(var), warnings.catch_warnings(action="ignore"):
            config = super().db_url(var, *args, **kwargs)
            if not config.get("ENGINE"):
                raise ValueError(var)
            return config

    def email_url(self, var: Any, *args: Any, **kwargs: Any) -> Any:
        with _one_sentence(var):
            return super().email_url(var, *args, **kwargs)


@contextmanager
def _one_sentence(var: Any) -> Iterator[None]:
    try:
        yield
    except (ValueError, ImproperlyConfigured) as error:
        raise ImproperlyConfigured(f"{var} tiene un valor que no se entiende.") from error


env = Env()
Env.read_env(BASE_DIR / env.str("ENV_FILE", default=".env"))
# Management commands include the workers and the clock. Other processes serve the web or run tests.
IS_COMMAND = Path(sys.argv[0]).name == "manage.py"
# `make run` writes the settings of its shop to var/dev.env, so that `manage.py` works on the same
# shop. Only `manage.py` reads the file, and only if no setting suggests a deployment: a deployment
# that forgot its SECRET_KEY must not start in debug mode.
_deployed = any(
    env.str(name, default="") for name in ("ENV_FILE", "DEBUG", "SECRET_KEY", "ALLOWED_HOSTS")
) or env.str("SITE_URL", default="").startswith("https:")
if IS_COMMAND and not _deployed:
    Env.read_env(BASE_DIR / "var" / "dev.env")


def known_settings() -> set[str]:
    """The names of all settings that the modules of this package read."""
    modules = sorted(Path(__file__).parent.glob("*.py"))
    source = "".join(module.read_text(encoding="utf-8") for module in modules)
    return set(re.findall(r"""\benv\.\w+\(\s*["']([A-Z0-9_]+)["']""", source))
