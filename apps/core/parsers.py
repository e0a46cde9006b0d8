import json
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import exceptions, parsers


class StrictJSONParser(parsers.JSONParser):
    """A JSON parser that refuses very deep nesting and invalid Unicode with a 400.

    Python's parser raises RecursionError for very deep nesting. It accepts lone surrogates, which
    databases refuse.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
            json.dumps(data, ensure_ascii=False).encode()
        except (RecursionError, UnicodeEncodeError) as error:
            raise exceptions.ParseError from error
        return data
