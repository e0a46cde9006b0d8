import json
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import exceptions, parsers


class StrictJSONParser(parsers.JSONParser):
    """JSON that the rest of the code can store: bounded nesting, and text that is real Unicode.

    Python's reader gives up on very deep nesting with RecursionError, and lets lone surrogates
    through, which no database takes. Both are the client's mistake, so both are a 400.
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
