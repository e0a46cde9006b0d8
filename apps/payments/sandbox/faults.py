"""What the stand-in does wrong on purpose: calls that go amiss, and events that come oddly.

Kept in the state file, so a restart changes nothing. Which fault strikes depends on what was set
and on how many calls came, never on the clock: a run with the same seeds goes the same way.
"""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import DOC_URL
from .http import Request, Response
from .store import Store, Transaction

CALL_FAULTS = {
    "slow": "wait `seconds`, then answer as ever",
    "timeout_before": "do nothing; drop the connection, after `seconds` of silence",
    "timeout_after": "do the work; drop the connection, after `seconds` of silence",
    "error_500": "Stripe's internal error, kept for the idempotency key; `work`: after the work",
    "error_429": "Stripe's rate limit; nothing is done",
    "html": "do the work, answer with a proxy's page (200)",
    "truncated": "do the work, answer with half of the JSON (200)",
    "empty": "do the work, answer with nothing (200)",
}
EVENT_FAULTS = {
    "late": "first sent after `seconds`",
    "twice": "sent two times",
    "out_of_order": "those within `seconds` (1) are kept back together and sent newest first",
    "never": "not sent at all; the event is in the list of events",
    "forged": "a forgery of it (`how`) is sent as well, once, before it",
}
FORGERIES = {
    "wrong_signature": "the true body, signed with another secret",
    "no_signature": "the true body without a signature",
    "old_timestamp": "the true body and secret, signed an hour ago: a replay",
    "altered_body": "another event, with the signature of the true one",
}
CALLERS = ("server", "browser")
LONGEST_SECONDS = 600
OUT_OF_ORDER_SECONDS = 1.0


class BadFault(Exception):
    """A fault that can't be set; its text says why."""


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong, on the matching calls or events that it is told to strike.

    `target` is "POST /v1/payment_intents" or an event's type, `*` standing for anything. `nth`
    counts what matched from 1; None, without a `probability`, strikes every time.
    """

    kind: str
    target: str
    caller: str | None = None
    seconds: float = 0.0
    work: bool = False
    how: str = "wrong_signature"
    nth: tuple[int, ...] | None = None
    probability: float | None = None
    seed: int = 0

    def matches(self, text: str) -> bool:
        return bool(re.fullmatch(".*".join(map(re.escape, self.target.split("*"))), text))

    def strikes(self, number: int) -> bool:
        """Whether the matching call with this number, from 1, is hit."""
        if self.probability is not None:
            # A generator of its own for each call: the outcome of one hangs on no other.
            return random.Random(f"{self.seed}:{number}").random() < self.probability  # noqa: S311
        return self.nth is None or number in self.nth


def parse(content: Any) -> dict[str, Any]:
    """The description of a fault, checked. Raises BadFault with a sentence for whoever sent it."""
    if not isinstance(content, dict):
        raise BadFault("Expected a JSON object.")
    if ("calls" in content) == ("events" in content):
        raise BadFault('Expected either "calls" or "events".')
    target = "calls" if "calls" in content else "events"
    kinds = CALL_FAULTS if target == "calls" else EVENT_FAULTS
    if content.get("do") not in list(kinds):
        raise BadFault(f'"do" must be one of {_names(kinds)}.')
    checks = {target: CHECKS[target], "do": CHECKS["do"], **_options(target, content["do"])}
    for name, value in content.items():
        if name not in checks:
            raise BadFault(f'"{name}" means nothing here: expected {_names(checks)}.')
        accepts, wanted = checks[name]
        if not accepts(value):
            raise BadFault(f'"{name}" must be {wanted}.')
    if content["do"] in ("slow", "late") and "seconds" not in content:
        raise BadFault(f'"{content["do"]}" needs "seconds".')
    if "nth" in content and "probability" in content:
        raise BadFault('Expected only one of "nth" and "probability".')
    if "seed" in content and "probability" not in content:
        raise BadFault('"seed" goes with "probability".')
    return content


def _names(names: Any) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _is_nth(value: Any) -> bool:
    numbers = value if isinstance(value, list) else [value]
    return bool(numbers) and all(type(number) is int and number >= 1 for number in numbers)


def _is_number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


Check = tuple[Callable[[Any], bool], str]
CHECKS: dict[str, Check] = {
    "calls": (
        lambda value: (
            isinstance(value, str)
            and (value == "*" or bool(re.fullmatch(r"(GET|POST|DELETE|\*) /v1/\S+", value)))
        ),
        'a method and a path such as "POST /v1/payment_intents/*/cancel", or "*"',
    ),
    "events": (
        lambda value: isinstance(value, str) and bool(re.fullmatch(r"[a-z_.*]+", value)),
        'a type of event such as "payment_intent.succeeded" or "payment_intent.*"',
    ),
    "do": (lambda value: True, ""),
    "nth": (_is_nth, "a number from 1, or a list of them"),
    "probability": (lambda value: _is_number(value, 0, 1), "a number from 0 to 1"),
    "seed": (lambda value: type(value) is int, "a whole number"),
    "caller": (lambda value: value in CALLERS, f"one of {_names(CALLERS)}"),
    "seconds": (
        lambda value: _is_number(value, 0, LONGEST_SECONDS),
        f"a number from 0 to {LONGEST_SECONDS}",
    ),
    "work": (lambda value: isinstance(value, bool), "true or false"),
    "how": (lambda value: value in list(FORGERIES), f"one of {_names(FORGERIES)}"),
}


def _options(target: str, kind: str) -> dict[str, Check]:
    """What may be said of a fault of this kind, beside what it is and what it strikes."""
    names = ["nth", "probability", "seed"]
    if target == "calls":
        names.append("caller")
    if kind in ("slow", "timeout_before", "timeout_after", "late", "out_of_order"):
        names.append("seconds")
    if kind == "error_500":
        names.append("work")
    if kind == "forged":
        names.append("how")
    return {name: CHECKS[name] for name in names}


def _fault(content: dict[str, Any]) -> Fault:
    nth = content.get("nth")
    default_seconds = OUT_OF_ORDER_SECONDS if content["do"] == "out_of_order" else 0.0
    return Fault(
        kind=content["do"],
        target=content.get("calls") or content["events"],
        caller=content.get("caller"),
        seconds=content.get("seconds", default_seconds),
        work=content.get("work", False),
        how=content.get("how", "wrong_signature"),
        nth=None if nth is None else tuple(nth if isinstance(nth, list) else [nth]),
        probability=content.get("probability"),
        seed=content.get("seed", 0),
    )


class Faults:
    """The faults that are set, for the controls and for the calls."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, content: Any) -> dict[str, Any]:
        """Set a fault; answers it with its id. Raises BadFault."""
        checked = parse(content)
        with self.store.writing() as tx:
            return {"id": tx.add_fault(json.dumps(checked)), **checked}

    def all(self) -> list[dict[str, Any]]:
        """Every fault, with how many calls or events matched and how many were struck."""
        with self.store.reading() as tx:
            return [
                {"id": row.id, **json.loads(row.body), "matched": row.matched, "struck": row.struck}
                for row in tx.faults()
            ]

    def remove(self, id: int | None = None) -> int:
        """Take one fault back, or all; how many there were."""
        with self.store.writing() as tx:
            return tx.remove_faults(id)

    def for_call(self, request: Request) -> Fault | None:
        """The fault that strikes this call: the first set of those whose turn it is."""
        with self.store.reading() as tx:
            if not tx.faults():
                return None
        caller = "browser" if " pk_" in request.headers.get("authorization", "") else "server"
        line = f"{request.method} {request.path}"
        with self.store.writing() as tx:
            struck = _struck(
                tx, "calls", lambda fault: fault.matches(line) and fault.caller in (None, caller)
            )
        return struck[0] if struck else None


def for_event(tx: Transaction, type: str) -> list[Fault]:
    """The faults that strike an event of this type; they add up."""
    return _struck(tx, "events", lambda fault: fault.matches(type), all_of_them=True)


def _struck(
    tx: Transaction, target: str, matches: Callable[[Fault], bool], *, all_of_them: bool = False
) -> list[Fault]:
    """Count what matches in each fault, and answer those that strike now.

    Each fault counts every call that matches, also where another one strikes first: so the
    numbers of `nth` are those of the calls.
    """
    found: list[Fault] = []
    for row in tx.faults():
        content = json.loads(row.body)
        if target not in content or not matches(fault := _fault(content)):
            continue
        strikes = fault.strikes(row.matched + 1) and (all_of_them or not found)
        tx.count_fault(row.id, struck=strikes)
        if strikes:
            found.append(fault)
    return found


RATE_LIMIT = {
    "error": {
        "code": "rate_limit",
        "doc_url": f"{DOC_URL}rate-limit",
        "message": (
            "Request rate limit exceeded. Learn more about rate limits here "
            "https://stripe.com/docs/rate-limits."
        ),
        "type": "invalid_request_error",
    }
}
INTERNAL_ERROR = {
    "error": {
        "message": (
            "Sorry! There was an error while talking to one of our backends. Support has been "
            "notified."
        ),
        "type": "api_error",
    }
}
PROXY_PAGE = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
    "<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
)


def garbled(response: Response, kind: str) -> Response:
    """An answer as it comes where something on the way broke: with its status, without its JSON."""
    if kind == "html":
        return Response(PROXY_PAGE.encode(), 200, "text/html")
    body = response.body[: len(response.body) // 2] if kind == "truncated" else b""
    return Response(body, 200, headers=response.headers)
