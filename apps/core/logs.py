"""Logs without secrets: "Tokens and client secrets never reach a log" (decisions.md)."""

import logging
import re

# Whatever follows a question mark in an address, and the token of the classroom's one-time link.
SECRETS = re.compile(r"(?<=/aula/acceso/)[^\s'\"]+|(?<=\?)[\w.~%+\-]+=[^\s'\"]*")


def redacted(text: str) -> str:
    return SECRETS.sub("[…]", text)


class RedactingFormatter(logging.Formatter):
    """Formats a record, traceback included, and takes out what only its owner may know.

    Django logs the path of every answer from 400 on, and of every form that it refuses.
    """

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
