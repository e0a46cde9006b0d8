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


# Characters of a visitor's text that end a line, move a terminal's cursor or turn the direction of
# writing, and half characters, which no output can encode.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# journald splits lines of more than 48 KB.
LONGEST_TEXT = 4_000
LONGEST_TRACEBACK = 16_000
_TRACEBACKS = ("exc_info", "stack_info")


def redacted(text: str) -> str:
    return SECRETS.sub(_HIDDEN, text)


def printable(text: str) -> str:
    """The text as one short line without secrets."""
    # Redacted first: the beginning of a token that was cut off would be logged.
    line = _on_one_line(redacted(text))
    return line if len(line) <= LONGEST_TEXT else f"{line[:LONGEST_TEXT]}[…{len(line)}]"


def _on_one_line(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _traceback(text: str, indent: str = "") -> str:
    """The end of a traceback, which names the error. Only its own lines end."""
    # Twice as much is redacted: that may shorten it. It begins with a whole word.
    if len(text) > 2 * LONGEST_TRACEBACK:
        text = text[-2 * LONGEST_TRACEBACK :].partition(" ")[2]
    kept = redacted(text)[-LONGEST_TRACEBACK:]
    return "\n".join(indent + _on_one_line(line) for line in kept.split("\n"))


class RedactingFormatter(logging.Formatter):
    """Formats a record as a line of text, and its traceback as indented lines.

    Django logs the path of every 4xx and 5xx response and of every form that fails the CSRF check.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return _traceback(super().formatException(ei), indent="  ")

    def formatStack(self, stack_info: str) -> str:
        return _traceback(super().formatStack(stack_info), indent="  ")


class RedactingJsonFormatter(JsonFormatter):
    """Formats a record as one JSON object, with its `extra` fields."""

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        # Before the encoding: a quote or a line break in JSON is written with a backslash.
        log_data.pop("request", None)  # Django's request object, whose text is in the message.
        return {name: _redacted_value(name, value) for name, value in log_data.items()}


def _redacted_value(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone().isoformat(timespec="milliseconds")
    if value is None or isinstance(value, int | float):
        return value
    return _traceback(str(value)) if name in _TRACEBACKS else printable(str(value))
