"""Fixtures that several modules of payment tests use."""

import pytest
import time_machine

from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.plans import buy_in_instalments, day
from tests.helpers.refunds import buy, make_clerk


@pytest.fixture
def placed(api, sandbox, db):
    """The answer to Bruno's checkout of one subject at 192 €: 182.40 € to pay."""
    return api.checkout(checkout_body(whole(make_subject()), total="182.40"))


@pytest.fixture
def hosted(settings):
    """Checkouts lead to Stripe's hosted page."""
    settings.STRIPE_CHECKOUT = "hosted"


@pytest.fixture(params=["embedded", "hosted"])
def mode(request, settings):
    """Runs the test with Stripe's Payment Element, then with Stripe's hosted page."""
    settings.STRIPE_CHECKOUT = request.param
    return request.param


@pytest.fixture
def order(api, sandbox, work):
    """Bruno's paid order of one subject."""
    bought = buy(api, sandbox)
    work()
    return bought


@pytest.fixture
def plan(api, sandbox, db):
    """Bruno's order in three instalments, the first of them paid."""
    return buy_in_instalments(api, sandbox)


@pytest.fixture
def work_on(work):
    """A function that runs the worker that many days after the purchase."""

    def run(number):
        with time_machine.travel(day(number)):
            work()

    return run


@pytest.fixture
def clerk(db):
    return make_clerk()


@pytest.fixture
def fault(sandbox):
    """A function that makes chosen calls to the sandbox fail."""
    yield sandbox.process.fault
    sandbox.process.control("DELETE", "faults")
