"""Reads settings from the environment. A value that can't be read is one Spanish sentence."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured


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
