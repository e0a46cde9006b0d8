"""Faults: API calls that fail or are slow, and events that are late, lost or forged.

Faults are in the state file, so they survive a restart. Whether a fault strikes depends on the
number of calls and on its seed, never on the clock, so a test run can be repeated exactly.
"""

import json
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import DOC_URL
from .http import Request, Response
from .store import Store, Transaction

CALL_FAULTS = {
    "slow": "answer after `seconds`",
    "timeout_before": "drop the connection after `seconds`, without executing the call",
    "timeout_after": "execute the call, then drop the connection after `seconds`",
    "error_500": "Stripe's internal error; with `work` the call is executed",
    "error_429": "Stripe's rate limit; the call is not executed",
    "html": "execute the call, answer 200 with a proxy's page",
    "truncated": "execute the call, answer 200 with half of the JSON",
    "empty": "execute the call, answer 200 with nothing",
}
EVENT_FAULTS = {
    "late": "first sent after `seconds`",
    "twice": "sent twice",
    "out_of_order": "events are collected for `seconds` (1) and sent newest first",
    "never": "not sent, but in the list of events",
    "forged": "a forgery (`how`) is sent once, before the event",
}
FORGERIES = {
    "wrong_signature": "the event's body, signed with another secret",
    "no_signature": "the event's body without a signature",
    "old_timestamp": "the event's body, signed an hour ago: a replay",
    "altered_body": "another body with the event's signature",
}
CALLERS = ("server", "browser")
LONGEST_SECONDS = 600
OUT_OF_ORDER_SECONDS = 1.0


class BadFault(Exception):
    """The description of a fault is not valid. The text says why."""


@dataclass(frozen=True)
class Fault:
    """A fault on the calls or events that match its target.

    `target` is a method and a path, or a type of event; `*` stands for any text. `nth` are the
    numbers of the matching calls that the fault strikes, counted from 1. Without `nth` and
    `probability` it strikes all of them.
    """

    id: int
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
        """Whether the fault strikes the matching call with this number, counted from 1."""
        if self.probability is not None:
            # One generator per call: parallel calls do not influence each other.
            return random.Random(f"{self.seed}:{number}").random() < self.probability  # noqa: S311
        return self.nth is None or number in self.nth


def parse(content: Any) -> dict[str, Any]:
    """Check the description of a fault. Raises BadFault with a message for the client."""
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
            raise BadFault(f'Unknown option "{name}": expected {_names(checks)}.')
        accepts, expected = checks[name]
        if not accepts(value):
            raise BadFault(f'"{name}" must be {expected}.')
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
    """The options that a fault of this kind accepts besides `do` and its target."""
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


def _fault(id: int, content: dict[str, Any]) -> Fault:
    nth = content.get("nth")
    default_seconds = OUT_OF_ORDER_SECONDS if content["do"] == "out_of_order" else 0.0
    return Fault(
        id=id,
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
    """The faults in the state file."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._removal = threading.Condition()

    def add(self, content: Any) -> dict[str, Any]:
        """Set a fault. Returns its description and id. Raises BadFault."""
        checked = parse(content)
        with self.store.writing() as tx:
            return {"id": tx.add_fault(json.dumps(checked)), **checked}

    def all(self) -> list[dict[str, Any]]:
        """Every fault, with the numbers of calls or events that it matched and struck."""
        with self.store.reading() as tx:
            return [
                {"id": row.id, **json.loads(row.body), "matched": row.matched, "struck": row.struck}
                for row in tx.faults()
            ]

    def remove(self, id: int | None = None) -> int:
        """Remove one fault, or all. Calls that they delay continue. Returns the number removed."""
        with self.store.writing() as tx:
            removed = tx.remove_faults(id)
        with self._removal:
            self._removal.notify_all()
        return removed

    def delay(self, fault: Fault) -> None:
        """Wait for the fault's `seconds`, or until somebody removes the fault."""
        deadline = time.monotonic() + fault.seconds
        with self._removal:
            while (left := deadline - time.monotonic()) > 0 and self._is_set(fault):
                self._removal.wait(left)

    def _is_set(self, fault: Fault) -> bool:
        with self.store.reading() as tx:
            return any(row.id == fault.id for row in tx.faults())

    def for_call(self, request: Request) -> Fault | None:
        """The oldest fault that strikes this call, if there is one."""
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
    """All faults that strike an event of this type."""
    return _struck(tx, "events", lambda fault: fault.matches(type), all_of_them=True)


def _struck(
    tx: Transaction, target: str, matches: Callable[[Fault], bool], *, all_of_them: bool = False
) -> list[Fault]:
    """The faults that strike now. Counts the call in every fault that matches it.

    A fault counts a matching call even if another fault strikes it first. So `nth` is the number
    of the call, whatever other faults are set.
    """
    striking: list[Fault] = []
    for row in tx.faults():
        content = json.loads(row.body)
        if target not in content or not matches(fault := _fault(row.id, content)):
            continue
        strikes = fault.strikes(row.matched + 1) and (all_of_them or not striking)
        tx.count_fault(row.id, struck=strikes)
        if strikes:
            striking.append(fault)
    return striking


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


def corrupted(response: Response, kind: str) -> Response:
    """The answer with status 200 and a body that is not the JSON of the API."""
    if kind == "html":
        return Response(PROXY_PAGE.encode(), 200, "text/html")
    body = response.body[: len(response.body) // 2] if kind == "truncated" else b""
    return Response(body, 200, headers=response.headers)
