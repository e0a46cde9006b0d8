"""Compare answers with the types of Stripe's own library, which come from its API description."""

import builtins
import sys
import types
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, ForwardRef, Literal, Union, get_args, get_origin

import stripe
from stripe._object_classes import get_object_class
from stripe._stripe_object import UntypedStripeObject


def problems(answer: dict[str, Any]) -> Iterator[str]:
    """A sentence for every field whose name or value is not in Stripe's library."""
    kind = answer.get("object")
    if kind == "list":
        for item in answer["data"]:
            yield from problems(item)
    elif "error" in answer:
        yield from _problems_in_fields(answer["error"], stripe.ErrorObject, "error")
    elif not isinstance(kind, str):
        yield f"an answer without an object: {answer}"
    else:
        yield from _problems_in_fields(answer, get_object_class("V1", kind), kind)


def _problems_in_fields(fields: dict[str, Any], type: Any, path: str) -> Iterator[str]:
    known = _annotations(type)
    for name, value in fields.items():
        if name not in known:
            yield f"{path}.{name} is unknown"
        else:
            yield from _problems(value, known[name], type, f"{path}.{name}")


def _problems(value: Any, annotation: Any, owner: Any, path: str) -> Iterator[str]:
    """The problems of one value: its type is wrong, or one of its own fields has a problem."""
    options = list(_options(annotation, owner))
    if isinstance(value, dict) and isinstance(value.get("object"), str):
        yield from problems(value)
    elif isinstance(value, dict) and (found := [o for o in options if _has_fields(o)]):
        yield from _problems_in_fields(value, found[0], path)
    elif isinstance(value, list) and (found := [o for o in options if get_origin(o) is list]):
        for item in value:
            yield from _problems(item, get_args(found[0])[0], owner, path)
    elif not _fits(value, options):
        yield f"{path} can't be {value!r}"


def _fits(value: Any, options: list[Any]) -> bool:
    literals = [choice for o in options if get_origin(o) is Literal for choice in get_args(o)]
    if isinstance(value, str) and literals:
        # The library adds `str` for future values. Today's API sends one of the literals.
        return value in literals
    if isinstance(value, dict):
        return any(get_origin(o) in (dict, UntypedStripeObject) for o in options)
    accepted = {option for option in options if isinstance(option, type)}
    if Decimal in accepted:  # The API sends a string, which the library converts.
        accepted.add(str)
    if float in accepted:
        accepted.add(int)
    return type(value) in accepted or value in literals


def _options(annotation: Any, owner: Any) -> Iterator[Any]:
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        annotation = eval(annotation, {}, _Names(vars(sys.modules[owner.__module__])))
    if get_origin(annotation) in (Union, types.UnionType):
        for option in get_args(annotation):
            yield from _options(option, owner)
    else:
        yield annotation


class _Names(dict[str, Any]):
    """The names in a module, and all classes of the library, which it imports lazily."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return getattr(stripe, name, stripe.StripeObject)


def _has_fields(option: Any) -> bool:
    return isinstance(option, type) and issubclass(option, stripe.StripeObject)


def _annotations(type: Any) -> dict[str, Any]:
    return {
        name: annotation
        for base in reversed(type.__mro__)
        for name, annotation in getattr(base, "__annotations__", {}).items()
    }
