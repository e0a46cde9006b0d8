"""A friend's code in several carts of one buyer at once, with real threads on PostgreSQL.

`FRIEND_CODE_ROUNDS` sets the number of rounds; the drill `friend_code_at_once` makes 100.
"""

import os
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from apps.core.models import Mail
from apps.orders.models import Order, Payment, PromoUse
from apps.payments.events.reconcile import reconcile
from apps.students.services import find_or_create_student
from tests.helpers.factories import checkout_body, make_promo, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.shop import Api

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

CARTS = 5
ROUNDS = int(os.environ.get("FRIEND_CODE_ROUNDS", "3"))
WITH_CODE = Decimal("167.40")  # 192 € less 5 % for one payment, less 15 €


@pytest.fixture
def codes() -> list[str]:
    """The friend codes of two students."""
    texts = []
    for number, name in enumerate(("ana", "clara")):
        owner = find_or_create_student(email=f"{name}@example.com", phone=f"+3460011111{number}")
        code = f"AMIGO-{name.upper()}2222"
        make_promo(code, kind="FIJO", value="15", is_referral_code=True, student=owner)
        texts.append(code)
    return texts


@pytest.mark.parametrize("two_codes", [False, True], ids=["one code", "codes of two friends"])
def test_five_carts_at_once_with_a_friend_code_leave_one_payment_with_its_discount(
    sandbox, audited, codes, two_codes
):
    subjects = [make_subject(f"Asignatura {number}") for number in range(CARTS)]
    for turn in range(ROUNDS):
        buyer = {"email": f"bruno{turn}@example.com", "phone": f"+346002{turn:05}"}
        numbers = count()

        def check_out(turn=turn, numbers=numbers, buyer=buyer) -> dict[str, Any]:
            number = next(numbers)
            body = checkout_body(
                whole(subjects[number]),
                total=WITH_CODE,
                promo_code=codes[number % 2 if two_codes else 0],
                **buyer,
            )
            address = f"10.{turn}.0.{number}"
            status, answer = Api().post("process-checkout", body, REMOTE_ADDR=address)
            assert status in (200, 409), answer
            return answer

        answers = in_parallel(check_out, CARTS)
        assert not [answer for answer in answers if isinstance(answer, Exception)], answers
        waiting = Payment.objects.open().filter(order__email=buyer["email"])
        assert waiting.count() == 1, turn
        reserved = PromoUse.objects.get(order__email=buyer["email"], status="reserved")
        assert reserved.order_id == waiting.get().order_id

        secrets = [answer["client_secret"] for answer in answers if "client_secret" in answer]
        refused = [sandbox.confirm(secret) for secret in secrets]
        assert refused.count("") == 1, (turn, refused)
        reconcile()
        paid = Order.objects.get(email=buyer["email"], status="paid")
        assert (paid.total_amount, paid.flag) == (WITH_CODE, "")
        assert not waiting.all().exists()
    assert not Mail.objects.filter(template="staff_attention").exists()
