"""The logging configuration of every process, gunicorn included (docs/rules.md, "Logs")."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from academy.environment import env

# The time with its offset: the hour between two and three exists twice in October.
WITH_OFFSET = "%Y-%m-%dT%H:%M:%S%z"


def logging_config(*, debug: bool) -> dict[str, Any]:
    """The value of LOGGING: lines of text for developers, otherwise one JSON object per line.

    Every record has the `request_id` of the request that it belongs to, or that queued its task.
    """
    chosen = env.str("LOG_FORMAT", default="text" if debug else "json")
    if chosen not in ("text", "json"):
        raise ImproperlyConfigured("LOG_FORMAT solo admite text o json.")
    own = ["console"]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "request_id": {
                "()": "django_guid.log_filters.CorrelationId",
                "correlation_id_field": "request_id",
            }
        },
        "formatters": {
            "text": {
                "()": "apps.core.monitoring.logs.RedactingFormatter",
                "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
                "datefmt": WITH_OFFSET,
            },
            "json": {
                "()": "apps.core.monitoring.logs.RedactingJsonFormatter",
                "fmt": ["levelname", "name", "message", "request_id", "process"],
                "rename_fields": {"levelname": "level", "name": "logger"},
                "timestamp": "time",
                "json_ensure_ascii": False,
            },
        },
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": chosen,
                "filters": ["request_id"],
            },
            "errors": {
                "class": "logging.StreamHandler",
                "formatter": chosen,
                "filters": ["request_id"],
                "level": "ERROR",
            },
        },
        "loggers": {
            # Without Django's own handlers, which would print each line again, unredacted.
            "django": {"handlers": [], "level": "INFO"},
            # The package logs two lines for every request.
            "django_guid": {"level": "WARNING"},
            # Stripe's library logs one line per call, which repeats the shop's own lines.
            "stripe": {"level": "WARNING"},
            # The package logs each step of making the fonts of a PDF smaller.
            "fontTools": {"level": "WARNING"},
            # The package logs one line per change of a task's state. Only errors are shown. The
            # handler sets the level, because the command `worker` overwrites the level of these
            # loggers.
            "django_tasks": {"handlers": ["errors"], "propagate": False},
            "django_tasks_db": {"handlers": ["errors"], "propagate": False},
            # `--log-level` and ACCESS_LOG decide what gunicorn logs.
            "gunicorn.error": {"handlers": own, "propagate": False},
            "gunicorn.access": {"handlers": own, "propagate": False},
        },
        "root": {"handlers": own, "level": env.str("LOG_LEVEL", default="INFO")},
    }
