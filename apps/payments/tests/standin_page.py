"""The lists in academy/docs/stand-in.md, made of Stripe's library and of what the stand-in answers.

.venv/bin/python -m apps.payments.tests.standin_page    writes them anew
"""

import operator
import os
import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import stripe
from stripe._object_classes import get_object_class

from .provider_journey import Provider, journey
from .sandbox_process import PUBLISHABLE_KEY, ROOT, SECRET_KEY, SandboxProcess, running_sandbox

PAGE = ROOT / "academy" / "docs" / "stand-in.md"
START, END = "<!-- made by standin_page.py -->", "<!-- until here -->"


def with_lists(text: str, state_folder: Path) -> str:
    """The page with its lists as they are now."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{START}", *lists(state_folder), f"{END}{after}"])


def lists(state_folder: Path) -> list[str]:
    """Markdown: the fields that each kind of object lacks, the parameters each call refuses."""
    with running_sandbox(state_folder / "fields.sqlite3") as sandbox:
        seen = fields_seen(sandbox.state, use_everything(sandbox))
    return [
        "",
        "### Fields that its objects lack",
        "",
        *(
            f"- `{kind}`: {_names(missing)}"
            for kind, keys in sorted(seen.items())
            if (missing := _stripes_fields(get_object_class("V1", kind)) - keys)
        ),
        "",
        "### Parameters that it refuses",
        "",
        *(f"- `{call}`: {_names(names)}" for call, names in refused_parameters().items() if names),
        "",
    ]


def use_everything(sandbox: SandboxProcess) -> list[Any]:
    """At least one object of every kind, and what the calls for them answered."""
    steps = ("the payment confirmed", "confirmed twice", "a payment that is declined")
    back = {"return_url": "http://127.0.0.1/success"}
    extra = dict.fromkeys((*steps, "a payment with 3-D Secure"), back)
    answers = journey(Provider(sandbox.url, SECRET_KEY, PUBLISHABLE_KEY, extra))
    api = sandbox.client().v1
    endpoint = api.webhook_endpoints.create({"url": "http://127.0.0.1:9/", "enabled_events": ["*"]})
    api.customers.create({"email": "ana@example.com"})
    api.setup_intents.create({"payment_method": "pm_card_visa"})
    api.coupons.create({"amount_off": 100, "currency": "eur", "duration": "once"})
    session = api.checkout.sessions.create(
        {
            "mode": "payment",
            "expand": ["line_items"],
            "success_url": "http://127.0.0.1/success",
            "line_items": [
                {
                    "quantity": 1,
                    "price_data": {
                        "currency": "eur",
                        "unit_amount": 5000,
                        "product_data": {"name": "Cálculo"},
                    },
                }
            ],
        }
    )
    api.payment_intents.create(
        {
            "amount": 5000,
            "currency": "eur",
            "payment_method": "pm_card_createDispute",
            "confirm": True,
            **back,
        }
    )
    answered = [answer for _status, answer in answers.values()]
    return [*answered, endpoint.to_dict(), session.to_dict()]


def fields_seen(state: Path, answers: list[Any]) -> dict[str, set[str]]:
    """Every kind of object in a state file, with the fields that any of them has there or in an
    answer, where some are added."""
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
    """By call: what Stripe takes at its first level and the stand-in refuses by name."""
    os.environ.setdefault("STRIPE_SANDBOX", "1")
    from apps.payments.sandbox import params, routes

    refused: dict[str, set[str]] = {}
    for route in routes.ROUTES:
        types = operator.attrgetter(route.params)(stripe.params)
        path = re.sub(r"\(\?P<(\w+)>.*?\)", r":\1", route.pattern.pattern)
        taken = set(params.shape_of(types).fields) - {"expand"}
        removed = {name for kind, name in params.REMOVED if route.params.startswith(kind)}
        refused[f"{route.method} {path}"] = taken - route.supported - removed
    return refused


def _stripes_fields(type: type) -> set[str]:
    # "deleted" is the whole of an answer; the stand-in's have it.
    return {name for name in type.__annotations__ if name != "deleted" and re.match("[a-z]", name)}


def _names(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(with_lists(PAGE.read_text("utf-8"), Path(folder)), "utf-8")
