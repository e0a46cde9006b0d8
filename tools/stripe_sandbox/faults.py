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


OPTIONS = {"do", "nth", "probability", "seed", "caller", "seconds", "work", "how"}


def parse(content: Any) -> dict[str, Any]:
    """Check the description of a fault. Raises BadFault with a message for the client."""
    given: dict[str, Any] = content if isinstance(content, dict) else {}
    targets = given.keys() & {"calls", "events"}
    if len(targets) != 1:
        raise BadFault('Expected an object with either "calls" or "events".')
    kinds = CALL_FAULTS if targets == {"calls"} else EVENT_FAULTS
    if given.get("do") not in list(kinds):
        raise BadFault(f'"do" must be one of {", ".join(kinds)}.')
    if unknown := given.keys() - OPTIONS - targets:
        raise BadFault(f'Unknown option "{min(unknown)}": expected {", ".join(sorted(OPTIONS))}.')
    if given.get("how", "wrong_signature") not in FORGERIES:
        raise BadFault(f'"how" must be one of {", ".join(FORGERIES)}.')
    if given["do"] in ("slow", "late") and "seconds" not in given:
        raise BadFault(f'"{given["do"]}" needs "seconds".')
    return given


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
