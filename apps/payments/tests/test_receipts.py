"""One mail for each payment, the shop's or Stripe's (docs/rules.md, "Card payments")."""

import pytest

from apps.core.models import Mail
from tests.helpers.factories import checkout_body, make_subject, whole
from tests.helpers.plans import buy_in_instalments, charge_on

pytestmark = pytest.mark.django_db


def receipts(sandbox):
    return sandbox.process.control("GET", "receipts")["receipts"]


def test_stripe_sends_no_receipt_beside_the_shop_s_mail(api, sandbox, mode):
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    assert sandbox.pay(placed) == ""

    assert receipts(sandbox) == []


def test_automatic_charge_has_the_shop_s_mail_alone(api, sandbox):
    buy_in_instalments(api, sandbox)
    assert charge_on(20).charged == 1

    assert receipts(sandbox) == []
    assert Mail.objects.filter(template="instalment_paid").count() == 1


def test_stripe_mails_the_receipt_of_each_payment_where_the_setting_says_so(
    api, sandbox, settings, mode
):
    settings.STRIPE_RECEIPTS = True
    placed = api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    sandbox.pay(placed)

    assert [receipt["to"] for receipt in receipts(sandbox)] == ["bruno@example.com"]


def test_stripe_mails_the_receipt_of_an_automatic_charge_instead_of_the_shop(
    api, sandbox, settings
):
    settings.STRIPE_RECEIPTS = True
    order = buy_in_instalments(api, sandbox)
    assert charge_on(20).charged == 1

    assert [receipt["to"] for receipt in receipts(sandbox)] == [order.email] * 2
    assert not Mail.objects.filter(template="instalment_paid").exists()
