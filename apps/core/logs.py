"""Removing secrets from log lines (docs/rules.md, "Logs")."""

import logging
import re

# The query string of a URL, and the tokens of the one-time links of students and of staff.
SECRETS = re.compile(
    r"(?<=/aula/acceso/)[^\s'\"]+|(?<=/admin/nueva-clave/)[^\s'\"]+|(?<=\?)[\w.~%+\-]+=[^\s'\"]*"
)


def redacted(text: str) -> str:
    return SECRETS.sub("[…]", text)


class RedactingFormatter(logging.Formatter):
    """Formats a record with its traceback and removes secrets from it.

    Django logs the path of every 4xx and 5xx response and of every form that fails the CSRF check.
    """

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
