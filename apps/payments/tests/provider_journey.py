"""The same calls at two providers, and their answers reduced to what can be compared."""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

import requests
import stripe
from stripe._object_classes import get_object_class

Answer = dict[str, Any]
ID = re.compile(r"(pi|cus|pm|ch|re|evt|seti|txn|req|tok)_\w+")


@dataclass
class Provider:
    """One of the two. What only one of them wants to be told is in `extra`, by the step's name."""

    url: str
    secret_key: str
    card_key: str
    extra: dict[str, dict[str, str]] = field(default_factory=dict)
    answers: dict[str, tuple[int, Answer]] = field(default_factory=dict)

    def call(self, step: str, line: str, params: dict[str, str] | None = None) -> Answer:
        """Call, and keep the answer under the step's name."""
        method, path = line.split(" ")
        key = self.card_key if step.startswith("a card") else self.secret_key
        sent = {**(params or {}), **self.extra.get(step, {})}
        answer = requests.request(
            method,
            f"{self.url}/v1/{path}",
            **{"params" if method == "GET" else "data": sent},
            headers={"Authorization": f"Bearer {key}"} if step != "no key" else {},
            timeout=10,
        )
        self.answers[step] = (answer.status_code, answer.json())
        return self.answers[step][1]


def journey(at: Provider) -> dict[str, tuple[int, Answer]]:
    """A customer who pays, is refused, has money given back; and what is asked wrongly."""
    customer = at.call(
        "a customer",
        "POST customers",
        {"email": "ana@example.com", "name": "Ana Pérez", "metadata[order_id]": "7"},
    )["id"]
    at.call("the customer again", f"GET customers/{customer}")
    at.call("the customer changed", f"POST customers/{customer}", {"metadata[plan]": "x"})
    at.call("customers", "GET customers")

    card = at.call("a card", "POST payment_methods", _card("4242424242424242"))["id"]
    at.call("the card kept", f"POST payment_methods/{card}/attach", {"customer": customer})
    at.call("the card again", f"GET payment_methods/{card}")
    at.call("cards kept", "GET payment_methods", {"customer": customer, "type": "card"})

    new = {"amount": "12345", "currency": "eur", "customer": customer, "metadata[order_id]": "7"}
    intent = at.call("a payment", "POST payment_intents", new)["id"]
    at.call("the payment again", f"GET payment_intents/{intent}")
    at.call("the payment with a card", f"POST payment_intents/{intent}", {"payment_method": card})
    paid = at.call("the payment confirmed", f"POST payment_intents/{intent}/confirm")
    charge = paid["latest_charge"]
    charge = charge["id"] if isinstance(charge, dict) else charge
    at.call("confirmed twice", f"POST payment_intents/{intent}/confirm")
    at.call("canceled after it was paid", f"POST payment_intents/{intent}/cancel")
    at.call("the charge", f"GET charges/{charge}")
    at.call("payments", "GET payment_intents")

    given_back = {"payment_intent": intent, "amount": "345"}
    refund = at.call("a refund", "POST refunds", given_back)["id"]
    at.call("the refund again", f"GET refunds/{refund}")
    at.call("refunds", "GET refunds", {"payment_intent": intent})
    at.call("the charge after the refund", f"GET charges/{charge}")
    at.call("too much back", "POST refunds", {"payment_intent": intent, "amount": "12001"})

    other = at.call("another payment", "POST payment_intents", new)["id"]
    at.call("canceled", f"POST payment_intents/{other}/cancel")
    at.call("canceled twice", f"POST payment_intents/{other}/cancel")

    weak = at.call("a card refused later", "POST payment_methods", _card("4000000000000341"))["id"]
    at.call("the weak card kept", f"POST payment_methods/{weak}/attach", {"customer": customer})
    with_card = {**new, "payment_method": weak, "confirm": "true"}
    at.call("a payment that is declined", "POST payment_intents", with_card)
    asked = at.call("a card with 3-D Secure", "POST payment_methods", _card("4000002760003184"))
    with_card = {**new, "payment_method": asked["id"], "confirm": "true"}
    at.call("a payment with 3-D Secure", "POST payment_intents", with_card)
    dead = at.call("a card declined", "POST payment_methods", _card("4000000000000002"))["id"]
    at.call("the declined card kept", f"POST payment_methods/{dead}/attach", {"customer": customer})
    at.call("the card given up", f"POST payment_methods/{card}/detach")

    at.call("no key", "GET customers")
    at.call("an unknown customer", "GET customers/cus_unknown")
    at.call("an unknown payment", "GET payment_intents/pi_unknown")
    at.call("no amount", "POST payment_intents", {"currency": "eur"})
    at.call("an amount in words", "POST payment_intents", {**new, "amount": "ten"})
    at.call("an unknown parameter", "POST payment_intents", {**new, "foo": "1"})
    at.call("nobody to refund", "POST refunds", {"amount": "100"})
    at.call("events", "GET events", {"type": "payment_intent.succeeded"})
    at.call("the customer deleted", f"DELETE customers/{customer}")
    at.call("the deleted customer", f"GET customers/{customer}")
    return at.answers


def _card(number: str) -> dict[str, str]:
    return {
        "type": "card",
        "card[number]": number,
        "card[exp_month]": "12",
        "card[exp_year]": "2034",
        "card[cvc]": "123",
    }


class _Answer:
    """What an answer is that is no object of Stripe's: one with an error."""

    error: stripe.ErrorObject
    _inner_class_types: ClassVar = {"error": stripe.ErrorObject}


def differences(
    ours: dict[str, tuple[int, Answer]], theirs: dict[str, tuple[int, Answer]]
) -> dict[str, set[str]]:
    """What differs, by the field's name ("payment_intent.status"), with the steps it was seen in.

    A field that only one of them has is left out where Stripe's library says who is right: ours
    alone, and Stripe has it; theirs alone, and Stripe has it no more. Ids count by their kind,
    moments as a moment, and the sentences of errors and of cards' fingerprints not at all.
    """
    found: dict[str, set[str]] = {}

    def note(step: str, text: str) -> None:
        found.setdefault(text, set()).add(step)

    def compare(step: str, mine: Any, other: Any, name: str, type: Any) -> None:
        if isinstance(mine, dict) and isinstance(other, dict):
            kind = mine.get("object")
            if isinstance(kind, str):  # In an event's data "object" is an object.
                name, type = kind, get_object_class("V1", kind)
            for key in sorted(mine.keys() | other.keys()):
                inner = getattr(type, "_inner_class_types", {}).get(key)
                if key in mine and key in other:
                    compare(
                        step, mine[key], other[key], f"{name}.{key}".removeprefix("answer."), inner
                    )
                elif (key in mine) != is_stripes(type, key):
                    note(step, f"{name}.{key}: {'ours' if key in mine else 'theirs'} alone")
        elif isinstance(mine, list) and isinstance(other, list):
            if len(mine) != len(other):
                note(step, f"{name}: {len(mine)} != {len(other)}")
            for first, second in list(zip(mine, other, strict=False))[:1]:
                compare(step, first, second, name, type)
        elif (one := _reduced(name, mine)) != (two := _reduced(name, other)):
            note(step, f"{name}: {one!r} != {two!r}")

    for step, (status, answer) in ours.items():
        their_status, their_answer = theirs[step]
        if status != their_status:
            note(step, f"{step}: {status} != {their_status}")
        else:
            compare(step, answer, their_answer, "answer", _Answer)
    return found


def is_stripes(type: Any, name: str) -> bool:
    """Whether Stripe's objects of a class have a field."""
    return any(
        name in getattr(base, "__annotations__", {}) for base in getattr(type, "__mro__", ())
    )


def _reduced(name: str, value: Any) -> Any:
    if name in ("error.message", "payment_method.card.fingerprint"):
        return "a text"
    if isinstance(value, dict):
        return f"{value.get('object', 'an object')}"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        if "_secret_" in value:
            return "a secret"
        if found := ID.fullmatch(value):
            return f"{found[1]}_…"
    if isinstance(value, int) and value > 1_600_000_000:
        return "a moment"
    return value
