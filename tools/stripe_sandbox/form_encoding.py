"""Parse Stripe's form encoding: `a[b][0]=1&expand[]=customer` becomes nested dicts."""

import re
from typing import Any
from urllib.parse import parse_qsl

from .errors import ApiError

_KEY = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")
_PART = re.compile(r"\[([^\[\]]*)\]")
MAX_DEPTH = 8


def parse(encoded: str) -> dict[str, Any]:
    """Nested dicts of strings. A list becomes a dict with the keys "0", "1", ….

    Raises ApiError 400 if the text is not form-encoded, or if a parameter is both a value and a
    hash.
    """
    tree: dict[str, Any] = {}
    try:
        pairs = parse_qsl(encoded, keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError as error:
        raise ApiError(
            "Invalid request body: it must be form-encoded.", replayable=False
        ) from error
    for key, value in pairs:
        _insert(tree, key, value)
    return tree


def _insert(tree: dict[str, Any], key: str, value: str) -> None:
    match = _KEY.fullmatch(key)
    if match is None:
        raise ApiError(f"Invalid parameter name: {key}", param=key, replayable=False)
    path = [match[1], *_PART.findall(match[2])]
    if len(path) > MAX_DEPTH:
        raise ApiError(f"Parameter nested too deeply: {key}", param=key, replayable=False)
    node = tree
    for part in path[:-1]:
        node = node.setdefault(part or str(len(node)), {})
        if not isinstance(node, dict):
            raise ApiError(f"Invalid parameter: {key}", param=key, replayable=False)
    last = path[-1] or str(len(node))
    if isinstance(node.get(last), dict):
        raise ApiError(f"Invalid parameter: {key}", param=key, replayable=False)
    node[last] = value
