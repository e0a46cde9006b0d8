"""Generate the lists of LIMITS.md: Stripe's library compared with the sandbox.

`python -m tools.stripe_sandbox.tests.limits` writes them.
"""

import operator
import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import stripe
from stripe._object_classes import get_object_class

from .. import params, routes
from ..testing import running_sandbox
from .sample_calls import make_calls

PAGE = Path(__file__).resolve().parents[1] / "LIMITS.md"
START, END = "<!-- lists: begin -->", "<!-- lists: end -->"


def with_lists(text: str, state_folder: Path) -> str:
    """The document with current lists."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{START}", *lists(state_folder), f"{END}{after}"])


def lists(state_folder: Path) -> list[str]:
    """The missing fields of each kind of object and the refused parameters of each call."""
    with running_sandbox(state_folder / "fields.sqlite3") as sandbox:
        seen = fields_seen(sandbox.state, make_calls(sandbox))
    return [
        "",
        "### Missing fields",
        "",
        *(
            f"- `{kind}`: {_names(missing)}"
            for kind, keys in sorted(seen.items())
            if (missing := _stripes_fields(get_object_class("V1", kind)) - keys)
        ),
        "",
        "### Refused parameters",
        "",
        *(f"- `{call}`: {_names(names)}" for call, names in refused_parameters().items() if names),
        "",
    ]


def fields_seen(state: Path, answers: list[Any]) -> dict[str, set[str]]:
    """By kind of object: all fields in the state file and in the answers."""
    seen: dict[str, set[str]] = {}
    with closing(sqlite3.connect(state)) as database:
        for kind, key in database.execute(
            "SELECT DISTINCT kind, key FROM objects, json_each(objects.body)"
        ):
            seen.setdefault(kind, set()).add(key)
    for answer in answers:
        for object in answer.get("data", [answer]) if isinstance(answer, dict) else []:
            if object.get("object") in seen:
                seen[object["object"]] |= object.keys()
    return seen


def refused_parameters() -> dict[str, set[str]]:
    """By call: the top-level parameters of Stripe that the sandbox does not implement."""
    refused: dict[str, set[str]] = {}
    for route in routes.ROUTES:
        types = operator.attrgetter(route.params)(stripe.params)
        path = re.sub(r"\(\?P<(\w+)>.*?\)", r":\1", route.pattern.pattern)
        taken = set(params.shape_of(types).fields) - {"expand"}
        removed = {name for kind, name in params.REMOVED if route.params.startswith(kind)}
        refused[f"{route.method} {path}"] = taken - route.supported - removed
    return refused


def _stripes_fields(type: type) -> set[str]:
    # The answer for a deleted object has "deleted", in the sandbox too.
    return {name for name in type.__annotations__ if name != "deleted" and re.match("[a-z]", name)}


def _names(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(with_lists(PAGE.read_text("utf-8"), Path(folder)), "utf-8")
