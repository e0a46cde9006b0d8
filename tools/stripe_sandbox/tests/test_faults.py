"""Faults on API calls: their effects, and which calls they strike."""

import pytest
import requests
import stripe

from ..testing import SandboxProcess, running_sandbox

CREATE = {"calls": "POST /v1/customers"}


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    with running_sandbox(tmp_path_factory.mktemp("sandbox") / "state.sqlite3") as process:
        yield process


@pytest.fixture
def sandbox(process):
    yield process
    process.control("DELETE", "faults")


def customers(sandbox: SandboxProcess) -> int:
    return sandbox.control("GET", "state")["objects"].get("customer", 0)


def create(sandbox: SandboxProcess, key: str = "", **params: str) -> stripe.Customer:
    options = {"idempotency_key": key} if key else {}
    return sandbox.client().v1.customers.create(params, options)


@pytest.mark.parametrize(
    ("kind", "error", "done"),
    [
        ({"do": "timeout_before"}, stripe.APIConnectionError, 0),
        ({"do": "timeout_after"}, stripe.APIConnectionError, 1),
        ({"do": "error_500"}, stripe.APIError, 0),
        ({"do": "error_500", "work": True}, stripe.APIError, 1),
        ({"do": "error_429"}, stripe.RateLimitError, 0),
        ({"do": "html"}, stripe.APIError, 1),
        ({"do": "truncated"}, stripe.APIError, 1),
        ({"do": "empty"}, stripe.APIError, 1),
    ],
    ids=lambda value: value["do"] if isinstance(value, dict) else None,
)
def test_faulty_call_fails_and_is_executed_or_not(sandbox, kind, error, done):
    before = customers(sandbox)
    sandbox.fault(**CREATE, **kind, nth=1)

    with pytest.raises(error):
        create(sandbox)

    assert customers(sandbox) - before == done
    assert create(sandbox).object == "customer"


def test_error_500_is_stored_for_idempotency_key(sandbox):
    sandbox.fault(**CREATE, do="error_500", nth=1)
    with pytest.raises(stripe.APIError) as first:
        create(sandbox, "key-500")

    with pytest.raises(stripe.APIError) as second:
        create(sandbox, "key-500")

    assert "Idempotent-Replayed" not in first.value.headers
    assert second.value.headers["Idempotent-Replayed"] == "true"
    assert second.value.headers["Original-Request"] == first.value.headers["Request-Id"]
    assert create(sandbox, "key-501").object == "customer"


def test_rate_limit_is_not_stored_for_idempotency_key(sandbox):
    sandbox.fault(**CREATE, do="error_429", nth=1)
    with pytest.raises(stripe.RateLimitError):
        create(sandbox, "key-429")

    assert create(sandbox, "key-429").object == "customer"


def outcomes(sandbox: SandboxProcess, times: int) -> str:
    """One letter for each call: o if it succeeded, x if it hit the rate limit."""
    text = ""
    for _ in range(times):
        try:
            create(sandbox)
            text += "o"
        except stripe.RateLimitError:
            text += "x"
    return text


def test_nth_counts_only_matching_calls(sandbox):
    sandbox.fault(**CREATE, do="error_429", nth=[2, 4])

    sandbox.client().v1.charges.list()
    assert outcomes(sandbox, 5) == "oxoxo"

    (fault,) = sandbox.control("GET", "faults")["faults"]
    assert fault == {
        "id": fault["id"],
        "calls": "POST /v1/customers",
        "do": "error_429",
        "nth": [2, 4],
        "matched": 5,
        "struck": 2,
    }


def test_same_seed_strikes_same_calls(sandbox):
    def run(seed: int) -> str:
        sandbox.control("DELETE", "faults")
        sandbox.fault(**CREATE, do="error_429", probability=0.3, seed=seed)
        return outcomes(sandbox, 40)

    first = run(1)
    assert run(1) == first
    assert run(2) != first
    assert 5 <= first.count("x") <= 20


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ([], 'Expected an object with either "calls" or "events".'),
        ({"calls": "*", "do": "late"}, '"do" must be one of slow, timeout_before,'),
        ({"calls": "*", "do": "slow"}, '"slow" needs "seconds".'),
        ({"calls": "*", "do": "empty", "times": 1}, 'Unknown option "times"'),
        ({"events": "*", "do": "forged", "how": "badly"}, '"how" must be one of wrong_signature'),
    ],
)
def test_invalid_fault_is_refused_with_message(sandbox, content, error):
    answer = requests.post(f"{sandbox.url}/_sandbox/faults", json=content, timeout=60)

    assert answer.status_code == 400
    assert answer.json()["error"].startswith(error)
    assert sandbox.control("GET", "faults") == {"faults": []}
