"""The limits on calls to Stripe (docs/rules.md, "Card payments")."""

from collections.abc import Callable
from contextlib import ExitStack
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest
import stripe

from apps.payments.stripe import breaker as breaker_module
from apps.payments.stripe import transport
from apps.payments.stripe.breaker import CallNotMade, CircuitBreaker
from apps.payments.stripe.client import PaymentNotFound, ProviderBusy, ProviderError, client
from apps.payments.stripe.intents import PaymentIds, retrieve_payment
from apps.payments.stripe.transport import WaitingPlaces, stripe_time_limit

UNKNOWN = PaymentIds("pi_unknown")


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(breaker_module, "monotonic", clock)
    return clock


@pytest.fixture
def breaker(clock):
    return CircuitBreaker(failures=3, open_seconds=15)


def call(breaker: CircuitBreaker, *, failed: bool) -> None:
    breaker.record(failed=failed, is_probe=breaker.admit())


def open_up(breaker: CircuitBreaker) -> None:
    for _ in range(3):
        call(breaker, failed=True)


def test_breaker_opens_after_failures_in_a_row(breaker, clock):
    open_up(breaker)

    clock.now += 4.5
    with pytest.raises(CallNotMade) as refused:
        breaker.admit()
    assert refused.value.retry_after == 11


def test_success_resets_the_failure_count_of_the_breaker(breaker):
    for failed in (True, True, False, True, True):
        call(breaker, failed=failed)

    assert breaker.admit() is False


def test_open_breaker_lets_one_probe_through(breaker, clock):
    open_up(breaker)
    clock.now += 15

    assert breaker.admit() is True
    with pytest.raises(CallNotMade):
        breaker.admit()


def test_successful_probe_closes_the_breaker(breaker, clock):
    open_up(breaker)
    clock.now += 15
    call(breaker, failed=False)

    call(breaker, failed=True)
    call(breaker, failed=True)
    assert breaker.admit() is False


def test_failed_probe_keeps_the_breaker_open(breaker, clock):
    open_up(breaker)
    clock.now += 15
    call(breaker, failed=True)

    clock.now += 14
    with pytest.raises(CallNotMade):
        breaker.admit()
    clock.now += 1
    assert breaker.admit() is True


@pytest.mark.parametrize("failed", [True, False])
def test_call_from_before_the_opening_does_not_count_as_the_probe(breaker, clock, failed):
    old_call = breaker.admit()
    open_up(breaker)
    clock.now += 15
    probe = breaker.admit()

    breaker.record(failed=failed, is_probe=old_call)
    with pytest.raises(CallNotMade):
        breaker.admit()
    breaker.record(failed=False, is_probe=probe)
    assert breaker.admit() is False


def test_call_slots_are_limited_and_released():
    places = WaitingPlaces(2)
    with ExitStack() as held:
        held.enter_context(places.place())
        held.enter_context(places.place())
        with pytest.raises(CallNotMade), places.place():
            pass

    with places.place(), places.place():
        pass


def test_call_waits_for_a_free_slot():
    places, holds, entered = WaitingPlaces(1), Event(), Event()

    def wait() -> None:
        with places.place():
            entered.set()

    waiter = Thread(target=wait)
    with places.place():
        waiter.start()
        assert not holds.wait(0.1)
        assert not entered.is_set()
    waiter.join(timeout=60)
    assert entered.is_set()


def test_calls_are_refused_at_once_while_no_slot_is_released(monkeypatch):
    places = WaitingPlaces(1)
    with places.place():
        with pytest.raises(CallNotMade), places.place():
            pass
        # The machine may be slow, so a wait for a slot would take much longer than a refusal.
        monkeypatch.setattr(transport, "QUEUE_SECONDS", 20)
        began = monotonic()
        with pytest.raises(CallNotMade), places.place():
            pass
        assert monotonic() - began < 10


@pytest.fixture
def configure(sandbox, settings):
    """Change limits and create Stripe's client again."""

    def apply(**changes: Any) -> None:
        for name, value in changes.items():
            setattr(settings, f"STRIPE_{name}", value)
        client.cache_clear()

    return apply


def duration(action: Callable[[], object], error: type[Exception]) -> float:
    began = monotonic()
    with pytest.raises(error):
        action()
    return monotonic() - began


def test_call_and_its_retry_keep_the_total_timeout(sandbox, configure):
    configure(TIMEOUT=2.4, REQUEST_SECONDS=3)
    sandbox.process.fault(calls="*", caller="server", do="timeout_before", seconds=20)

    took = duration(lambda: retrieve_payment(UNKNOWN), ProviderError)

    # Two attempts of full length would take 4.8 seconds.
    assert 2.9 < took < 4.8


def test_calls_of_one_request_share_the_total_timeout(sandbox, configure):
    configure(TIMEOUT=20, REQUEST_SECONDS=20)
    sandbox.process.fault(calls="*", caller="server", do="timeout_before", seconds=20)

    with stripe_time_limit(0.8):
        first = duration(lambda: retrieve_payment(UNKNOWN), ProviderError)
        second = duration(lambda: retrieve_payment(UNKNOWN), ProviderError)

    assert first > 0.6
    assert first + second < 10


def test_total_timeout_starts_anew_with_each_request(sandbox, configure):
    configure(TIMEOUT=1)
    with stripe_time_limit(0), pytest.raises(ProviderError):
        retrieve_payment(UNKNOWN)

    with pytest.raises(PaymentNotFound):
        retrieve_payment(UNKNOWN)


@pytest.mark.parametrize("fault", ["timeout_before", "error_500"])
def test_breaker_stops_calls_to_a_failing_stripe_and_probes_it_later(
    sandbox, configure, fault, monkeypatch, clock
):
    monkeypatch.setattr(stripe.HTTPClient, "INITIAL_DELAY", 0.01)
    configure(BREAKER_FAILURES=2, BREAKER_SECONDS=0.4)
    sandbox.process.fault(calls="*", caller="server", do=fault)
    for _ in range(2):
        with pytest.raises(ProviderError) as failed:
            retrieve_payment(UNKNOWN)
        assert failed.value.code == "provider_error"
    (counted,) = sandbox.process.control("GET", "faults")["faults"]

    with pytest.raises(ProviderBusy) as refused:
        retrieve_payment(UNKNOWN)
    assert (refused.value.status, refused.value.code) == (503, "provider_busy")
    assert refused.value.retry_after == 1
    assert sandbox.process.control("GET", "faults")["faults"] == [counted]

    sandbox.process.control("DELETE", "faults")
    clock.now += 0.45
    with pytest.raises(PaymentNotFound):
        retrieve_payment(UNKNOWN)


def test_not_found_answers_of_stripe_do_not_open_the_breaker(sandbox, configure):
    configure(BREAKER_FAILURES=2)

    for _ in range(4):
        with pytest.raises(PaymentNotFound):
            retrieve_payment(UNKNOWN)


def test_stored_errors_do_not_open_the_breaker(sandbox, configure, monkeypatch):
    monkeypatch.setattr(stripe.HTTPClient, "INITIAL_DELAY", 0.01)
    configure(BREAKER_FAILURES=2)
    create = client().v1.customers.create
    sandbox.process.fault(calls="POST /v1/customers", do="error_500", nth=1)

    for _ in range(4):
        with pytest.raises(stripe.APIError) as stored:
            create({"email": "bruno@example.com"}, {"idempotency_key": "key-of-bruno"})
    assert stored.value.headers["Idempotent-Replayed"] == "true"
    assert client().v1.customers.create({"email": "bruno@example.com"}).id
