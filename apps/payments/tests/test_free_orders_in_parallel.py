"""Two concurrent, identical checkouts with nothing to pay, on PostgreSQL."""

from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from apps.orders.models import Order, Payment
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.shop import Api

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
PAIRS = 10


def checkout_twice(body: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    numbers = count()
    return in_parallel(
        lambda: Api().post("process-checkout", body, REMOTE_ADDR=f"10.0.1.{next(numbers)}"), 2
    )


@pytest.fixture
def free_body() -> dict[str, Any]:
    make_promo("GRATIS100", value="100")
    return checkout_body(whole(make_subject()), total="0", promo_code="GRATIS100")


def test_double_click_on_a_free_checkout_completes_one_order_with_equal_answers(sandbox, free_body):
    for number in range(PAIRS):
        body = {**free_body, "email": f"b{number}@example.com", "phone": f"+3460012{number:04}"}
        answers = checkout_twice({**body, "order_key": str(uuid4())})
        assert [status for status, _ in answers] == [200, 200], answers
        assert answers[0][1]["payment_intent_id"] == answers[1][1]["payment_intent_id"]
    assert Order.objects.filter(status="paid").count() == PAIRS
    assert Payment.objects.count() == PAIRS


def test_two_tabs_with_the_same_free_cart_both_complete(sandbox, free_body):
    for number in range(PAIRS):
        body = {**free_body, "email": f"c{number}@example.com", "phone": f"+3460013{number:04}"}
        answers = checkout_twice(body)
        assert [status for status, _ in answers] == [200, 200], answers
        assert all(answer["completed"] for _, answer in answers)


def test_double_click_on_a_saved_cart_that_became_free_completes_it_once(sandbox, free_body):
    for number in range(PAIRS):
        body = {**free_body, "email": f"d{number}@example.com", "phone": f"+3460014{number:04}"}
        saved = Api().checkout({**body, "save_for_later": True})
        own = {"recovery_order_id": saved["order_id"], "token": saved["token"]}
        answers = checkout_twice({**body, **own})
        assert [status for status, _ in answers] == [200, 200], answers
        assert answers[0][1]["payment_intent_id"] == answers[1][1]["payment_intent_id"]
