"""The CPU time of the worst bodies, compared with an ordinary body of the same endpoint."""

import json
import time

import pytest
from django.test import Client

from apps.core.web.api import MAX_ERRORS, PublicAPIView
from tests.contract.test_api import PATHS

pytestmark = pytest.mark.django_db

MULTIPART = "/api/send-preview-contact"
SENDS = sorted(path for path, methods in PATHS.items() if "post" in methods)
JSON_SENDS = [path for path in SENDS if path not in (MULTIPART, "/api/stripe/webhook")]
# An ordinary body takes about 2 ms, and the former worst one took 12 s: a ratio of 6,000. The worst
# body of today takes about 45 times as long on a busy machine.
MAX_RATIO = 200
CONTACT = {"email": "ana@example.com", "phone": "+34600111111"}
FULL = PublicAPIView.largest_body
# Each of three such texts: half of the marks come in an order that normal forms turn round.
HEAP = "a" + "\N{COMBINING GREEK DIALYTIKA TONOS}" * (FULL // 16)
HEAP += "\N{COMBINING DOT BELOW}" * (FULL // 16)


def padded(start: str, unit: str, end: str) -> str:
    """The longest JSON of this pattern that fits the largest body."""
    return start + unit * ((FULL - len(start) - len(end)) // len(unit)) + end


def many(key: str, element: object, count: int) -> str:
    return json.dumps({**CONTACT, key: [element] * count})


WORST = {
    "nesting": lambda: "[" * FULL,
    "nested objects": lambda: padded("", '{"a":', ""),
    "keys": lambda: json.dumps({f"k{number}": 1 for number in range(6000)}),
    "one long text": lambda: json.dumps(dict.fromkeys(("email", "phone", "code"), "ñ" * 3000)),
    "one long address of signs": lambda: json.dumps(
        {"phone": CONTACT["phone"], "email": "@" * (FULL // 3) + "." * (FULL // 3) + '"'}
    ),
    "heaps of marks on a letter": lambda: json.dumps(
        {**CONTACT, "gift": dict.fromkeys(("sender", "name", "message"), HEAP)}, ensure_ascii=False
    ),
    "one long number": lambda: padded('{"order_id": 1', "9", "}"),
    "wrong lessons": lambda: padded('{"items": [{"lesson_ids": ["x"', ',"x"', "]}]}"),
    "wrong lessons and prices within the limits": lambda: many(
        "items", {"lesson_ids": ["x"] * 8, "lesson_prices": ["x"] * 8}, 100
    ),
    "empty items": lambda: many("items", {}, 200),
    "empty items of a code": lambda: many("cart_items", {}, 200),
    "subjects of a budget": lambda: json.dumps(
        {**CONTACT, "formData": {"selectedSubjects": [{"id": "x"}] * 200}}
    ),
    "200 valid items with lessons": lambda: many(
        "items", {"subject_id": 2**62, "lesson_ids": [1, 2, 3], "lesson_prices": [1.5]}, 200
    ),
}


def cpu_seconds(path: str, body: str, *, is_wrong: bool) -> float:
    """The least CPU time of three answers, without that of threads of other tests.

    The answer to a wrong body is a refusal with a few messages.
    """
    client = Client(raise_request_exception=False)
    best = 60.0
    for _ in range(3):
        start = time.thread_time()
        answer = client.post(path, body, content_type="application/json")
        best = min(best, time.thread_time() - start)
        assert answer.status_code < 500
    if is_wrong:
        assert answer.status_code >= 400
        refusal = answer.json()
        assert set(refusal) >= {"success", "error", "code", "fields"}
        assert sum(len(messages) for messages in refusal["fields"].values()) <= MAX_ERRORS
        assert len(answer.content) < 10_000
    return best


@pytest.fixture(autouse=True)
def no_rate_limits(settings):
    settings.RATE_LIMIT_SCALE = 0


@pytest.mark.parametrize("path", JSON_SENDS)
def test_no_body_costs_many_times_an_ordinary_one_or_gets_more_than_20_messages(path):
    ordinary = cpu_seconds(path, json.dumps(CONTACT), is_wrong=False)
    ratios = {
        name: cpu_seconds(path, make(), is_wrong=True) / ordinary for name, make in WORST.items()
    }

    assert max(ratios.values()) < MAX_RATIO, ratios
