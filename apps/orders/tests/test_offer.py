"""Offers as a pure function: what the database knows goes in, prices and refusals come out."""

from dataclasses import replace
from decimal import Decimal

import pytest

from apps.catalogue.models import Lesson, Subject
from apps.orders.errors import (
    AlreadyBought,
    InstalmentsUnavailable,
    PriceChanged,
    Unavailable,
)
from apps.orders.offer.bought_before import BoughtBefore
from apps.orders.offer.cart import CartLine
from apps.orders.offer.offer import Asked, Facts, make_offer
from apps.orders.promo.uses import Standing
from apps.pricing.models import PromoCode
from apps.pricing.promo_checks import PromoRefused
from apps.pricing.sale_terms import SaleTerms

SUBJECT = Subject(pk=1, name="Cálculo", final_price=Decimal(200))
LESSON = Lesson(pk=2, subject=SUBJECT, title="PEC 1", price=Decimal(20))
FACTS = Facts([CartLine.today(SUBJECT)], SaleTerms())
TEN_PERCENT = Standing(PromoCode(code="DIEZ", kind=PromoCode.Kind.PERCENT, value=Decimal(10)))


def test_refusals_come_in_the_order_in_which_a_buyer_is_told_of_them():
    facts = Facts(
        [CartLine.today(SUBJECT, LESSON)],
        SaleTerms(),
        missing=[{"subject_id": 3, "lesson_id": None, "name": "Derecho"}],
        bought_before=[BoughtBefore(1, 2, "Cálculo: PEC 1")],
        code_refusal=PromoRefused("Este código ha caducado."),
    )

    asked = Asked(payment_type="installment", code="VIEJO", expected_cents=1)
    refusals = make_offer(asked, facts).refusals

    kinds = [Unavailable, AlreadyBought, PromoRefused, InstalmentsUnavailable, PriceChanged]
    assert [type(refusal) for refusal in refusals] == kinds


def test_refused_code_leaves_the_price_without_it():
    refused = replace(FACTS, code=TEN_PERCENT, code_refusal=PromoRefused("No."))

    offer = make_offer(Asked(code="DIEZ"), refused)
    assert (offer.total_cents, offer.code) == (190_00, None)
    assert make_offer(Asked(code="DIEZ"), replace(FACTS, code=TEN_PERCENT)).total_cents == 171_00


@pytest.mark.parametrize(("code", "total_cents"), [("", 150_00), ("DIEZ", 171_00)])
def test_total_agreed_by_staff_binds_until_the_buyer_types_a_code(code, total_cents):
    facts = replace(FACTS, code=TEN_PERCENT if code else None)
    assert make_offer(Asked(code=code, agreed_cents=150_00), facts).total_cents == total_cents


def test_first_payment_follows_the_terms_that_the_offer_was_made_with():
    two = replace(FACTS, terms=SaleTerms(instalment_count=2))
    assert make_offer(Asked(payment_type="installment"), two).due_now_cents == 100_00
    assert make_offer(Asked(payment_type="full_payment"), two).due_now_cents == 190_00
