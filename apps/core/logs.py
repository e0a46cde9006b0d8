"""Log lines without secrets and addresses, as text or as JSON (docs/rules.md, "Logs").

The module must not import Django: gunicorn loads it before the settings.
"""

import logging
import re
from datetime import datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter

_HIDDEN = "[…]"
# The two long patterns begin where their characters begin: begun at each character of a long path,
# the search would take as many steps as the square of its length.
SECRETS = re.compile(
    "|".join(
        (
            # The query string of an address.
            r"(?<=\?)[\w.~%+\-]+=[^\s'\"]*",
            # An e-mail address.
            r"(?<![\w.+%\-])[\w.+%\-]+(?:@|%40)[\w\-]+(?:\.[\w\-]+)+",
            # What Django's `signing` has signed: sign-in links, quotes, cookies.
            r"(?<![\w\-:.])[\w\-:.]+[:.][\w\-]{43}(?![\w\-])",
            # A digest in hexadecimal: the token of an order.
            r"\b[0-9a-f]{64}\b",
            # Keys of Stripe and the part of a client secret that is secret.
            r"\b(?:[sr]k_(?:live|test)|whsec)_\w+",
            r"(?<=_secret_)\w+",
        )
    )
)


def redacted(text: str) -> str:
    return SECRETS.sub(_HIDDEN, text)


class RedactingFormatter(logging.Formatter):
    """Formats a record as a line of text, with its traceback.

    Django logs the path of every 4xx and 5xx response and of every form that fails the CSRF check.
    """

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))


class RedactingJsonFormatter(JsonFormatter):
    """Formats a record as one JSON object, with its `extra` fields."""

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        # Before the encoding: a quote or a line break in JSON is written with a backslash.
        log_data.pop("request", None)  # Django's request object, whose text is in the message.
        return {name: _redacted_value(value) for name, value in log_data.items()}


def _redacted_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone().isoformat(timespec="milliseconds")
    return value if value is None or isinstance(value, int | float) else redacted(str(value))
