"""Faults on API calls: their effects, and which calls they strike."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
import stripe

from ..testing import SECRET_KEY, SandboxProcess, running_sandbox, wait_until

CREATE = {"calls": "POST /v1/customers"}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxProcess]:
    with running_sandbox(tmp_path_factory.mktemp("sandbox") / "state.sqlite3") as process:
        yield process


@pytest.fixture
def sandbox(process: SandboxProcess) -> Iterator[SandboxProcess]:
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


def test_slow_call_is_answered(sandbox):
    sandbox.fault(**CREATE, do="slow", seconds=0.4)

    answer = requests.post(f"{sandbox.url}/v1/customers", auth=(SECRET_KEY, ""), timeout=60)

    assert answer.status_code == 200
    assert answer.elapsed.total_seconds() >= 0.4


def paid_intent(sandbox: SandboxProcess) -> stripe.PaymentIntent:
    return sandbox.client().v1.payment_intents.create(
        {
            "amount": 5000,
            "currency": "eur",
            "allowed_payment_method_types": ["card"],
            "payment_method": "pm_card_visa",
            "confirm": True,
        }
    )


def test_fault_on_refunds_delays_and_loses_their_answer(sandbox):
    intent = paid_intent(sandbox)
    sandbox.fault(calls="POST /v1/refunds", do="timeout_after", seconds=0.3)
    started_at = time.monotonic()

    with pytest.raises(stripe.APIConnectionError):
        sandbox.client().v1.refunds.create({"payment_intent": intent.id, "amount": 1000})

    assert time.monotonic() - started_at >= 0.3
    refunds = sandbox.client().v1.refunds.list({"payment_intent": intent.id}).data
    assert [refund.amount for refund in refunds] == [1000]


def test_list_calls_answer_500_until_the_fault_is_removed(sandbox):
    sessions = sandbox.client().v1.checkout.sessions
    fault = sandbox.fault(calls="GET /v1/checkout/sessions", do="error_500")

    for _ in range(3):
        with pytest.raises(stripe.APIError) as broken:
            sessions.list()
        assert broken.value.http_status == 500
    assert sandbox.client().v1.payment_intents.list() is not None

    sandbox.control("DELETE", f"faults/{fault}")
    assert sessions.list().data == []


def test_list_calls_answer_500_a_given_number_of_times(sandbox):
    sandbox.fault(calls="GET /v1/charges", do="error_500", nth=[1, 2])

    statuses = [
        requests.get(f"{sandbox.url}/v1/charges", auth=(SECRET_KEY, ""), timeout=60).status_code
        for _ in range(3)
    ]

    assert statuses == [500, 500, 200]


def test_every_call_hangs_until_the_client_gives_up(sandbox):
    sandbox.fault(calls="*", do="timeout_before", seconds=60)

    for method, path in (("GET", "charges"), ("POST", "customers")):
        with pytest.raises(requests.ReadTimeout):
            requests.request(method, f"{sandbox.url}/v1/{path}", auth=(SECRET_KEY, ""), timeout=0.3)
    assert requests.get(f"{sandbox.url}/healthz", timeout=60).status_code == 200


@pytest.mark.parametrize("kind", ["slow", "timeout_before", "timeout_after"])
def test_removing_a_fault_ends_the_calls_that_it_delays(sandbox, kind):
    kept = sandbox.fault(calls="GET /v1/events", do="slow", seconds=60)
    fault = sandbox.fault(**CREATE, do=kind, seconds=60)
    before = customers(sandbox)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(create, sandbox)
        wait_until(lambda: sandbox.control("GET", "faults")["faults"][1]["struck"] == 1)

        sandbox.control("DELETE", f"faults/{fault}")

        error = call.exception(timeout=60)
    assert isinstance(error, stripe.APIConnectionError) is (kind != "slow")
    assert customers(sandbox) - before == (0 if kind == "timeout_before" else 1)
    assert [one["id"] for one in sandbox.control("GET", "faults")["faults"]] == [kept]


def test_errors_have_bodies_of_stripe(sandbox):
    sandbox.fault(**CREATE, do="error_429", nth=1)
    sandbox.fault(**CREATE, do="error_500", nth=2)

    with pytest.raises(stripe.RateLimitError) as limited:
        create(sandbox)
    with pytest.raises(stripe.APIError) as broken:
        create(sandbox)

    assert (limited.value.http_status, limited.value.json_body["error"]["code"]) == (
        429,
        "rate_limit",
    )
    assert (broken.value.http_status, broken.value.json_body["error"]["type"]) == (500, "api_error")


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


def test_lost_answer_is_replayed_for_idempotency_key(sandbox):
    before = customers(sandbox)
    sandbox.fault(**CREATE, do="timeout_after", nth=1)
    with pytest.raises(stripe.APIConnectionError):
        create(sandbox, "key-lost")

    create(sandbox, "key-lost")

    assert customers(sandbox) - before == 1


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


def test_fault_matches_path_pattern_and_caller(sandbox):
    intents = sandbox.client().v1.payment_intents
    intent = intents.create({"amount": 5000, "currency": "eur"})
    sandbox.fault(calls="* /v1/payment_intents/*", caller="browser", do="error_429")

    assert intents.retrieve(intent.id).id == intent.id
    browser = sandbox.browser_client().v1.payment_intents
    with pytest.raises(stripe.RateLimitError):
        browser.retrieve(intent.id, {"client_secret": intent.client_secret})


def test_oldest_fault_strikes_and_both_count(sandbox):
    sandbox.fault(**CREATE, do="error_429", nth=1)
    sandbox.fault(calls="*", do="error_500", nth=[1, 2])

    with pytest.raises(stripe.RateLimitError):
        create(sandbox)
    with pytest.raises(stripe.APIError):
        create(sandbox)

    counts = [
        (fault["matched"], fault["struck"]) for fault in sandbox.control("GET", "faults")["faults"]
    ]
    assert counts == [(2, 1), (2, 1)]


def test_faults_are_removed_one_by_one_or_all(sandbox):
    first = sandbox.fault(**CREATE, do="error_429")
    second = sandbox.fault(**CREATE, do="error_500")

    assert sandbox.control("DELETE", f"faults/{first}") == {"removed": 1}
    assert [fault["id"] for fault in sandbox.control("GET", "faults")["faults"]] == [second]
    assert sandbox.control("DELETE", "faults") == {"removed": 1}
    assert create(sandbox).object == "customer"
    again = requests.delete(f"{sandbox.url}/_sandbox/faults/{first}", timeout=60)
    assert again.status_code == 404


def test_faults_and_their_counts_survive_a_restart(tmp_path: Path):
    state = tmp_path / "state.sqlite3"
    with running_sandbox(state) as first:
        first.fault(**CREATE, do="error_429", nth=3)
        assert outcomes(first, 2) == "oo"
    with running_sandbox(state) as second:
        assert outcomes(second, 2) == "xo"


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ([], 'Expected an object with either "calls" or "events".'),
        ({"calls": "*", "events": "*", "do": "slow"}, 'Expected an object with either "calls"'),
        ({"calls": "*", "do": "late"}, '"do" must be one of slow, timeout_before,'),
        ({"events": "*", "do": "slow"}, '"do" must be one of late, twice,'),
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


def test_invalid_json_sets_no_fault(sandbox):
    headers = {"Content-Type": "application/json"}
    url = f"{sandbox.url}/_sandbox/faults"
    assert requests.post(url, data="{", headers=headers, timeout=60).status_code == 400
    assert requests.post(url, data='{"calls": "*", "do": "empty"}', timeout=60).status_code == 400
    assert sandbox.control("GET", "faults") == {"faults": []}
