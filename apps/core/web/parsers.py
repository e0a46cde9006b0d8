"""Parsing of JSON bodies, with limits that apply before a serializer sees the data.

See docs/rules.md, "Body limits".
"""

import json
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import exceptions, parsers

from apps.core.errors import Invalid, TooLarge

# The deepest body of the contract is that of the budget form: a subject's id is on level 4.
MAX_DEPTH = 6
# A cart of 60 subjects, the most that a checkout accepts, has 300 values.
MAX_VALUES = 2000
MAX_LIST_LENGTH = 200
TOO_DEEP = "La petición tiene demasiados niveles."
TOO_MANY_VALUES = f"La petición no puede tener más de {MAX_VALUES} valores."
LIST_TOO_LONG = f"Una lista no puede tener más de {MAX_LIST_LENGTH} elementos."
BODY_LIMITS = (TOO_DEEP, TOO_MANY_VALUES, LIST_TOO_LONG)


class StrictJSONParser(parsers.JSONParser):
    """Parses a JSON object of bounded size, depth and number of values.

    The view's `largest_body` bounds the size. Raises ParseError, Invalid or TooLarge.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        largest_body = (parser_context or {})["view"].largest_body
        body = stream.read(largest_body + 1)
        if len(body) > largest_body:
            raise TooLarge
        try:
            data = json.loads(body.decode(), parse_constant=_refuse_constant)
        # A number of more than 4,300 digits is a ValueError. Python's parser recurses.
        except (ValueError, RecursionError) as error:
            raise exceptions.ParseError from error
        if not isinstance(data, dict):
            raise Invalid("El contenido de la petición debe ser un objeto JSON.")
        check_limits(data)
        return data


def _refuse_constant(name: str) -> None:
    """Refuse `NaN` and `Infinity`, which Python reads and JSON does not have."""
    raise ValueError(name)


def check_limits(data: Any) -> None:
    """Raise Invalid for parsed JSON that is too deep or too long, or has invalid Unicode."""
    level, count = [data], 1
    for _ in range(MAX_DEPTH):
        children: list[Any] = []
        for value in level:
            if isinstance(value, str):
                _check_text(value)
            elif isinstance(value, dict):
                for key in value:
                    _check_text(key)
                children += value.values()
            elif isinstance(value, list):
                if len(value) > MAX_LIST_LENGTH:
                    raise Invalid(LIST_TOO_LONG)
                children += value
            if count + len(children) > MAX_VALUES:
                raise Invalid(TOO_MANY_VALUES)
        count += len(children)
        level = children
        if not level:
            return
    raise Invalid(TOO_DEEP)


def _check_text(text: str) -> None:
    """Refuse lone surrogates, which JSON can escape and databases can't store."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise exceptions.ParseError from error
