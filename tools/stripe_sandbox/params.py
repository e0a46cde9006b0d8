"""Check parameters against the TypedDicts of the official package (`stripe.params`).

These types come from Stripe's API description, so an unknown, missing or mistyped parameter fails
as it does at Stripe.
"""

import functools
import operator
import re
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ForwardRef, Literal, NotRequired, Required, Union, get_args, get_origin
from urllib.parse import parse_qsl

import stripe.params
from stripe._request_options import RequestOptions
from typing_extensions import is_typeddict

from .errors import ApiError, invalid_params

# The TypedDicts also contain options of the Python client (api_key, idempotency_key, …), which are
# sent as headers.
CLIENT_OPTIONS = frozenset(RequestOptions.__annotations__)
# Removed in API version 2026-09-30.endive, with error codes of their own (Stripe's changelog).
REMOVED = {
    (kind, "payment_method_types"): "payment_method_types_no_longer_supported"
    for kind in ("PaymentIntent", "SetupIntent", "checkout.Session")
}
INTEGER = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True)
class Value:
    """The values that one parameter may have: all options of its type annotation."""

    scalars: frozenset[type] = frozenset()
    literals: tuple[str, ...] = ()
    hash: type | None = None  # a TypedDict for nested parameters
    mapping: bool = False  # any keys with strings, such as metadata
    items: "Value | None" = None
    can_be_unset: bool = False  # the empty string is allowed


@dataclass(frozen=True)
class Shape:
    fields: Mapping[str, Value]
    required: tuple[str, ...] = field(default=())


@functools.cache
def shape_of(typed_dict: type) -> Shape:
    namespace = vars(sys.modules[typed_dict.__module__])
    fields = {
        name: _value(annotation, namespace)
        for name, annotation in typed_dict.__annotations__.items()
        if name not in CLIENT_OPTIONS
    }
    required: frozenset[str] = getattr(typed_dict, "__required_keys__", frozenset())
    return Shape(fields, tuple(name for name in fields if name in required))


def _value(annotation: Any, namespace: dict[str, Any]) -> Value:
    options = list(_flatten(annotation, namespace))
    scalars = frozenset(o for o in options if o in (str, int, float, bool))
    literals = tuple(v for o in options if get_origin(o) is Literal for v in get_args(o))
    lists = [o for o in options if get_origin(o) is list]
    hashes = [o for o in options if is_typeddict(o)]
    return Value(
        scalars=scalars,
        literals=tuple(v for v in literals if v != ""),
        hash=hashes[0] if hashes else None,
        mapping=any(get_origin(o) is dict for o in options),
        items=_value(get_args(lists[0])[0], namespace) if lists else None,
        can_be_unset="" in literals,
    )


def _flatten(annotation: Any, namespace: dict[str, Any]) -> Any:
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        annotation = eval(annotation, namespace)  # noqa: S307 - an annotation of the stripe package
    origin = get_origin(annotation)
    if origin in (NotRequired, Required, Union, types.UnionType):
        for option in get_args(annotation):
            yield from _flatten(option, namespace)
    else:
        yield annotation


def check(
    typed_dict_name: str, raw: dict[str, Any], *, supported: frozenset[str], also: frozenset[str]
) -> dict[str, Any]:
    """Convert the strings of `parse_form` to int, bool, list, dict or str.

    `also` names string parameters that only Stripe.js sends and the package does not know. Raises
    ApiError 400 as Stripe does, and for parameters of Stripe that are not `supported` here.
    """
    for (resource, name), code in REMOVED.items():
        if name in raw and typed_dict_name.startswith(resource):
            raise invalid_params(f"The parameter {name} is no longer supported.", name, code)
    # A dotted name, such as "checkout.SessionCreateParams", is in a submodule.
    shape = shape_of(operator.attrgetter(typed_dict_name)(stripe.params))
    extra = {name: Value(scalars=frozenset({str})) for name in also if name not in shape.fields}
    shape = Shape({**shape.fields, **extra}, shape.required)
    checked = _checked_hash(raw, shape, "")
    for name in checked:
        if name not in supported and name not in also and name != "expand":
            raise ApiError(
                f"The Stripe sandbox does not implement the parameter {name}.",
                code="sandbox_unsupported",
                param=name,
                replayable=False,
            )
    return checked


def _checked_hash(raw: dict[str, Any], shape: Shape, path: str) -> dict[str, Any]:
    unknown = [_join(path, name) for name in raw if name not in shape.fields]
    if unknown:
        plural = "s" if len(unknown) > 1 else ""
        raise invalid_params(
            f"Received unknown parameter{plural}: {', '.join(unknown)}",
            unknown[0],
            "parameter_unknown",
        )
    for name in shape.required:
        if name not in raw:
            full = _join(path, name)
            raise invalid_params(f"Missing required param: {full}.", full, "parameter_missing")
    return {
        name: _coerce(shape.fields[name], value, _join(path, name)) for name, value in raw.items()
    }


def _coerce(value: Value, raw: Any, path: str) -> Any:
    if isinstance(raw, str):
        return _scalar(value, raw, path)
    if value.items is not None and all(key.isdigit() for key in raw):
        ordered = sorted(raw.items(), key=lambda item: int(item[0]))
        return [_coerce(value.items, item, f"{path}[{index}]") for index, item in ordered]
    if value.hash is not None:
        return _checked_hash(raw, shape_of(value.hash), path)
    if value.mapping and all(isinstance(item, str) for item in raw.values()):
        return raw
    raise _invalid(raw, path)


def _scalar(value: Value, raw: str, path: str) -> Any:
    if raw in value.literals or (raw == "" and value.can_be_unset):
        return raw
    if raw == "":
        raise invalid_params(
            f"You passed an empty string for '{path}', which cannot be unset. You should remove "
            f"'{path}' from your request or supply a non-empty value.",
            path,
            "parameter_invalid_empty",
        )
    if bool in value.scalars and raw in ("true", "false"):
        return raw == "true"
    if int in value.scalars and INTEGER.fullmatch(raw):
        return int(raw)
    # The package types literals as "Literal[…] | str" for future values. The API refuses others.
    if str in value.scalars and not value.literals:
        return raw
    raise _invalid(raw, path)


def _invalid(raw: Any, path: str) -> ApiError:
    return invalid_params(f"Invalid value for {path}: {raw}", path)


def _join(path: str, name: str) -> str:
    return f"{path}[{name}]" if path else name


_KEY = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")
_PART = re.compile(r"\[([^\[\]]*)\]")
MAX_DEPTH = 8


def parse_form(encoded: str) -> dict[str, Any]:
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
