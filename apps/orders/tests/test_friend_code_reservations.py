"""Which of a person's carts keeps the friend code (docs/rules.md, "Friend codes and rewards")."""

from decimal import Decimal

import pytest

from apps.orders.models import ReferralReward
from apps.orders.offer import offer
from apps.pricing.models import PromoCode
from apps.pricing.sale_terms import SaleTerms
from apps.students.models import Student
from tests.helpers.factories import make_promo
from tests.helpers.referrals import pay_order, place_order

pytestmark = pytest.mark.django_db
RELEASED = "Pagado con un código cuya reserva ya se había liberado"


@pytest.fixture
def other_code():
    """The friend code of another student than `code`."""
    owner = Student.objects.create(email="clara@example.com", phone="+34600777888")
    return make_promo("AMIGO-CLARA", kind="FIJO", value="15", is_referral_code=True, student=owner)


def test_reward_is_the_one_promised_when_the_order_was_placed(subject, code, monkeypatch):
    placed = place_order(subject, total=17500, code=code.code)
    monkeypatch.setattr(offer, "current_terms", lambda: SaleTerms(reward_full_payment_cents=10_00))

    assert pay_order(placed).referral_reward.amount == Decimal(25)


def test_cart_paid_first_takes_the_friend_code_back_from_a_later_cart(subject, code, other_code):
    first = place_order(subject, total=17500, code=code.code)
    later = place_order(subject, total=17500, code=other_code.code)
    assert not first.order.promo_uses.filter(status="reserved").exists()

    assert pay_order(first).referral_reward.student == code.student
    assert pay_order(later).flag == RELEASED
    assert ReferralReward.objects.count() == 1


def test_friend_code_without_uses_left_is_not_taken_back(subject, code, other_code):
    first = place_order(subject, total=17500, code=code.code)
    place_order(subject, total=17500, code=other_code.code)
    PromoCode.objects.filter(pk=code.pk).update(max_uses=0)

    assert pay_order(first).flag == RELEASED
