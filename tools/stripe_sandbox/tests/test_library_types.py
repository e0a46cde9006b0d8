"""Every field of an answer has a name and a value that Stripe's library knows."""

import json
import sqlite3
from contextlib import closing

import pytest

from ..testing import running_sandbox
from .library_types import problems
from .sample_calls import make_calls


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """All answers, and all objects of the state file: events hold every object as it was."""
    with running_sandbox(tmp_path_factory.mktemp("sandbox") / "state.sqlite3") as sandbox:
        made = make_calls(sandbox)
        with closing(sqlite3.connect(sandbox.state)) as database:
            stored = [json.loads(row[0]) for row in database.execute("SELECT body FROM objects")]
    return [*made, *stored]


def test_answers_have_only_fields_and_values_of_stripe_library(answers):
    assert sorted({problem for answer in answers for problem in problems(answer)}) == []


def test_sample_calls_answer_every_kind_of_object(answers):
    assert {answer["object"] for answer in answers if "object" in answer} == {
        "balance_transaction",
        "charge",
        "checkout.session",
        "coupon",
        "customer",
        "dispute",
        "event",
        "list",
        "payment_intent",
        "payment_method",
        "payout",
        "product",
        "refund",
        "setup_attempt",
        "setup_intent",
        "webhook_endpoint",
    }
    assert {answer["error"]["type"] for answer in answers if "error" in answer} == {
        "card_error",
        "invalid_request_error",
    }


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"object": "refund", "id": "re_1", "amount": 5}, []),
        ({"object": "refund", "amuont": 5}, ["refund.amuont is unknown"]),
        (
            {"object": "list", "data": [{"object": "charge", "paid": 1}]},
            ["charge.paid can't be 1"],
        ),
        (
            {"object": "payment_intent", "capture_method": "by_hand"},
            ["payment_intent.capture_method can't be 'by_hand'"],
        ),
    ],
)
def test_comparison_finds_unknown_names_and_wrong_values(answer, expected):
    assert list(problems(answer)) == expected
